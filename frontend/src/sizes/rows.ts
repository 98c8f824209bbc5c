/** What a sweep told of its shapes, and which of them is best. */
import type { Swept } from '../api/types';
import { listed, percent, seconds } from '../views/format';
import { writeBlock } from './shapes';

export interface Row {
  index: number;
  block: number[];
  /** Null while the shape waits for its turn. */
  swept: Swept | null;
}

/** One row a shape of the request, in its order; a row fills when its shape has had its turn. */
export function rowsOf(blocks: readonly (readonly number[])[], swept: readonly Swept[]): Row[] {
  const told = new Map(swept.map((row) => [row.index, row]));
  return blocks.map((block, index) => ({ index, block: [...block], swept: told.get(index) ?? null }));
}

export const share = ({ occupancy }: Swept): number | null => (occupancy ? occupancy.warps_per_sm / occupancy.max_warps_per_sm : null);

export const onGpu = (swept: readonly Swept[]): boolean => swept.some(({ clock }) => clock === 'gpu-events');

/**
 * Indices of the best shapes. On a GPU that is the shortest time; a CPU's time says nothing of a GPU, so of an emulated
 * sweep it is the highest occupancy. A shape whose results differ is never best. `words` says what the best have in
 * common; `marked` are the rows to stand out, none where so many are best that they would not.
 */
export function best(swept: readonly Swept[]): Best {
  const ran = swept.filter(({ state, same_as_first: same }) => state === 'ran' && same !== false);
  const gpu = onGpu(ran);
  const value = (row: Swept) => (gpu ? -(row.seconds ?? Infinity) : (share(row) ?? -Infinity));
  const highest = Math.max(...ran.map(value));
  const indices = ran.filter((row) => Number.isFinite(highest) && value(row) === highest).map(({ index }) => index);
  const [first] = ran.filter(({ index }) => index === indices[0]);
  const which = indices.length > MOST_MARKED ? `${indices.length} of ${ran.length} shapes` : listed(ran.filter(({ index }) => indices.includes(index)).map(({ block }) => writeBlock(block)));
  const what = gpu ? `Fastest, ${seconds(first?.seconds ?? 0)}` : `Highest occupancy, ${percent(first ? share(first)! : 0)}`;
  return { marked: new Set(indices.length > MOST_MARKED ? [] : indices), words: first ? `${what}: ${which}.` : '' };
}

export interface Best {
  marked: ReadonlySet<number>;
  words: string;
}

/** More equals than this are a sentence, not a mark in each row. */
const MOST_MARKED = 3;

const STATES: Record<Swept['state'], string> = { ran: '', refused: 'not possible', failed: 'failed', 'not-run': 'not run' };

/** Why a shape did not run, or what is odd about how it did. */
export function remark(swept: Swept): string {
  const why = (swept.diagnostics ?? []).map(({ message }) => message);
  if (swept.state !== 'ran') return why.length ? `${STATES[swept.state]}: ${why.join('; ')}` : STATES[swept.state];
  const differs = swept.same_as_first === false ? [`results differ from the first shape’s${swept.differs_at ? `, first at ${swept.differs_at}` : ''}`] : [];
  return [...differs, ...why].join('; ');
}

const LIMITERS: Record<string, string> = { shared: 'shared memory' };

export const limiter = ({ occupancy }: Swept): string => listed((occupancy?.limiters ?? []).map((name) => LIMITERS[name] ?? name));
