/** The languages of a source: their names, files and options, and an example's version in another language. */
import type { Example, Language } from '../api/types';
import type { OptionsDraft } from '../document/draft';

export const LANGUAGES: readonly Language[] = ['cuda-c++', 'numba', 'ptx'];

export const LABELS: Record<Language, string> = { 'cuda-c++': 'CUDA C++', numba: 'Numba (Python)', ptx: 'PTX' };

export const SHORT: Record<Language, string> = { 'cuda-c++': 'CUDA C++', numba: 'Numba', ptx: 'PTX' };

const EXTENSIONS: Record<Language, string> = { 'cuda-c++': '.cu', numba: '.py', ptx: '.ptx' };

/** Endings of files that hold the language; the first is what a file of the page is called. */
const ENDINGS: Record<Language, RegExp> = { 'cuda-c++': /\.(cu|cuh|cpp|cc|cxx|h|hpp)$/i, numba: /\.py$/i, ptx: /\.ptx$/i };

export const languageOfFile = (name: string): Language | null => LANGUAGES.find((language) => ENDINGS[language].test(name)) ?? null;

/** The file's name with the language's ending. */
export function renamed(fileName: string, language: Language): string {
  if (ENDINGS[language].test(fileName)) return fileName;
  const stem = languageOfFile(fileName) || /\.txt$/i.test(fileName) ? fileName.replace(/\.[^.]*$/, '') : fileName;
  return `${stem.slice(0, 60) || 'kernel'}${EXTENSIONS[language]}`;
}

export const languageOf = (example: Pick<Example, 'payload'>): Language => example.payload.request.source.language ?? 'cuda-c++';

/** Name of what an example shows, whatever its language: saxpy of saxpy-numba. */
const subject = (id: string): string => id.replace(/-(numba|ptx)$/, '');

/** The example of the same subject in another language. */
export const counterpart = (id: string, language: Language, examples: readonly Example[]): Example | null =>
  examples.find((example) => subject(example.id) === subject(id) && languageOf(example) === language) ?? null;

/** Fields of the options form that the language's compiler knows. */
export const OPTIONS: Record<Language, readonly (keyof OptionsDraft)[]> = {
  'cuda-c++': ['standard', 'fastMath', 'fmad', 'defaultDevice', 'maxRegisters', 'defines'],
  numba: ['fastMath', 'fmad', 'maxRegisters'],
  ptx: ['maxRegisters'],
};
