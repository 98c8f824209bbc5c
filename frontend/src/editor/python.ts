/** Python with numba.cuda for the editor. */
import { autocompletion, type CompletionContext } from '@codemirror/autocomplete';
import { pythonLanguage } from '@codemirror/lang-python';
import { LanguageSupport } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { type EditorView, hoverTooltip } from '@codemirror/view';
import { complete, hover } from './help';
import { NUMBA_NAMES } from './numba-names';

function names(context: CompletionContext) {
  const word = context.matchBefore(/[A-Za-z_]\w*/);
  if (!context.explicit && (!word || word.to - word.from < 2)) return null;
  return complete(NUMBA_NAMES, context);
}

export const mode = (): Extension => [
  new LanguageSupport(pythonLanguage),
  autocompletion({ override: [names], icons: false }),
  hoverTooltip((view: EditorView, position) => hover(NUMBA_NAMES, view, position), { hoverTime: 250 }),
];
