/** Where a film stands: plain steps that need no browser. */

export interface Standing {
  /** The frame that is shown. */
  at: number;
  playing: boolean;
}

/** Frames a second that can be chosen. */
export const SPEEDS = [2, 6, 12, 24, 60] as const;

const clamp = (at: number, count: number): number => Math.max(0, Math.min(count - 1, at));

/** One frame on; at the end back to the start where it loops, else it stands. */
export function next({ at, playing }: Standing, count: number, loops: boolean): Standing {
  if (at + 1 < count) return { at: at + 1, playing };
  return loops ? { at: 0, playing } : { at, playing: false };
}

/** Play or pause; played at its end, a film begins again. */
export function toggled({ at, playing }: Standing, count: number): Standing {
  if (playing) return { at, playing: false };
  return { at: at + 1 < count ? at : 0, playing: count > 1 };
}

/** To a frame by hand, which stops it. */
export const sought = (at: number, count: number): Standing => ({ at: clamp(at, count), playing: false });
