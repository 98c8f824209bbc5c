/** Which of a source's kernels a launch names. */
import type { Entry } from '../api/types';

const dense = (name: string): string => name.replace(/\s+/g, '');

/** Name without parameters: 'scale<float>(float *, int)' is called 'scale<float>', 'void f<int>(int*)' is 'f<int>'. */
export function callName(entry: Pick<Entry, 'display'>): string {
  let depth = 0;
  let end = entry.display.length;
  for (const [index, character] of [...entry.display].entries()) {
    if (character === '<') depth++;
    else if (character === '>') depth--;
    else if (character === '(' && depth === 0 && index > 0) {
      end = index;
      break;
    }
  }
  return entry.display.slice(0, end).trim().replace(/^void\s+/, '');
}

/** The entry of that name; an empty name stands for the only one. Null where there is none, or no single one. */
export function entryOf(name: string, entries: readonly Entry[]): Entry | null {
  if (!name.trim()) return entries.length === 1 ? entries[0]! : null;
  const wanted = dense(name);
  return entries.find((entry) => entry.name === wanted || dense(callName(entry)) === wanted) ?? null;
}
