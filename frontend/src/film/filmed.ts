/** A film as the views of arrays take it. */
import type { BufferRead, Filmed } from '../api/types';

const extreme = (values: Filmed['minimum'][], pick: (...values: number[]) => number): number | null => {
  const known = values.filter((value) => value != null).map(Number);
  return known.length ? pick(...known) : null;
};

/** One buffer for all frames, with the extremes of them all: ranges and axes are fixed by it. */
export function asBuffer(frames: readonly Filmed[]): BufferRead {
  const { buffer: name, dtype, shape, bytes } = frames[0]!;
  const minimum = extreme(frames.map((frame) => frame.minimum), Math.min);
  const maximum = extreme(frames.map((frame) => frame.maximum), Math.max);
  const not_finite = Math.max(...frames.map((frame) => frame.not_finite ?? 0));
  return { kind: 'buffer-read', name, dtype, shape, digest: '', bytes, minimum, maximum, not_finite };
}
