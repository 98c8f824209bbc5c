/** Columns in Unicode code points, as diagnostics count them, to UTF-16 units, as the editor does. */

/** Offset in UTF-16 units of a 1-based code-point column in a line; past its end, the line's length. */
export function columnOffset(line: string, column: number): number {
  let offset = 0;
  for (let point = 1; point < column && offset < line.length; point++) {
    offset += line.codePointAt(offset)! > 0xffff ? 2 : 1;
  }
  return offset;
}

/** End of the word that starts at `offset`, or one character where none does. */
export function wordEnd(line: string, offset: number): number {
  const word = /^[A-Za-z_]\w*|^[0-9][\w.]*/.exec(line.slice(offset));
  if (word) return offset + word[0].length;
  return Math.min(line.length, offset + ((line.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1));
}
