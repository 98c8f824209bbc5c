/** How the pixels of a picture become elements of an array. */
import type { DType } from '../api/types';

export type Layout = 'rgb' | 'rgba' | 'gray' | 'rgb-float' | 'rgba-float' | 'gray-float';

export const LAYOUTS: Record<Layout, string> = {
  rgb: 'uint8, H × W × 3',
  rgba: 'uint8, H × W × 4',
  gray: 'uint8, H × W, gray',
  'rgb-float': 'float32 0…1, H × W × 3',
  'rgba-float': 'float32 0…1, H × W × 4',
  'gray-float': 'float32 0…1, H × W, gray',
};

export const MAX_SIDE = 16_384;
export const MAX_PIXELS = 1 << 26;
/** What the service takes in one upload unless its operator says otherwise. */
export const MAX_BYTES = 64 << 20;

const channels = (layout: Layout): number => (layout.startsWith('rgba') ? 4 : layout.startsWith('rgb') ? 3 : 1);
export const dtypeOf = (layout: Layout): DType => (layout.endsWith('float') ? 'float32' : 'uint8');

export function shapeOf(layout: Layout, width: number, height: number): number[] {
  const count = channels(layout);
  return count === 1 ? [height, width] : [height, width, count];
}

/** The layout that goes with what a pointer leads to: its components, and whether they are real numbers. */
export function layoutFor(components: number, dtype: DType): Layout {
  const plain = components === 4 ? 'rgba' : components === 3 ? 'rgb' : 'gray';
  return /float/.test(dtype) ? `${plain}-float` : plain;
}

/** Why an array of the picture cannot be sent; null where it can. */
export function tooLarge(layout: Layout, width: number, height: number): string | null {
  const pixels = `The picture has ${width.toLocaleString('en-US')} × ${height.toLocaleString('en-US')} pixels`;
  if (width > MAX_SIDE || height > MAX_SIDE) return `${pixels}; at most ${MAX_SIDE.toLocaleString('en-US')} along a side are taken. Make it smaller.`;
  const bytes = width * height * channels(layout) * (dtypeOf(layout) === 'float32' ? 4 : 1);
  if (width * height > MAX_PIXELS || bytes > MAX_BYTES) {
    return `${pixels}, ${(bytes / (1 << 20)).toFixed(0)} MiB as ${LAYOUTS[layout]}; at most ${MAX_BYTES >> 20} MiB are taken. Choose another layout, or make it smaller.`;
  }
  return null;
}

/** Rec. 709 luma of gamma-encoded components, as the browsers' own grayscale filter has it. */
const luma = (red: number, green: number, blue: number): number => 0.2126 * red + 0.7152 * green + 0.0722 * blue;

/** `pixels`: red, green, blue, alpha, a byte each, row by row. */
export function elementsOf(layout: Layout, pixels: Uint8ClampedArray | Uint8Array): Uint8Array<ArrayBuffer> | Float32Array<ArrayBuffer> {
  const count = channels(layout);
  const total = (pixels.length / 4) * count;
  const real = dtypeOf(layout) === 'float32';
  const out = real ? new Float32Array(total) : new Uint8Array(total);
  const scale = real ? 1 / 255 : 1;
  for (let from = 0, to = 0; from < pixels.length; from += 4) {
    if (count === 1) {
      const gray = luma(pixels[from]!, pixels[from + 1]!, pixels[from + 2]!);
      out[to++] = real ? gray * scale : Math.round(gray);
    } else for (let channel = 0; channel < count; channel++) out[to++] = pixels[from + channel]! * scale;
  }
  return out;
}

/** A .npy file of format 1.0, row-major. */
export function npy(dtype: 'uint8' | 'float32', shape: readonly number[], data: Uint8Array<ArrayBuffer> | Float32Array<ArrayBuffer>): Blob {
  const words = `{'descr': '${dtype === 'uint8' ? '|u1' : '<f4'}', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`;
  const length = Math.ceil((words.length + 11) / 64) * 64 - 10;
  const head = new Uint8Array(10 + length).fill(0x20);
  head.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, length & 255, length >> 8]);
  head.set(new TextEncoder().encode(words), 10);
  head[9 + length] = 0x0a;
  return new Blob([head, data]);
}
