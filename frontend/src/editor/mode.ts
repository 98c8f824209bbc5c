/** The editor's mode for a language: CUDA C++ is there at once, the others are fetched when they are first wanted. */
import { Compartment, type Extension } from '@codemirror/state';
import type { Language } from '../api/types';
import { cuda } from './language';

export const modeOf = new Compartment();

/** What to start with; plain text until `laterMode` has come. */
export const firstMode = (language: Language): Extension => (language === 'cuda-c++' ? cuda() : []);

export const laterMode = async (language: Language): Promise<Extension> =>
  language === 'cuda-c++' ? cuda() : (await (language === 'ptx' ? import('./ptx') : import('./python'))).mode();
