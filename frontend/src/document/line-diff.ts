/** Lines that two texts share and lines that they do not: a longest common subsequence. */

export interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
  /** Numbers from 1 in the old and the new text; null where the line is not there. */
  before: number | null;
  after: number | null;
}

/** Above so many pairs of lines that differ, the middle is told as replaced as a whole. */
const MAX_PAIRS = 4_000_000;

/** Of every pair of positions, the length of the longest common subsequence from there on. */
function lengths(left: readonly string[], right: readonly string[]): Uint16Array[] {
  const rows = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i--) {
    const [row, below] = [rows[i]!, rows[i + 1]!];
    for (let j = right.length - 1; j >= 0; j--) {
      row[j] = left[i] === right[j] ? below[j + 1]! + 1 : Math.max(below[j]!, row[j + 1]!);
    }
  }
  return rows;
}

export function lineDiff(before: string, after: string): DiffLine[] {
  const [left, right] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start++;
  let [leftEnd, rightEnd] = [left.length, right.length];
  while (leftEnd > start && rightEnd > start && left[leftEnd - 1] === right[rightEnd - 1]) [leftEnd, rightEnd] = [leftEnd - 1, rightEnd - 1];
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  const same = () => lines.push({ kind: 'same', text: left[i]!, before: ++i, after: ++j });
  const removed = () => lines.push({ kind: 'removed', text: left[i]!, before: ++i, after: null });
  const added = () => lines.push({ kind: 'added', text: right[j]!, before: null, after: ++j });
  while (i < start) same();
  const [oldPart, newPart] = [left.slice(start, leftEnd), right.slice(start, rightEnd)];
  const table = oldPart.length * newPart.length <= MAX_PAIRS ? lengths(oldPart, newPart) : null;
  while (i < leftEnd || j < rightEnd) {
    const [row, column] = [i - start, j - start];
    if (table && i < leftEnd && j < rightEnd && left[i] === right[j]) same();
    else if (i < leftEnd && (j >= rightEnd || !table || table[row + 1]![column]! >= table[row]![column + 1]!)) removed();
    else added();
  }
  while (i < left.length) same();
  return lines;
}

export interface Hunk {
  /** Lines left out before these. */
  skipped: number;
  lines: DiffLine[];
}

/** The changed lines with so many unchanged ones around them. */
export function hunks(lines: readonly DiffLine[], around = 3): Hunk[] {
  const found: Hunk[] = [];
  let end = 0;
  lines.forEach((line, index) => {
    if (line.kind === 'same') return;
    const from = Math.max(index - around, 0);
    const to = Math.min(index + around + 1, lines.length);
    const last = found.at(-1);
    if (last && from <= end) last.lines.push(...lines.slice(end, to));
    else found.push({ skipped: from - end, lines: lines.slice(from, to) });
    end = Math.max(end, to);
  });
  return found;
}
