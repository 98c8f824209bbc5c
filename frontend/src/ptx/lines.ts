/** Which line of the user's source each line of PTX came from, by the `.loc` directives. */

export const HUES = 8;

export const hueOf = (line: number): number => line % HUES;

export interface PtxLine {
  text: string;
  /** Line of the source, 0 where none is known. */
  source: number;
}

/** File number of the user's source: the first `.file`, which is what the compiler was given. */
const firstFile = (ptx: string): string => /^\s*\.file\s+(\d+)/m.exec(ptx)?.[1] ?? '1';

/** The code, without `.loc`, `.file` and debugging sections. */
export function ptxLines(ptx: string): PtxLine[] {
  if (!ptx) return [];
  const file = firstFile(ptx);
  const lines: PtxLine[] = [];
  let source = 0;
  let inSection = false;
  for (const text of ptx.split('\n')) {
    if (/^\s*\.section\b/.test(text)) inSection = true;
    if (inSection) {
      if (/^\s*\}/.test(text)) inSection = false;
      continue;
    }
    const place = /^\s*\.loc\s+(\d+)\s+(\d+)/.exec(text);
    if (place) {
      if (place[1] === file) source = Number(place[2]);
      continue;
    }
    if (/^\s*\.file\b/.test(text)) continue;
    const isCode = /^\s*(@!?%\w+\s+)?[a-z][\w.]*.*;\s*$/.test(text);
    if (/^\s*[{}]/.test(text) || /\.(entry|func)\b/.test(text)) source = 0;
    lines.push({ text: text.replace(/\t/g, '    ').trimEnd(), source: isCode ? source : 0 });
  }
  return lines;
}

export const sourceLines = (ptx: string): Set<number> =>
  new Set(ptxLines(ptx).flatMap(({ source }) => (source ? [source] : [])));
