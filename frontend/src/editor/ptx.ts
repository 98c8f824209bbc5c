/** PTX as a source that is edited. */
import type { Extension } from '@codemirror/state';
import { ptx } from '../ptx/highlight';

export const mode = (): Extension => ptx;
