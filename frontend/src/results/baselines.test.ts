import { expect, test } from 'vitest';
import { fold } from '../run/fold';
import type { RunResult } from '../api/types';
import { breakEven, gpuTime } from './baselines';

const result = (more: Partial<RunResult>): RunResult => ({ ...fold([]), ...more });
const ran = { kind: 'timed' as const, stage: 'run' as const, seconds: 2e-3, step: 'steps.0', launches: 3 };

test('a measured time goes before an estimate; a processor’s time is never one', () => {
  expect(gpuTime(result({ timings: [{ ...ran, clock: 'wall' }] }))).toBeNull();
  expect(gpuTime(result({ timings: [{ ...ran, clock: 'gpu-events' }] }))).toMatchObject({ seconds: 2e-3, measured: true });
  const estimates = [{ kind: 'estimated' as const, step: 'steps.0', estimate: { gpu: 'H200 SXM', seconds: 1e-5, limiter: 'DRAM' } }];
  const baselines = [{ kind: 'baselined' as const, index: 0, name: 'NumPy', seconds: 1e-3, transfer_bytes: 63_000_000 }];
  const found = gpuTime(result({ timings: [{ ...ran, clock: 'wall' }], estimates, baselines }));
  expect(found).toMatchObject({ gpu: 'H200 SXM', measured: false, transfer: 1e-3 });
  expect(found!.seconds).toBeCloseTo(3e-5);
});

test.each([
  [10e-6, 6e-6, 0, 100e-6, 6 / 96],
  [10e-6, 6e-6, 50e-6, 60e-6, 1],
  [10e-6, 6e-6, 90e-6, 60e-6, null],
])('break even of %d, %d, %d and %d', (gpu, floor, transfer, baseline, factor) => {
  const found = breakEven(gpu, floor, transfer, baseline);
  if (factor === null) expect(found).toBeNull();
  else expect(found).toBeCloseTo(factor);
});
