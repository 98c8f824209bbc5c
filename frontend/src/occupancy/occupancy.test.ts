import { expect, test } from 'vitest';
import truth from '../../../tests/data/truth/occupancy_sm_90.csv?raw';
import { blockLimits, curve, launchFaults, limitsOf, occupancy } from './occupancy';

const kernel = { registers: 32, static_shared_bytes: 0, barriers: 0, max_threads_per_block: 1024 };

test('every answer of the H200’s driver', () => {
  const [header, ...rows] = truth.trim().split('\n');
  expect(header).toBe('registers,static_shared,block,dynamic_shared,active_blocks_per_sm');
  expect(rows.length).toBe(12_600);
  const limits = limitsOf('sm_90');
  const wrong = rows.filter((row) => {
    const [registers, fixed, block, dynamic, blocks] = row.split(',').map(Number);
    const fewest = Math.min(...blockLimits(limits, block!, registers!, fixed! + dynamic!).map((limit) => limit.blocks));
    return fewest !== blocks;
  });
  expect(wrong).toEqual([]);
});

test.each([
  ['warps', { ...kernel, registers: 24 }, [256], 0, 8, ['warps']],
  ['warps and registers', kernel, [256], 0, 8, ['warps', 'registers']],
  ['registers', { ...kernel, registers: 128 }, [256], 0, 2, ['registers']],
  ['shared memory', kernel, [128], 100_000, 2, ['shared']],
  ['blocks', { ...kernel, registers: 16 }, [32], 0, 32, ['blocks']],
  ['barriers', { ...kernel, barriers: 16 }, [32], 0, 4, ['barriers']],
] as const)('%s limit', (_, resources, block, shared, blocks, limiters) => {
  const answer = occupancy('sm_90', resources, [1], block, shared);
  expect(answer.blocks_per_sm).toBe(blocks);
  expect(answer.limiters).toEqual(limiters);
});

test('waves and tail', () => {
  const answer = occupancy('sm_90', kernel, [132 * 8 * 2 + 132 * 2, 1, 1], [256, 1, 1], 0);
  expect(answer.waves).toBeCloseTo(2.25);
  expect(answer.tail).toBeCloseTo(0.75);
});

test('the curve stops at __launch_bounds__', () => {
  const points = curve('sm_90', { ...kernel, max_threads_per_block: 256 }, 0);
  expect(points).toHaveLength(32);
  expect(points[7]).toMatchObject({ threads: 256, blocks: 8, warps: 64 });
  expect(points[8]).toEqual({ threads: 288, blocks: 0, warps: 0, limiters: ['launch-bounds'] });
});

test.each([
  [[1025, 1, 1], [1, 1, 1], 0, 'block', '1,025'],
  [[1, 1, 65], [1, 1, 1], 0, 'block', 'Block z is at most 64'],
  [[0, 1, 1], [1, 1, 1], 0, 'block', 'at least 1'],
  [[512, 1, 1], [1, 1, 1], 0, 'block', '__launch_bounds__ allows 256'],
  [[32, 1, 1], [1, 65_536, 1], 0, 'grid', 'Grid y is at most 65,535'],
  [[32, 1, 1], [1, 1, 1], 232_449, 'dynamic_shared_bytes', '232,448'],
])('block %j, grid %j, %i bytes: a fault at %s', (block, grid, shared, field, words) => {
  const faults = launchFaults('sm_90', { ...kernel, max_threads_per_block: 256 }, grid, block, shared);
  expect(faults).toHaveLength(1);
  expect(faults[0]!.field).toBe(field);
  expect(faults[0]!.message).toContain(words);
});
