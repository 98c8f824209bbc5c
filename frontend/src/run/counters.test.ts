import { expect, test } from 'vitest';
import { activeLanes, byStep, tallies, traffic } from './counters';

const COUNTERS = {
  instructions: 100,
  thread_instructions: 2400,
  branches: 8,
  divergent_branches: 2,
  global_read_requests: 10,
  global_read_sectors: 40,
  global_write_requests: 0,
  global_write_sectors: 0,
  shared_read_requests: 4,
  shared_read_wavefronts: 128,
  local_read_requests: 3,
};

test('memory that was requested, with what a request takes', () => {
  expect(traffic(COUNTERS)).toEqual([
    { name: 'global reads', requests: 10, pieces: 40, unit: 'sectors', perRequest: 4 },
    { name: 'shared reads', requests: 4, pieces: 128, unit: 'wavefronts', perRequest: 32 },
    { name: 'local reads', requests: 3, pieces: null, unit: '', perRequest: null },
  ]);
});

test('what else was counted', () => {
  expect(tallies(COUNTERS).map(({ name, count }) => `${count} ${name}`)).toEqual([
    '100 warp instructions', '2400 thread instructions', '8 branches', '2 divergent branches',
  ]);
  expect(activeLanes(COUNTERS)).toBe(24);
  expect(activeLanes({})).toBeNull();
});

test('rounds of a step are added up', () => {
  const round = { kind: 'counted' as const, step: 'steps.0', counters: { instructions: 5 } };
  expect(byStep([round, round, { ...round, step: 'steps.1' }])).toEqual([
    { step: 'steps.0', counters: { instructions: 10 } },
    { step: 'steps.1', counters: { instructions: 5 } },
  ]);
});
