/** The last runs of this browser, in its storage. */
import type { Language, RunRequest, RunResult, Step } from '../api/types';
import { banner } from '../views/verdict';

const KEY = 'warpyard.history';
export const KEPT = 50;

export interface Past {
  id: string;
  /** Unix time in milliseconds. */
  at: number;
  title: string;
  entry: string;
  block: number[];
  /** Blocks along each axis, empty until the launch has told them. */
  grid: number[];
  /** In words; empty while the run is not over, as far as this browser knows. */
  verdict: string;
  tone: 'ok' | 'bad' | 'neutral';
  seconds: number | null;
  clock: 'wall' | 'gpu-events';
  device: string;
  /** Of the source; absent in what older pages kept. */
  language?: Language;
}

export function history(): Past[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(stored) ? (stored as Past[]).filter((past) => typeof past?.id === 'string') : [];
  } catch {
    return [];
  }
}

/** False where the storage is full or forbidden. */
function keep(runs: readonly Past[]): boolean {
  try {
    localStorage.setItem(KEY, JSON.stringify(runs.slice(0, KEPT)));
    return true;
  } catch {
    return false;
  }
}

/** Puts a run first, or in the place that it has already. */
export function remember(past: Past): Past[] {
  const runs = history();
  const at = runs.findIndex(({ id }) => id === past.id);
  const next = at < 0 ? [past, ...runs] : runs.with(at, { ...past, at: runs[at]!.at, title: runs[at]!.title });
  // A full storage loses the older half, not the newest run.
  if (!keep(next)) keep(next.slice(0, KEPT / 2));
  return history();
}

export function clearHistory(): Past[] {
  localStorage.removeItem(KEY);
  return [];
}

function firstLaunch(steps: readonly Step[]): Extract<Step, { kind: 'launch' }> | null {
  for (const step of steps) {
    const found = step.kind === 'launch' ? step : step.kind === 'repeat' ? firstLaunch(step.steps) : null;
    if (found) return found;
  }
  return null;
}

/** A run as the history shows it. */
export function pastOf(id: string, title: string, request: RunRequest, result: RunResult | null, at: number): Past {
  const launched = result?.launches?.[0] ?? null;
  const launch = firstLaunch(request.steps);
  const timings = (result?.timings ?? []).filter(({ stage }) => stage === 'run');
  const told = result ? banner(result) : null;
  return {
    id,
    at,
    title: request.sweep ? `${title || 'Untitled'}, ${request.sweep.blocks.length} sizes` : title || 'Untitled',
    entry: launched?.entry ?? launch?.entry ?? '',
    block: launched?.block ?? launch?.config.block ?? [],
    grid: launched?.grid ?? [],
    verdict: told?.title ?? '',
    tone: told?.tone ?? 'neutral',
    seconds: timings.length ? timings.reduce((sum, timed) => sum + timed.seconds, 0) : null,
    clock: timings.some(({ clock }) => clock === 'gpu-events') ? 'gpu-events' : 'wall',
    device: launched?.device_name ?? result?.device ?? '',
    language: request.source.language ?? 'cuda-c++',
  };
}

/** How two runs' times compare, or why they do not. */
export function compare(left: Past, right: Past): string {
  if (left.seconds === null || right.seconds === null) return 'One of the two has no run time.';
  if (left.clock !== right.clock || left.device !== right.device) return 'They ran on different devices, so their times do not compare.';
  if (!left.seconds || !right.seconds) return 'One of the two took no measurable time.';
  const [fast, slow] = left.seconds <= right.seconds ? [left, right] : [right, left];
  const ratio = Number((slow.seconds! / fast.seconds!).toPrecision(3));
  const honest = left.clock === 'wall' ? ' Both times are emulated on a CPU and tell nothing of a GPU.' : '';
  return ratio === 1 ? `Both took the same time.${honest}` : `${slow.title} (${slow.id.slice(0, 6)}) took ${ratio} times as long as ${fast.title} (${fast.id.slice(0, 6)}).${honest}`;
}
