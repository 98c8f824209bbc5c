/**
 * Typing over a selection, done by us.
 *
 * Chromium's own editing keeps the look of deleted text by an inline style, which the content security policy forbids.
 */
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';

export const typingOverSelections = (): Extension =>
  EditorView.domEventHandlers({
    beforeinput(event, view) {
      const { main } = view.state.selection;
      const text = event.data;
      if (event.inputType !== 'insertText' || !text || main.empty || view.composing || view.state.readOnly) return false;
      event.preventDefault();
      const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type', scrollIntoView: true });
      const handled = view.state.facet(EditorView.inputHandler).some((handler) => handler(view, main.from, main.to, text, insert));
      if (!handled) view.dispatch(insert());
      return true;
    },
  });
