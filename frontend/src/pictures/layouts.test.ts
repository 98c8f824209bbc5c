import { expect, test } from 'vitest';
import { readNpy } from '../arrays/npy';
import { dtypeOf, elementsOf, type Layout, layoutFor, npy, shapeOf, tooLarge } from './layouts';

/** Two pixels: opaque orange, half-transparent blue. */
const PIXELS = Uint8Array.of(255, 128, 0, 255, 0, 0, 255, 128);

test.each<[Layout, number[], number[]]>([
  ['rgb', [1, 2, 3], [255, 128, 0, 0, 0, 255]],
  ['rgba', [1, 2, 4], [...PIXELS]],
  ['gray', [1, 2], [146, 18]],
  ['rgb-float', [1, 2, 3], [1, 128 / 255, 0, 0, 0, 1]],
  ['rgba-float', [1, 2, 4], [...PIXELS].map((value) => value / 255)],
  ['gray-float', [1, 2], [0.2126 + (0.7152 * 128) / 255, 0.0722]],
])('pixels as %s', async (layout, shape, elements) => {
  const data = elementsOf(layout, PIXELS);
  expect(shapeOf(layout, 2, 1)).toEqual(shape);
  const array = readNpy(await npy(dtypeOf(layout) as 'uint8', shape, data).arrayBuffer());
  expect([array.dtype, array.shape]).toEqual([dtypeOf(layout), shape]);
  for (const [index, value] of elements.entries()) expect(Number(array.data[index])).toBeCloseTo(value, 6);
  expect(array.data.length).toBe(elements.length);
});

test('the header of a file ends at a multiple of 64 bytes', async () => {
  for (const shape of [[1, 1], [16384, 4096], [100, 1000, 3]]) {
    const head = new Uint8Array(await npy('uint8', shape, new Uint8Array()).arrayBuffer());
    expect(head.length % 64).toBe(0);
    expect(head.at(-1)).toBe(0x0a);
  }
});

test.each<[number, 'uint8' | 'float32' | 'int32', Layout]>([
  [1, 'uint8', 'gray'],
  [1, 'float32', 'gray-float'],
  [3, 'uint8', 'rgb'],
  [4, 'float32', 'rgba-float'],
  [2, 'int32', 'gray'],
])('a pointer to %i × %s gets %s', (components, dtype, layout) => {
  expect(layoutFor(components, dtype)).toBe(layout);
});

test.each<[Layout, number, number, RegExp | null]>([
  ['rgb', 4000, 3000, null],
  ['rgba-float', 4000, 3000, /183 MiB as float32 0…1, H × W × 4; at most 64 MiB are taken\. Choose another layout/],
  ['gray', 20_000, 10, /20,000 × 10 pixels; at most 16,384 along a side/],
  ['gray', 8192, 8192, null],
  ['gray', 8193, 8192, /64 MiB as uint8, H × W, gray/],
])('%s of %i × %i', (layout, width, height, words) => {
  const said = tooLarge(layout, width, height);
  if (words) expect(said).toMatch(words);
  else expect(said).toBeNull();
});
