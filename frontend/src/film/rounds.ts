/** Rounds of the repeat that a request films. */
import type { RunRequest } from '../api/types';

export function filmedRounds(request: RunRequest | null): number {
  const { steps = [], film } = request ?? {};
  const at = film?.step ? Number(film.step.split('.')[1]) : steps.findIndex(({ kind }) => kind === 'repeat');
  const step = steps[at];
  return step?.kind === 'repeat' ? step.count : 0;
}
