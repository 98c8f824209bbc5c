/** Marks of whole lines: hues shared with generated code, the line under the pointer, lines with a fault. */
import { type Extension, RangeSet, StateEffect, StateField, type Text } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, gutter, GutterMarker } from '@codemirror/view';

export const HUES = 8;

class Bar extends GutterMarker {
  constructor(readonly hue: number) {
    super();
  }
  override eq(other: Bar) {
    return other.hue === this.hue;
  }
  override toDOM() {
    const bar = document.createElement('span');
    bar.className = `hue-${this.hue}`;
    return bar;
  }
}

const bars = Array.from({ length: HUES }, (_, hue) => new Bar(hue));

/** Line → hue, of lines that became code. */
export const setHues = StateEffect.define<ReadonlyMap<number, number>>();
export const setHot = StateEffect.define<ReadonlySet<number>>();
export const setFaulty = StateEffect.define<ReadonlySet<number>>();

const present = (doc: Text, lines: Iterable<number>): number[] =>
  [...lines].filter((line) => line >= 1 && line <= doc.lines).sort((left, right) => left - right);

const hues = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(value, transaction) {
    let next = value.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setHues)) continue;
      const { doc } = transaction.state;
      next = RangeSet.of(present(doc, effect.value.keys()).map((line) => bars[effect.value.get(line)! % HUES]!.range(doc.line(line).from)));
    }
    return next;
  },
});

const lines = (effectType: typeof setHot, className: string) =>
  StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update(value, transaction) {
      let next = value.map(transaction.changes);
      for (const effect of transaction.effects) {
        if (!effect.is(effectType)) continue;
        const { doc } = transaction.state;
        const mark = Decoration.line({ class: className });
        next = Decoration.set(present(doc, effect.value).map((line) => mark.range(doc.line(line).from)));
      }
      return next;
    },
    provide: (field) => EditorView.decorations.from(field),
  });

export const lineMarks: Extension = [
  hues,
  lines(setHot, 'cm-hot'),
  lines(setFaulty, 'cm-faulty'),
  gutter({ class: 'cm-hue-gutter', markers: (view) => view.state.field(hues) }),
];

/** Tells the line under the pointer, 0 when it leaves. */
export const pointedLine = (tell: (line: number) => void): Extension =>
  EditorView.domEventHandlers({
    mousemove(event, view) {
      const position = view.posAtCoords({ x: event.clientX, y: event.clientY }, false);
      tell(view.state.doc.lineAt(position).number);
    },
    mouseleave() {
      tell(0);
    },
  });
