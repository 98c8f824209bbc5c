import { expect, test } from 'vitest';
import type { BufferRead, DType } from '../api/types';
import { columns } from '../charts/decimate';
import { shownAs } from './choose';
import { halfToFloat, numberAt, readNpy, textAt } from './npy';
import { lineSlice, planeSlice, stride, tileSlice } from './slices';
import { threadOf } from './thread';

/** A .npy file as NumPy writes it. */
function npy(descr: string, shape: string, data: Uint8Array): ArrayBuffer {
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`;
  const padded = header.padEnd(64 - 10 - 1 + Math.ceil((header.length - 53) / 64) * 64) + '\n';
  const bytes = new Uint8Array(10 + padded.length + data.length);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, padded.length & 255, padded.length >> 8]);
  bytes.set(new TextEncoder().encode(padded), 10);
  bytes.set(data, 10 + padded.length);
  return bytes.buffer;
}

const raw = (array: { buffer: ArrayBufferLike }) => new Uint8Array(array.buffer as ArrayBuffer);

test('float32 with its shape', () => {
  const array = readNpy(npy('<f4', '(2, 3)', raw(Float32Array.of(0, 0.5, 1, 1e10, NaN, -2))));
  expect(array.shape).toEqual([2, 3]);
  expect([0, 1, 2, 3, 4, 5].map((index) => textAt(array, index))).toEqual(['0', '0.5', '1', '10000000000', 'nan', '-2']);
});

test.each([
  [999999.5, '999999.5'],
  [Math.fround(0.1), '0.1'],
  [Math.fround(1 / 3), '0.33333334'],
  [Infinity, 'inf'],
  [-0, '-0'],
])('a float32 is written with the digits that it needs: %d', (value, text) => {
  expect(textAt({ dtype: 'float32', shape: [1], data: Float32Array.of(value) }, 0)).toBe(text);
});

test('64-bit integers keep every digit', () => {
  const array = readNpy(npy('<u8', '(1,)', raw(BigUint64Array.of(18446744073709551615n))));
  expect(textAt(array, 0)).toBe('18446744073709551615');
});

test('bfloat16 comes as uint16 with its dtype beside', () => {
  const array = readNpy(npy('<u2', '(2,)', raw(Uint16Array.of(0x3f80, 0xc000))), 'bfloat16');
  expect([numberAt(array, 0), numberAt(array, 1)]).toEqual([1, -2]);
});

test('complex elements', () => {
  const array = readNpy(npy('<c8', '(1,)', raw(Float32Array.of(3, -4))));
  expect(textAt(array, 0)).toBe('3-4j');
  expect(numberAt(array, 0)).toBe(5);
});

test.each([
  [0x3c00, 1],
  [0xc000, -2],
  [0x0001, 2 ** -24],
  [0x7bff, 65504],
  [0x7c00, Infinity],
])('half %i is %d', (bits, value) => {
  expect(halfToFloat(bits)).toBe(value);
});

test('what is no .npy file is said to be none', () => {
  expect(() => readNpy(new Uint8Array(40).buffer)).toThrow('not a .npy file');
});

test('slices', () => {
  expect(planeSlice([], 1)).toBe('');
  expect(planeSlice([2], 1)).toBe('2,:,:');
  expect(planeSlice([], 4)).toBe('::4,::4');
  expect(planeSlice([1], 2, 1)).toBe('1,::2,::2,:');
  expect(tileSlice([3], [0, 128], [32, 64])).toBe('3,0:128,32:64');
  expect(lineSlice([], 0, 100)).toBe('0:100');
  expect(lineSlice([5], 0, 100, 7)).toBe('5,0:100:7');
  expect(stride(1000, 1000)).toBe(1);
  expect(stride(8192, 8192)).toBe(4);
});

const place = (block: number[], thread: number[], warp: number, lane: number) => ({ block, thread, warp, lane });

test.each([
  ['2-D', [204, 179], [512, 512], [32, 32, 1], [16, 16, 1], place([11, 12, 0], [3, 12, 0], 6, 3)],
  ['flat over 2-D', [1, 2], [4, 8], [1, 1, 1], [32, 1, 1], place([0, 0, 0], [10, 0, 0], 0, 10)],
  ['1-D', [300], [1000], [4, 1, 1], [256, 1, 1], place([1, 0, 0], [44, 0, 0], 1, 12)],
  ['3-D', [2, 3, 4], [5, 6, 7], [7, 6, 5], [1, 1, 1], place([4, 3, 2], [0, 0, 0], 0, 0)],
  ['too few threads', [9], [1000], [1, 1, 1], [256, 1, 1], null],
] as const)('thread of an element: %s', (_, index, shape, grid, block, expected) => {
  expect(threadOf(index, shape, grid, block)).toEqual(expected);
});

const buffer = (shape: number[], dtype: DType = 'float32'): BufferRead => ({ kind: 'buffer-read', name: 'b', dtype, shape, digest: '', bytes: 0 });

test.each([
  [[1000], 'float32', 'plot'],
  [[8], 'float32', 'table'],
  [[64, 64], 'float32', 'image'],
  [[64, 4], 'float32', 'table'],
  [[64, 64, 3], 'uint8', 'image'],
  [[64, 64], 'complex64', 'table'],
] as const)('%j of %s is shown as %s', (shape, dtype, way) => {
  expect(shownAs(buffer([...shape], dtype), undefined)).toBe(way);
});

test('a long line keeps its peaks', () => {
  const values = Float32Array.from({ length: 10_000 }, (_, index) => (index === 4321 ? 9 : 0));
  const line = columns((index) => values[index]!, values.length, 100);
  expect(line.length).toBeLessThanOrEqual(100);
  expect(Math.max(...line.map(({ high }) => high))).toBe(9);
});
