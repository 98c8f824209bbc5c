/** The warps of a block: which threads their lanes are, x fastest. */

export const LANES = 32;

export interface WarpRow {
  number: number;
  /** Thread of each lane as x, y, z; null where the block has no more. */
  threads: (readonly [number, number, number] | null)[];
  idle: number;
  /** Rows of the block, lines along x, that the warp spans. */
  rows: number;
}

export function warpsOf([x = 1, y = 1, z = 1]: readonly number[]): WarpRow[] {
  const count = x * y * z;
  return Array.from({ length: Math.ceil(count / LANES) }, (_, number) => {
    const threads = Array.from({ length: LANES }, (_, lane) => {
      const at = number * LANES + lane;
      return at < count ? ([at % x, Math.floor(at / x) % y, Math.floor(at / (x * y))] as const) : null;
    });
    const rows = new Set(threads.filter((thread) => thread !== null).map(([, row, plane]) => `${row},${plane}`));
    return { number, threads, idle: threads.filter((thread) => thread === null).length, rows: rows.size };
  });
}
