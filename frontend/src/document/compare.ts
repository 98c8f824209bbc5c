/** Whether two requests ask for the same run. */
import type { RunRequest } from '../api/types';

/** Keys in order and without nulls, which stand for what is left out. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)).map(([key, inner]) => [key, plain(inner)]));
}

export const sameRequest = (left: RunRequest, right: RunRequest): boolean => JSON.stringify(plain(left)) === JSON.stringify(plain(right));
