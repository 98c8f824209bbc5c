/** A run's baselines beside its time on a GPU, measured or estimated. */
import type { RunResult } from '../api/types';
import { GPUS } from '../gpus/fits';

export interface GpuTime {
  seconds: number;
  /** Of copies from and to the host, at the speed of the link; null where the GPU is not in the table. */
  transfer: number | null;
  floor: number;
  gpu: string;
  measured: boolean;
}

/** An empty launch between two events, as the model of the estimate has it. */
const FLOOR = 6.4e-6;

export function gpuTime(result: RunResult): GpuTime | null {
  const bytes = result.baselines?.[0]?.transfer_bytes ?? 0;
  const timings = (result.timings ?? []).filter(({ stage }) => stage === 'run');
  const transferOn = (name: string) => {
    const facts = GPUS.find((item) => item.name === name || name.includes(item.name.split(' ')[0]!));
    return facts ? bytes / (facts.host_gb_per_second * 1e9) : null;
  };
  if (timings.length && timings.every(({ clock }) => clock === 'gpu-events')) {
    const gpu = result.launches?.[0]?.device_name ?? 'the GPU';
    return { seconds: timings.reduce((sum, { seconds }) => sum + seconds, 0), transfer: transferOn(gpu), floor: FLOOR, gpu, measured: true };
  }
  const estimates = (result.estimates ?? []).map(({ step, estimate }) => ({ step, estimate }));
  if (!estimates.length || estimates.some(({ estimate }) => !estimate)) return null;
  const launches = new Map(timings.map(({ step, launches: count }) => [step, count ?? 1]));
  const gpu = estimates[0]!.estimate!.gpu;
  const seconds = estimates.reduce((sum, { step, estimate }) => sum + estimate!.seconds * (launches.get(step) ?? 1), 0);
  return { seconds, transfer: transferOn(gpu), floor: FLOOR, gpu, measured: false };
}

/** protocol/baseline.py: by which factor the problem may shrink, or has to grow, until both take equally long. */
export function breakEven(gpu: number, floor: number, transfer: number, baseline: number): number | null {
  const gain = baseline - (Math.max(0, gpu - floor) + transfer);
  return gain > 0 ? floor / gain : null;
}
