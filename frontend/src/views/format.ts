/** Numbers for people. */

export const integer = (value: number): string => value.toLocaleString('en-US');

/** Three significant digits with the unit that fits: 812 µs, 1.52 ms, 3.1 s. */
export function seconds(value: number): string {
  if (value <= 0) return '0 s';
  const [scale, unit] = value < 1e-6 ? [1e9, 'ns'] : value < 1e-3 ? [1e6, 'µs'] : value < 1 ? [1e3, 'ms'] : [1, 's'];
  return `${Number((value * scale).toPrecision(3))} ${unit}`;
}

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let index = 0;
  let scaled = value;
  while (scaled >= 1024 && index < units.length - 1) {
    scaled /= 1024;
    index++;
  }
  return `${index === 0 ? scaled : Number(scaled.toPrecision(3))} ${units[index]}`;
}

export const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** "registers", "registers and warps", "a, b and c". */
export function listed(words: readonly string[]): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

export const several = (count: number, word: string, words = `${word}s`): string => `${integer(count)} ${count === 1 ? word : words}`;

/** A floating-point value in at most about nine characters. */
export function float(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const magnitude = Math.abs(value);
  if (magnitude >= 1e6 || magnitude < 1e-4) return value.toExponential(3);
  return String(Number(value.toPrecision(6)));
}

/** The thread of an element, in parentheses; nothing where none is known. */
export const placeOf = ({ block, thread }: { block?: readonly number[] | null; thread?: readonly number[] | null }): string =>
  block && thread ? ` Block (${block.join(', ')}), thread (${thread.join(', ')}).` : '';
