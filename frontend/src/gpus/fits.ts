/** How the GPUs of the table take the selected launch, as rows to show. */
import type { GpuFit } from '../api/types';
import { bytes, listed, percent } from '../views/format';
import { RESOURCE_NAMES } from '../occupancy/occupancy';
import table from '../../../protocol/gpus.json';

export type GpuFacts = (typeof table.gpus)[number];

export const GPUS: readonly GpuFacts[] = table.gpus;
export const CHECKED = table.checked;

export interface FitRow {
  facts: GpuFacts;
  fit: GpuFit | null;
  /** Share of an SM's warp slots, 0 to 1; 0 where nothing runs. */
  share: number;
  why: string;
}

/** A row for every GPU; `entry` is the kernel's name in the PTX. */
export function rowsOf(fits: readonly GpuFit[], entry: string): FitRow[] {
  return GPUS.map((facts) => {
    const own = fits.filter(({ gpu }) => gpu === facts.name);
    const fit = own.find((item) => item.entry === entry) ?? own.find((item) => !item.entry) ?? null;
    const occupancy = fit?.occupancy ?? null;
    return {
      facts,
      fit,
      share: occupancy ? occupancy.warps_per_sm / occupancy.max_warps_per_sm : 0,
      why: fit && !occupancy ? (fit.why_not ?? '') : '',
    };
  });
}

const spilled = ({ resources }: GpuFit): number => (resources?.spill_store_bytes ?? 0) + (resources?.spill_load_bytes ?? 0);

export const spills = (fit: GpuFit): string => (spilled(fit) ? bytes(spilled(fit)) : 'none');

export const limiters = ({ occupancy }: GpuFit): string => listed((occupancy?.limiters ?? []).map((name) => RESOURCE_NAMES[name] ?? name));

/** What the rows say together: where it cannot run, where it spills, and how far occupancy differs. */
export function summary(rows: readonly FitRow[]): string {
  const told = rows.filter(({ fit }) => fit !== null);
  if (!told.length) return '';
  const names = (some: readonly FitRow[]) => listed(some.map(({ facts }) => facts.name));
  const ran = told.filter(({ fit }) => fit?.occupancy);
  const failing = told.filter(({ fit }) => !fit?.occupancy);
  const spilling = ran.filter(({ fit }) => fit && spilled(fit) > 0);
  const parts = [failing.length ? `This launch is not possible on ${names(failing)}.` : `This launch is possible on all ${told.length} GPUs.`];
  if (ran.length) {
    const shares = ran.map(({ share }) => share);
    const [low, high] = [Math.min(...shares), Math.max(...shares)];
    parts.push(low === high ? `Occupancy is ${percent(low)} on each.` : `Occupancy goes from ${percent(low)} (${names(ran.filter(({ share }) => share === low))}) to ${percent(high)} (${names(ran.filter(({ share }) => share === high))}).`);
  }
  if (spilling.length) parts.push(`Registers spill on ${names(spilling)}.`);
  return parts.join(' ');
}
