import { expect, test } from 'vitest';
import type { Swept } from '../api/types';
import { best, limiter, remark, rowsOf, share } from './rows';
import { chosenShapes, MAX_SHAPES, naturalSet, readShapes, writeBlock } from './shapes';

const swept = (index: number, seconds: number | null, warps: number | null, more: Partial<Swept> = {}): Swept => ({
  kind: 'swept',
  index,
  step: 'steps.0',
  block: [32 * (index + 1), 1, 1],
  grid: [8, 1, 1],
  state: 'ran',
  registers: 16,
  seconds,
  samples: 3,
  clock: 'wall',
  device_name: 'PTX emulator',
  same_as_first: true,
  differs_at: '',
  diagnostics: [],
  occupancy:
    warps === null
      ? null
      : { architecture: 'sm_90', blocks_per_sm: 1, warps_per_sm: warps, max_warps_per_sm: 64, limits: [], limiters: ['warps', 'shared'], gpu: 'H200', sm_count: 132, waves: 1, tail: 0, driver_blocks_per_sm: null },
  ...more,
});

test.each([
  ['64, 128,256', [[64], [128], [256]]],
  ['32 64', [[32], [64]]],
  ['16x16; 32 × 8\n8*8*4', [[16, 16], [32, 8], [8, 8, 4]]],
  ['1024,', [[1024]]],
])('shapes %j', (text, shapes) => {
  expect(readShapes(text)).toEqual({ ok: true, value: shapes });
});

test.each([
  ['', 'Give block shapes'],
  ['64, x', 'must be a whole number'],
  ['-5', 'at least 0'],
  ['1x2x3x4', 'more than three'],
  ['64, 64', 'twice'],
  ['16, 16x1', 'twice'],
  [Array.from({ length: 33 }, (_, index) => index + 1).join(), '33 shapes; one job tries at most 32'],
])('shapes %j are refused: %s', (text, words) => {
  const read = readShapes(text);
  expect(read.ok ? '' : read.message).toContain(words);
});

test.each(['line', 'plane'] as const)('the set %s is one job of distinct shapes, none above 1,024 threads', (set) => {
  const read = chosenShapes(set, '');
  const shapes = read.ok ? read.value : [];
  expect(shapes.length).toBeGreaterThan(8);
  expect(shapes.length).toBeLessThanOrEqual(MAX_SHAPES);
  expect(new Set(shapes.map((shape) => shape.join())).size).toBe(shapes.length);
  for (const shape of shapes) expect(shape.reduce((product, extent) => product * extent, 1)).toBeLessThanOrEqual(1024);
});

test.each([
  [[256], '256'],
  [[16, 16, 1], '16 × 16'],
  [[1, 1, 1], '1'],
  [[4096, 1, 2], '4,096 × 1 × 2'],
])('the block %j is written %s', (block, text) => {
  expect(writeBlock(block)).toBe(text);
});

test('a block of several rows is tried in two dimensions', () => {
  expect([naturalSet([256, 1, 1]), naturalSet([32, 8, 1])]).toEqual(['line', 'plane']);
});

test('rows keep the order of the request and wait for their shape', () => {
  const late = swept(1, 1, 64);
  expect(rowsOf([[32], [64]], [late])).toEqual([
    { index: 0, block: [32], swept: null },
    { index: 1, block: [64], swept: late },
  ]);
});

test.each<[string, Swept[], number[], string]>([
  ['emulated: occupancy, not time', [swept(0, 0.001, 32), swept(1, 9, 64), swept(2, 5, 64)], [1, 2], 'Highest occupancy, 100 %: 64 and 96.'],
  ['on a GPU: time', [swept(0, 0.002, 64, { clock: 'gpu-events' }), swept(1, 0.001, 32, { clock: 'gpu-events' })], [1], 'Fastest, 1 ms: 64.'],
  ['other results are never best', [swept(0, 1, 32), swept(1, 1, 64, { same_as_first: false })], [0], 'Highest occupancy, 50 %: 32.'],
  ['refused ones neither', [swept(0, null, null, { state: 'refused' })], [], ''],
  ['of many equals none stands out', [0, 1, 2, 3, 4].map((index) => swept(index, 1, index ? 64 : 32)), [], 'Highest occupancy, 100 %: 4 of 5 shapes.'],
])('best, %s', (_, rows, marked, words) => {
  const found = best(rows);
  expect([[...found.marked], found.words]).toEqual([marked, words]);
});

test('a shape says why it did not run or what differs', () => {
  const diagnostics = [{ severity: 'error' as const, message: 'more than 1,024 threads' }];
  expect(remark(swept(0, null, null, { state: 'refused', diagnostics } as Partial<Swept>))).toBe('not possible: more than 1,024 threads');
  expect(remark(swept(0, 1, 2, { same_as_first: false, differs_at: 'y[5]' }))).toBe('results differ from the first shape’s, first at y[5]');
  expect(remark(swept(0, 1, 2))).toBe('');
});

test('occupancy and its limiter', () => {
  expect(share(swept(0, 1, 48))).toBe(0.75);
  expect(share(swept(0, 1, null))).toBeNull();
  expect(limiter(swept(0, 1, 48))).toBe('warps and shared memory');
});
