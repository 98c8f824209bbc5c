/** Completion and hover for the names of a table, and for the source's own. */
import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { EditorView, Tooltip } from '@codemirror/view';
import type { CudaName } from './names';

type Names = ReadonlyMap<string, CudaName>;

function card({ signature, text, since }: CudaName): HTMLElement {
  const element = document.createElement('div');
  element.className = 'cuda-name';
  const code = document.createElement('code');
  code.textContent = signature;
  const prose = document.createElement('p');
  prose.textContent = text;
  element.append(code, prose);
  if (since) {
    const chip = document.createElement('span');
    chip.className = 'chip';
    chip.textContent = `${since} and later`;
    element.append(chip);
  }
  return element;
}

function wordAt(view: EditorView, position: number): { from: number; to: number; text: string } {
  const line = view.state.doc.lineAt(position);
  const before = /\w*$/.exec(line.text.slice(0, position - line.from))![0].length;
  const after = /^\w*/.exec(line.text.slice(position - line.from))![0].length;
  const [from, to] = [position - before, position + after];
  return { from, to, text: view.state.doc.sliceString(from, to) };
}

export function hover(names: Names, view: EditorView, position: number): Tooltip | null {
  const { from, to, text } = wordAt(view, position);
  const name = text ? names.get(text) : undefined;
  return name ? { pos: from, end: to, above: true, create: () => ({ dom: card(name) }) } : null;
}

/** Words of the source itself, so that the user's own names complete too. */
function ownWords(names: Names, context: CompletionContext, at: number): string[] {
  const found = new Set<string>();
  for (const match of context.state.doc.toString().matchAll(/\b[A-Za-z_]\w{2,}\b/g)) {
    if (match.index !== at && !names.has(match[0])) found.add(match[0]);
  }
  return [...found];
}

export function complete(names: Names, context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/[A-Za-z_]\w*/);
  const from = word?.from ?? context.pos;
  const known = [...names].map(([label, name]) => ({
    label,
    type: name.kind,
    detail: name.kind === 'function' ? name.signature.replace(/^.*?\(/, '(') : '',
    info: () => card(name),
    boost: 1,
  }));
  const own = ownWords(names, context, from).map((label) => ({ label, type: 'text' }));
  return { from, validFor: /^\w*$/, options: [...known, ...own] };
}

