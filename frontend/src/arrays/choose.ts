/** How a buffer is shown where nobody chose, and which ways there are. */
import type { BufferRead, BufferView } from '../api/types';

export type Shown = 'image' | 'table' | 'plot';

/** A last axis of 3 or 4 bytes or floats, on at least two more. */
export const holdsColours = (buffer: Pick<BufferRead, 'shape' | 'dtype'>): boolean =>
  buffer.shape.length >= 3 && [3, 4].includes(buffer.shape.at(-1)!) && /^(uint8|float)/.test(buffer.dtype);

export function ways(buffer: BufferRead): Shown[] {
  return buffer.shape.length >= 2 ? ['image', 'table', 'plot'] : ['plot', 'table'];
}

export function shownAs(buffer: BufferRead, view: Required<BufferView> | undefined): Shown {
  const wish = view?.shown_as ?? 'auto';
  if (wish !== 'auto' && wish !== 'hidden' && ways(buffer).includes(wish)) return wish;
  if (buffer.dtype.startsWith('complex')) return 'table';
  if (buffer.shape.length === 1) return buffer.shape[0]! > 32 ? 'plot' : 'table';
  if (holdsColours(buffer)) return 'image';
  const [width = 1, height = 1] = [...buffer.shape].reverse();
  return Math.min(width, height) >= 16 ? 'image' : 'table';
}
