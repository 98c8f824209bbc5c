/** The phases that a run has passed through, with the service's clock. */
import type { EventRecord } from '../api/types';

export interface Mark {
  phase: 'queued' | 'compiling' | 'running' | 'finished';
  /** Unix time in seconds. */
  at: number;
  /** A second attempt begins: the marks of the first are void. */
  restarts: boolean;
}

/** The phase that an event begins, null where it begins none. */
export function markOf({ event, at }: EventRecord): Mark | null {
  switch (event.kind) {
    case 'queued':
      return { phase: 'queued', at, restarts: true };
    case 'compiling':
      return { phase: 'compiling', at, restarts: event.attempt > 1 };
    case 'compiled':
      return { phase: 'running', at, restarts: false };
    case 'finished':
      return { phase: 'finished', at, restarts: false };
    default:
      return null;
  }
}

export interface Span {
  phase: Mark['phase'];
  seconds: number;
}

/** How long each phase lasted; the last one until `now`. */
export function spans(marks: readonly Mark[], now: number): Span[] {
  return marks
    .filter(({ phase }) => phase !== 'finished')
    .map((mark, index) => ({ phase: mark.phase, seconds: Math.max(0, (marks[index + 1]?.at ?? now) - mark.at) }));
}
