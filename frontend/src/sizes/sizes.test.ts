import { expect, test } from 'vitest';
import type { Swept } from '../api/types';
import { best, label, limiter, remark, rowsOf, share } from './rows';
import { countCells, NOTHING, readTyped, typedOf } from './sweep';
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
  [Array.from({ length: 257 }, (_, index) => index + 1).join(), '257 shapes; one job tries at most 256'],
])('shapes %j are refused: %s', (text, words) => {
  const read = readShapes(text);
  expect(read.ok ? '' : read.message).toContain(words);
});

test.each(['line', 'plane', 'cube'] as const)('the set %s is one job of distinct shapes, none above 1,024 threads', (set) => {
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
  expect([naturalSet([256, 1, 1]), naturalSet([32, 8, 1]), naturalSet([8, 8, 4])]).toEqual(['line', 'plane', 'cube']);
});

test('rows keep the order of the request and wait for their shape', () => {
  const late = swept(1, 1, 64);
  expect(rowsOf({ blocks: [[32], [64]] }, [late], false)).toEqual([
    { index: 0, block: [32], macros: {}, swept: null },
    { index: 1, block: [64], macros: {}, swept: late },
  ]);
});

test('cells are shapes times macros; those left out, and those not drawn, have no row', () => {
  const sweep = { blocks: [[32], [64]], macros: [{ name: 'T', values: ['1', '2'] }, { name: 'U', values: ['4'] }] };
  const rows = rowsOf(sweep, [swept(2, null, null, { state: 'excluded' })], false);
  expect(rows.map(label)).toEqual(['32, T=1, U=4', '64, T=1, U=4', '64, T=2, U=4']);
  expect(rows.map(({ index }) => index)).toEqual([0, 1, 3]);
  expect(rowsOf({ ...sweep, sample: 1 }, [swept(3, 1, 64)], true).map(({ index }) => index)).toEqual([3]);
});

test('a sweep is typed and comes back', () => {
  const typed = { macros: 'TILE = 8, 16\nU=1', where: 'block_x == TILE', grid: 'n // threads', shared: 'threads * 4', sample: '12' };
  const read = readTyped(typed);
  expect(read).toEqual({
    ok: true,
    value: {
      macros: [{ name: 'TILE', values: ['8', '16'] }, { name: 'U', values: ['1'] }],
      where: ['block_x == TILE'],
      grid: ['n // threads'],
      dynamic_shared_bytes: 'threads * 4',
      sample: 12,
    },
  });
  if (!read.ok) return;
  expect(typedOf({ blocks: [[32]], ...read.value })).toEqual({ ...typed, macros: 'TILE = 8, 16\nU = 1' });
  expect(countCells(3, read.value)).toBe(6);
  expect(readTyped(NOTHING)).toEqual({ ok: true, value: {} });
});

test.each([
  [{ ...NOTHING, macros: 'TILE' }, 'gives no macro'],
  [{ ...NOTHING, macros: '2A = 3' }, 'gives no macro'],
  [{ ...NOTHING, sample: '0' }, '1 to 256'],
  [{ ...NOTHING, sample: 'many' }, '1 to 256'],
])('%j is refused', (typed, words) => {
  const read = readTyped(typed);
  expect(read.ok ? '' : read.message).toContain(words);
});

test.each<[string, Swept[], number[], string]>([
  ['emulated: occupancy, not time', [swept(0, 0.001, 32), swept(1, 9, 64), swept(2, 5, 64)], [1, 2], 'Highest occupancy, 100 %: 64 and 96.'],
  ['on a GPU: time', [swept(0, 0.002, 64, { clock: 'gpu-events' }), swept(1, 0.001, 32, { clock: 'gpu-events' })], [1], 'Fastest, 1 ms: 64.'],
  ['other results are never best', [swept(0, 1, 32), swept(1, 1, 64, { same_as_first: false })], [0], 'Highest occupancy, 50 %: 32.'],
  ['an estimate goes before occupancy', [swept(0, 1, 64, { estimate: { gpu: 'T4', seconds: 2e-6, limiter: 'DRAM' } }), swept(1, 1, 32, { estimate: { gpu: 'T4', seconds: 1e-6, limiter: 'DRAM' } })], [1], 'Fastest, 1 µs: 64.'],
  ['wrong results are never best', [swept(0, 1, 32), swept(1, 1, 64, { passed: false })], [0], 'Highest occupancy, 50 %: 32.'],
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
