/** Block shapes to try: two sets, or a list as people type it. */
import { readExtent, type Read } from '../document/numbers';

export type ShapeSet = 'line' | 'plane' | 'cube' | 'own';

/** As the protocol has it. */
export const MAX_SHAPES = 256;

const LINE = [32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024].map((x) => [x]);
const PLANE = [
  [8, 4], [32, 1], [8, 8], [32, 2], [16, 8], [32, 4], [8, 32], [16, 16], [32, 8], [64, 4], [256, 1], [16, 32], [32, 16],
  [64, 8], [32, 32], [128, 8],
];

const CUBE = [4, 8, 16, 32].flatMap((x) =>
  [2, 4, 8].flatMap((y) => [2, 4, 8].map((z) => [x, y, z]).filter(([a = 1, b = 1, c = 1]) => a * b * c >= 64 && a * b * c <= 1024)),
);

export const writeBlock = (block: readonly number[]): string => {
  const last = Math.max(0, block.findLastIndex((extent) => extent !== 1));
  return block.slice(0, last + 1).map((extent) => extent.toLocaleString('en-US')).join(' × ');
};

const same = (left: readonly number[], right: readonly number[]): boolean =>
  [0, 1, 2].every((axis) => (left[axis] ?? 1) === (right[axis] ?? 1));

/** Shapes separated by commas or lines: "64, 128, 16x16". */
export function readShapes(text: string): Read<number[][]> {
  const bad = (message: string): Read<never> => ({ ok: false, message });
  const parts = text.split(/[,;\n]|(?<=\d)\s+(?=\d)/).map((part) => part.trim()).filter(Boolean);
  if (!parts.length) return bad('Give block shapes, such as 64, 128, 16 × 16.');
  if (parts.length > MAX_SHAPES) return bad(`These are ${parts.length} shapes; one job tries at most ${MAX_SHAPES}.`);
  const shapes: number[][] = [];
  for (const part of parts) {
    const extents = part.split(/\s*[×xX*]\s*/);
    if (extents.length > 3) return bad(`“${part.slice(0, 24)}” has more than three extents.`);
    const shape: number[] = [];
    for (const extent of extents) {
      const read = readExtent(extent, `“${extent.slice(0, 16)}” in “${part.slice(0, 24)}”`);
      if (!read.ok) return read;
      shape.push(read.value);
    }
    if (shapes.some((other) => same(other, shape))) return bad(`${part} is there twice.`);
    shapes.push(shape);
  }
  return { ok: true, value: shapes };
}

export function chosenShapes(set: ShapeSet, own: string): Read<number[][]> {
  return set === 'own' ? readShapes(own) : { ok: true, value: { line: LINE, plane: PLANE, cube: CUBE }[set] };
}

/** A block of several rows is tried in as many dimensions. */
export const naturalSet = ([, y = 1, z = 1]: readonly number[]): ShapeSet => (z > 1 ? 'cube' : y > 1 ? 'plane' : 'line');
