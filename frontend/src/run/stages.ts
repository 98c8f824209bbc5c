/** Stage times of a run, each with the clock that measured it. */
import type { RunResult, Timed } from '../api/types';
import { seconds } from '../views/format';

export interface Stage {
  name: string;
  seconds: number;
  clock: string;
  /** What the number is, in words. */
  meaning: string;
  detail: string;
  /** How a repeated measurement came about. */
  notes: string[];
}

const NAMES: Record<Timed['stage'], string> = {
  queue: 'Queue',
  sandbox: 'Sandbox',
  compile: 'Compile',
  jit: 'Emulator code',
  setup: 'Set up',
  run: 'Run',
  repeat: 'Repeats',
  film: 'Film',
  transfer: 'Transfer',
  reference: 'Reference',
  total: 'Total',
};

const MEANINGS: Record<Timed['stage'], string> = {
  queue: 'waiting for a worker',
  sandbox: 'starting isolated processes',
  compile: 'CUDA C++ to PTX and machine code',
  jit: 'PTX to code for the emulator',
  setup: 'allocating and filling the buffers',
  run: 'executing the launches',
  repeat: 'further launches for their time alone',
  film: 'reading the frames of the film, between launches',
  transfer: 'reading the buffers back',
  reference: 'the NumPy reference of the checks',
  total: 'from taking the run up to its end',
};

const ORDER: Timed['stage'][] = ['queue', 'sandbox', 'compile', 'jit', 'setup', 'run', 'repeat', 'film', 'transfer', 'reference', 'total'];

export const emulated = (result: RunResult): boolean => (result.launches ?? []).some(({ device }) => device === 'emulator');

const clockWords = (clock: Timed['clock']): string => (clock === 'gpu-events' ? 'GPU events' : 'wall clock');

/** What a device that repeats a launch for its time alone says of it. */
export function sampling({ samples = 1, cold_seconds: cold, first_seconds: first, note }: Timed): string[] {
  return [
    ...(samples > 1 ? [`median of ${samples.toLocaleString('en-US')} launches on the same data`] : []),
    ...(cold == null ? [] : [`${seconds(cold)} with the L2 cache emptied before each`]),
    ...(first == null ? [] : [`${seconds(first)} for the launch that gave the results`]),
    ...(note ? [note] : []),
  ];
}

/** One entry a stage; a stage that was timed several times (per step) is the sum. */
export function stages(result: RunResult): Stage[] {
  const timings = result.timings ?? [];
  return ORDER.flatMap((stage): Stage[] => {
    const found = timings.filter((timed) => timed.stage === stage);
    if (!found.length) return [];
    const clocks = [...new Set(found.map(({ clock = 'wall' }) => clockWords(clock)))];
    const launches = found.reduce((sum, timed) => sum + (timed.launches ?? 1), 0);
    const onCpu = stage === 'run' && emulated(result) && !found.some(({ clock }) => clock === 'gpu-events');
    return [
      {
        name: NAMES[stage],
        seconds: found.reduce((sum, timed) => sum + timed.seconds, 0),
        clock: clocks.join(', '),
        meaning: onCpu ? 'emulated on a CPU — not GPU time' : MEANINGS[stage],
        detail: stage === 'run' && launches > 1 ? `${launches.toLocaleString('en-US')} launches` : '',
        notes: [...new Set(found.flatMap(sampling))],
      },
    ];
  });
}
