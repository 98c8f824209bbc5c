/** What is typed beside the shapes of a sweep: macros, restrictions, grid and shared memory by expression, a sample. */
import type { Sweep } from '../api/types';
import type { Read } from '../document/numbers';

/** Texts as they stand in the form; one macro, or one restriction, a line. */
export interface Typed {
  macros: string;
  where: string;
  grid: string;
  shared: string;
  sample: string;
}

export const NOTHING: Typed = { macros: '', where: '', grid: '', shared: '', sample: '' };

const lines = (text: string): string[] => text.split(/\n/).map((line) => line.trim()).filter(Boolean);

export const typedOf = (sweep: Sweep): Typed => ({
  macros: (sweep.macros ?? []).map(({ name, values }) => `${name} = ${values.join(', ')}`).join('\n'),
  where: (sweep.where ?? []).join('\n'),
  grid: (sweep.grid ?? []).join('\n'),
  shared: sweep.dynamic_shared_bytes ?? '',
  sample: sweep.sample ? String(sweep.sample) : '',
});

/** The fields of a sweep that are not empty; the service reads the expressions. */
export function readTyped(typed: Typed): Read<Partial<Sweep>> {
  const macros: NonNullable<Sweep['macros']>[number][] = [];
  for (const line of lines(typed.macros)) {
    const [, name, values] = /^([A-Za-z_]\w*)\s*[=:]\s*(.+)$/.exec(line) ?? [];
    if (!name || !values) return { ok: false, message: `“${line.slice(0, 30)}” gives no macro: write a name and its values, such as TILE = 8, 16, 32.` };
    macros.push({ name, values: values.split(',').map((value) => value.trim()) });
  }
  const sample = Number(typed.sample.trim() || Number.NaN);
  if (typed.sample.trim() && (!Number.isInteger(sample) || sample < 1 || sample > 256)) return { ok: false, message: 'A sample has 1 to 256 cells.' };
  const [where, grid, shared] = [lines(typed.where), lines(typed.grid), typed.shared.trim()];
  return {
    ok: true,
    value: {
      ...(macros.length && { macros }),
      ...(where.length && { where }),
      ...(grid.length && { grid }),
      ...(shared && { dynamic_shared_bytes: shared }),
      ...(typed.sample.trim() && { sample }),
    },
  };
}

/** Shapes times choices of macros, before restrictions. */
export const countCells = (shapes: number, sweep: Partial<Sweep>): number =>
  (sweep.macros ?? []).reduce((count, { values }) => count * values.length, shapes);
