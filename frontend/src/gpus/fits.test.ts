import { expect, test } from 'vitest';
import type { GpuFit } from '../api/types';
import { CHECKED, GPUS, limiters, rowsOf, spills, summary } from './fits';

const fit = (gpu: string, warps: number | null, more: Partial<GpuFit> = {}): GpuFit => ({
  gpu,
  architecture: 'sm_90',
  entry: 'k',
  resources: { registers: 20, static_shared_bytes: 0, local_bytes: 0, spill_store_bytes: 0, spill_load_bytes: 0, constant_bytes: 0, barriers: 0, max_threads_per_block: 1024 },
  occupancy:
    warps === null
      ? null
      : { architecture: 'sm_90', blocks_per_sm: 1, warps_per_sm: warps, max_warps_per_sm: 64, limits: [], limiters: ['registers', 'shared'], gpu, sm_count: 132, waves: 1, tail: 0, driver_blocks_per_sm: null },
  why_not: warps === null ? 'no room' : '',
  ...more,
});
const everywhere = (warps: (gpu: string) => number | null) => GPUS.map(({ name }) => fit(name, warps(name)));

test('the table has a date, and instances or none for each GPU', () => {
  expect(CHECKED).toMatch(/^20\d\d-\d\d-\d\d$/);
  expect(GPUS.map(({ name }) => name)).toContain('H200 SXM');
});

test('rows keep the order of the table and know the kernel', () => {
  const fits = [...everywhere(() => 64), ...GPUS.map(({ name }) => fit(name, 16, { entry: 'other' }))];
  expect(rowsOf(fits, 'other').map(({ facts, share }) => [facts.name, share])).toEqual(GPUS.map(({ name }) => [name, 0.25]));
  expect(rowsOf([], 'k').every(({ fit: own, why }) => own === null && why === '')).toBe(true);
});

test('a source that does not compile for a GPU is a row without a kernel', () => {
  const fits = everywhere(() => 64).map((item) => (item.gpu === 'T4' ? fit('T4', null, { entry: '', resources: null, why_not: 'it does not compile for sm_75: no' }) : item));
  expect(rowsOf(fits, 'k').find(({ facts }) => facts.name === 'T4')).toMatchObject({ why: 'it does not compile for sm_75: no', share: 0 });
});

test.each<[string, GpuFit[], string]>([
  ['all alike', everywhere(() => 64), 'This launch is possible on all 12 GPUs. Occupancy is 100 % on each.'],
  ['one cannot', everywhere((gpu) => (gpu === 'T4' ? null : 64)), 'This launch is not possible on T4. Occupancy is 100 % on each.'],
  ['one is worse', everywhere((gpu) => (gpu === 'T4' ? 16 : 32)).slice(0, 2), 'This launch is possible on all 2 GPUs. Occupancy goes from 25 % (T4) to 50 % (A10G).'],
  ['nothing known', [], ''],
])('summary: %s', (_, fits, words) => {
  expect(summary(rowsOf(fits, 'k'))).toBe(words);
});

test('spills and limiters in words', () => {
  const spilling = fit('T4', 8);
  expect([spills(spilling), limiters(spilling)]).toEqual(['none', 'registers and shared memory']);
  const worse = fit('T4', 8, { resources: { ...spilling.resources!, spill_store_bytes: 24, spill_load_bytes: 40 } });
  expect(spills(worse)).toMatch(/^64/);
  expect(summary(rowsOf([worse], 'k'))).toContain('Registers spill on T4.');
});
