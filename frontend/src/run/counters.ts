/** What the emulator counted over the launches, in the words of a profiler. */
import type { Counted } from '../api/types';

export interface Traffic {
  name: string;
  requests: number;
  /** 32-byte sectors of global memory, or wavefronts of shared memory. */
  pieces: number | null;
  unit: 'sectors' | 'wavefronts' | '';
  perRequest: number | null;
}

const KINDS = ['read', 'write', 'atomic'] as const;
const SPACES = [['global', 'sectors'], ['shared', 'wavefronts'], ['local', '']] as const;
const WORDS = { read: 'reads', write: 'writes', atomic: 'atomics' };

/** Memory requests that were made at all, one row a space and kind. */
export function traffic(counters: Readonly<Record<string, number>>): Traffic[] {
  return SPACES.flatMap(([space, unit]) =>
    KINDS.flatMap((kind): Traffic[] => {
      const requests = counters[`${space}_${kind}_requests`] ?? 0;
      if (!requests) return [];
      const pieces = unit ? (counters[`${space}_${kind}_${unit}`] ?? null) : null;
      return [{ name: `${space} ${WORDS[kind]}`, requests, pieces, unit, perRequest: pieces === null ? null : pieces / requests }];
    }),
  );
}

export interface Tally {
  name: string;
  count: number;
}

/** Instructions, branches and barriers. */
export function tallies(counters: Readonly<Record<string, number>>): Tally[] {
  const names: [string, string][] = [
    ['instructions', 'warp instructions'],
    ['thread_instructions', 'thread instructions'],
    ['branches', 'branches'],
    ['divergent_branches', 'divergent branches'],
    ['barriers', 'barriers'],
  ];
  return names.flatMap(([key, name]) => (key in counters ? [{ name, count: counters[key]! }] : []));
}

/** Lanes that were active in an instruction, on average, 0 to 32. */
export function activeLanes(counters: Readonly<Record<string, number>>): number | null {
  const { instructions, thread_instructions: threads } = counters;
  return instructions && threads !== undefined ? threads / instructions : null;
}

/** The counters of one step, added up over its rounds. */
export function byStep(counted: readonly Counted[]): { step: string; counters: Record<string, number> }[] {
  const steps = new Map<string, Record<string, number>>();
  for (const { step, counters } of counted) {
    const sums = steps.get(step) ?? {};
    for (const [name, count] of Object.entries(counters)) sums[name] = (sums[name] ?? 0) + count;
    steps.set(step, sums);
  }
  return [...steps].map(([step, counters]) => ({ step, counters }));
}
