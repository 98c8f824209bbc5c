/** Help for CUDA C++, in a chunk of its own that is fetched when it is first needed. */
import type { CompletionContext } from '@codemirror/autocomplete';
import type { EditorView } from '@codemirror/view';
import * as help from './help';
import { NAMES } from './names';

export const complete = (context: CompletionContext) => help.complete(NAMES, context);
export const hover = (view: EditorView, position: number) => help.hover(NAMES, view, position);
