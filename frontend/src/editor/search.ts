/** Find and replace, fetched when it is first asked for. */
import { type Extension, StateEffect } from '@codemirror/state';
import { type EditorView, keymap } from '@codemirror/view';

async function open(view: EditorView): Promise<void> {
  const { openSearchPanel, search, searchKeymap } = await import('@codemirror/search');
  if (!loaded.has(view)) {
    loaded.add(view);
    view.dispatch({ effects: StateEffect.appendConfig.of([search({ top: true }), keymap.of(searchKeymap)]) });
  }
  openSearchPanel(view);
}

const loaded = new WeakSet<EditorView>();

export const find = (): Extension =>
  keymap.of([
    {
      key: 'Mod-f',
      run(view) {
        void open(view);
        return true;
      },
    },
  ]);
