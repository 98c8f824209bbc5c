/** Shapes as people type them: "1024 × 1024", "1024x1024", "64, 3". */
import type { DType } from '../api/types';
import { ITEM_BYTES, type Read, wholeNumber } from './numbers';

export const MAX_DIMENSIONS = 4;
export const MAX_BUFFER_BYTES = 2 ** 30;

/** Extents, slowest first. */
export function readShape(text: string): Read<number[]> {
  const parts = text
    .trim()
    .replace(/^[([]|[)\]]$/g, '')
    .replace(/,\s*$/, '')
    .split(/\s*[×*,xX]\s*|\s+/)
    .filter((part, index, all) => part !== '' || all.length === 1 || index < all.length - 1);
  if (parts.length === 1 && parts[0] === '') return { ok: false, message: 'Give a shape, such as 1024 × 1024.' };
  const extents: number[] = [];
  for (const part of parts) {
    const value = wholeNumber(part);
    if (value === null) return { ok: false, message: `“${part.slice(0, 20)}” in the shape is not a whole number.` };
    if (value < 1n) return { ok: false, message: 'Every extent of a shape is at least 1.' };
    if (value > BigInt(MAX_BUFFER_BYTES)) return { ok: false, message: `${value} elements are more than a buffer can have: 1 GiB.` };
    extents.push(Number(value));
  }
  if (extents.length > MAX_DIMENSIONS) return { ok: false, message: `A buffer has at most ${MAX_DIMENSIONS} dimensions.` };
  return { ok: true, value: extents };
}

export const writeShape = (shape: readonly number[]): string => shape.join(' × ');

export const elements = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1);

export function checkBytes(shape: readonly number[], dtype: DType): string | null {
  const bytes = elements(shape) * ITEM_BYTES[dtype];
  if (bytes <= MAX_BUFFER_BYTES) return null;
  return `The buffer has ${bytes.toLocaleString('en-US')} bytes; the limit is ${MAX_BUFFER_BYTES.toLocaleString('en-US')}.`;
}

/** The shape in elements of `components` neighbours; an axis that is one such element is no axis of the grid. */
function coveredShape(shape: readonly number[], components: number): readonly number[] {
  const inner = shape.at(-1)! / components;
  if (components === 1 || !Number.isInteger(inner)) return shape;
  const outer = shape.slice(0, -1);
  return inner > 1 || !outer.length ? [...outer, inner] : outer;
}

/** Blocks that cover a shape: last axis along x, the one before along y, the rest along z; 0 where a block extent is 0. */
export function coverGrid(shape: readonly number[], block: readonly number[], components = 1): [number, number, number] {
  const [x = 1, y = 1, ...rest] = [...coveredShape(shape, components)].reverse();
  const extents = [x, y, elements(rest)];
  const blocks = extents.map((extent, axis) => (block[axis] ? Math.ceil(extent / block[axis]) : 0));
  return [blocks[0]!, blocks[1]!, blocks[2]!];
}
