/** What a sweep told of its shapes, and which of them is best. */
import type { Sweep, Swept } from '../api/types';
import { listed, percent, seconds } from '../views/format';
import { writeBlock } from './shapes';

export interface Row {
  index: number;
  block: number[];
  macros: Record<string, string>;
  /** Null while the cell waits for its turn. */
  swept: Swept | null;
}

/** The choice of macros of each combination, the last macro's changing fastest. */
function choices(sweep: Sweep): Record<string, string>[] {
  let found: Record<string, string>[] = [{}];
  for (const { name, values } of sweep.macros ?? []) found = found.flatMap((before) => values.map((value) => ({ ...before, [name]: value })));
  return found;
}

/** One row a cell that is tried, in the request's order; a row fills when its cell has had its turn. */
export function rowsOf(sweep: Sweep, swept: readonly Swept[], finished: boolean): Row[] {
  const told = new Map(swept.map((row) => [row.index, row]));
  return choices(sweep)
    .flatMap((macros, combination) =>
      sweep.blocks.map((block, place) => {
        const index = combination * sweep.blocks.length + place;
        return { index, block: [...block], macros, swept: told.get(index) ?? null };
      }),
    )
    .filter(({ swept: row }) => (row ? row.state !== 'excluded' : !finished || !sweep.sample));
}

export const label = ({ block, macros }: Pick<Row, 'block' | 'macros'>): string => {
  const given = Object.entries(macros ?? {});
  return given.length ? `${writeBlock(block)}, ${given.map(([name, value]) => `${name}=${value}`).join(', ')}` : writeBlock(block);
};

export const share = ({ occupancy }: Swept): number | null => (occupancy ? occupancy.warps_per_sm / occupancy.max_warps_per_sm : null);

export const onGpu = (swept: readonly Swept[]): boolean => swept.some(({ clock }) => clock === 'gpu-events');

/** Seconds on a GPU: measured there, else the estimate for one; never a processor's time. */
export const gpuSeconds = ({ clock, seconds: time, estimate }: Swept): number | null => (clock === 'gpu-events' ? (time ?? null) : (estimate?.seconds ?? null));

export const right = ({ state, same_as_first: same, passed }: Swept): boolean => state === 'ran' && same !== false && passed !== false;

/**
 * Indices of the best cells: the shortest time on a GPU, measured or estimated, else the highest occupancy. One whose
 * results are wrong or differ is never best. `marked` are the rows to stand out, none where so many are best that they
 * would not.
 */
export function best(swept: readonly Swept[]): Best {
  const ran = swept.filter(right);
  const timed = ran.some((row) => gpuSeconds(row) !== null);
  const value = (row: Swept) => (timed ? -(gpuSeconds(row) ?? Infinity) : (share(row) ?? -Infinity));
  const highest = Math.max(...ran.map(value));
  const chosen = ran.filter((row) => Number.isFinite(highest) && value(row) === highest);
  const [first] = chosen;
  const which = chosen.length > MOST_MARKED ? `${chosen.length} of ${ran.length} shapes` : listed(chosen.map(({ block, macros }) => label({ block, macros: macros ?? {} })));
  const what = timed ? `Fastest, ${seconds(first ? gpuSeconds(first)! : 0)}` : `Highest occupancy, ${percent(first ? share(first)! : 0)}`;
  return { marked: new Set(chosen.length > MOST_MARKED ? [] : chosen.map(({ index }) => index)), words: first ? `${what}: ${which}.` : '' };
}

export interface Best {
  marked: ReadonlySet<number>;
  words: string;
}

/** More equals than this are a sentence, not a mark in each row. */
const MOST_MARKED = 3;

const STATES: Record<Swept['state'], string> = { ran: '', refused: 'not possible', failed: 'failed', 'not-run': 'not run', excluded: 'left out' };

/** Why a shape did not run, or what is odd about how it did. */
export function remark(swept: Swept): string {
  const why = (swept.diagnostics ?? []).map(({ message }) => message);
  if (swept.state !== 'ran') return why.length ? `${STATES[swept.state]}: ${why.join('; ')}` : STATES[swept.state];
  const differs = swept.same_as_first === false ? [`results differ from the first shape’s${swept.differs_at ? `, first at ${swept.differs_at}` : ''}`] : [];
  const wrong = swept.passed === false ? ['the results are wrong'] : [];
  return [...wrong, ...differs, ...why].join('; ');
}

const LIMITERS: Record<string, string> = { shared: 'shared memory' };

export const limiter = ({ occupancy }: Swept): string => listed((occupancy?.limiters ?? []).map((name) => LIMITERS[name] ?? name));
