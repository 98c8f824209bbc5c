/** NumPy basic slices of what a view shows. */

/** Elements beyond which a view asks for every k-th only. */
export const WHOLE_ELEMENTS = 1 << 22;

/** Leading indices that pick one plane of an array with more than two dimensions. */
export type Lead = readonly number[];

/** Smallest stride along each of the last two axes that keeps the answer small enough. */
export function stride(rows: number, columns: number, most = WHOLE_ELEMENTS): number {
  let step = 1;
  while (Math.ceil(rows / step) * Math.ceil(columns / step) > most) step++;
  return step;
}

export const span = (from: number, to: number): string => `${from}:${to}`;

const joined = (lead: Lead, parts: readonly string[]): string => [...lead.map(String), ...parts].join(',');

/** A plane, thinned by `step`; `inner` axes such as colour components are whole. */
export function planeSlice(lead: Lead, step: number, inner = 0): string {
  if (!lead.length && step === 1) return '';
  const axis = step === 1 ? ':' : `::${step}`;
  return joined(lead, [axis, axis, ...Array<string>(inner).fill(':')]);
}

/** A tile of a plane, or of a line laid out in rows of `width`. */
export function tileSlice(lead: Lead, rows: readonly [number, number], columns: readonly [number, number]): string {
  return joined(lead, [span(rows[0], rows[1]), span(columns[0], columns[1])]);
}

/** Elements from–to of a line. */
export const lineSlice = (lead: Lead, from: number, to: number, step = 1): string =>
  joined(lead, [step === 1 ? span(from, to) : `${from}:${to}:${step}`]);
