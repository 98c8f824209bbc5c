import { expect, test } from 'vitest';
import type { TracedAccess } from '../api/types';
import { sectorsOf, sentence, turnsOf } from './accesses';
import { warpsOf } from './warps';
import { countWaves, held, listedWaves, waveOf } from './waves';

test.each([
  [1000, 132, 8, 1, { number: 0, first: 0, blocks: 1000, empty: 56 }],
  [1056, 132, 8, 1, { number: 0, first: 0, blocks: 1056, empty: 0 }],
])('%i blocks on %i SMs of %i', (blocks, sms, perSm, waves, first) => {
  expect(countWaves(blocks, sms, perSm)).toBe(waves);
  expect(waveOf(0, blocks, sms, perSm)).toEqual(first);
});

test('the last wave holds what is left, dealt out one an SM', () => {
  const last = waveOf(1, 1100, 132, 8);
  expect(last).toEqual({ number: 1, first: 1056, blocks: 44, empty: 1012 });
  expect([held(last, 0, 132), held(last, 43, 132), held(last, 44, 132)]).toEqual([1, 1, 0]);
  expect([held(waveOf(0, 140, 132, 8), 0, 132), held(waveOf(0, 140, 132, 8), 8, 132)]).toEqual([2, 1]);
  expect(countWaves(5, 132, 0)).toBe(0);
  expect(listedWaves(3).map(({ number }) => number)).toEqual([0, 1, 2]);
  expect(listedWaves(9)).toEqual([{ number: 0, alike: 8 }, { number: 8, alike: 1 }]);
});

test.each([
  [[256, 1, 1], 8, [0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1]],
  [[24, 5, 1], 4, [0, 0, 0, 8], [2, 2, 2, 1]],
  [[8, 2, 3], 2, [0, 16], [4, 2]],
])('the warps of %j', (block, count, idle, rows) => {
  const warps = warpsOf(block);
  expect([warps.length, warps.map((warp) => warp.idle), warps.map((warp) => warp.rows)]).toEqual([count, idle, rows]);
});

test('threads count along x first', () => {
  expect(warpsOf([24, 5, 1])[1]!.threads[0]).toEqual([8, 1, 0]);
  expect(warpsOf([8, 2, 3])[1]!.threads[15]).toEqual([7, 1, 2]);
});

const access = (offsets: (number | null)[], bytes = 4, space = 'global'): TracedAccess => ({
  span: null, ptx_line: 1, form: 'ld', space, access: 'read', times: 1, bytes, buffer: 'x',
  offsets: Array.from({ length: 32 }, (_, lane) => offsets[lane] ?? null),
});
const lanes = Array.from({ length: 32 }, (_, lane) => lane);

test.each([
  ['neighbours', access(lanes.map((lane) => 4 * lane)), 4, '32 lanes of 4 bytes each touch 4 sectors in 1 line: 100 % of the 128 bytes that move are used.'],
  ['a stride of 2', access(lanes.map((lane) => 8 * lane)), 8, '8 sectors in 2 lines: 50 % of the 256 bytes'],
  ['one off', access(lanes.map((lane) => 4 * lane + 4)), 5, '5 sectors in 2 lines: 80 %'],
  ['columns', access(lanes.map((lane) => 4096 * lane)), 32, '32 sectors in 32 lines: 13 %'],
  ['one address', access(lanes.map(() => 8)), 1, '1 sector in 1 line: 13 %'],
  ['few lanes', access([0, null, 8], 8), 1, '2 lanes of 8 bytes each touch 1 sector'],
])('sectors of %s', (_, given, count, words) => {
  expect(sectorsOf(given)).toHaveLength(count);
  expect(sentence(given)).toContain(words);
});

test.each([
  ['neighbours', access(lanes.map((lane) => 4 * lane), 4, 'shared'), [1], 'without a bank conflict'],
  ['a stride of 2', access(lanes.map((lane) => 8 * lane), 4, 'shared'), [2], '2 wavefronts of shared memory: a 2-way bank conflict'],
  ['a column', access(lanes.map((lane) => 128 * lane), 4, 'shared'), [32], 'a 32-way bank conflict'],
  ['one word', access(lanes.map(() => 64), 4, 'shared'), [1], '1 wavefront of shared memory, without'],
  ['doubles', access(lanes.map((lane) => 8 * lane), 8, 'shared'), [1, 1], '2 wavefronts of shared memory, without'],
  ['float4', access(lanes.map((lane) => 16 * lane), 16, 'shared'), [1, 1, 1, 1], '4 wavefronts'],
])('banks of %s', (_, given, wavefronts, words) => {
  expect(turnsOf(given).map((turn) => turn.wavefronts)).toEqual(wavefronts);
  expect(sentence(given)).toContain(words);
});
