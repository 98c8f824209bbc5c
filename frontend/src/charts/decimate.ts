/** Lines with more points than pixels, drawn by the smallest and largest value of each pixel column. */

export interface Column {
  /** Index of the column's first point. */
  from: number;
  low: number;
  high: number;
}

/** At most `most` columns over `count` values; values that are not finite are left out. */
export function columns(at: (index: number) => number, count: number, most: number): Column[] {
  const size = Math.max(1, Math.ceil(count / most));
  const found: Column[] = [];
  for (let from = 0; from < count; from += size) {
    let low = Infinity;
    let high = -Infinity;
    for (let index = from; index < Math.min(count, from + size); index++) {
      const value = at(index);
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (low <= high) found.push({ from, low, high });
  }
  return found;
}
