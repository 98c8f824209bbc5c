/** What a launch keeps when an unrelated source takes the place of its own, and gets back with it. */
import { type BufferDraft, type Draft, type LaunchDraft } from './draft';
import { readShape } from './shape';

/** A launch and its buffers' shapes as they stood under another kernel. */
export interface Former {
  launch: string;
  shapes: [string, string][];
}

/** What only a kernel of two dimensions says. */
const PLANE = /(?:Idx|Dim|index\(\)|tid)\.y\b|\bgrid\(2\)/;

const lines = (text: string): string[] => text.split('\n').map((line) => line.trim()).filter(({ length }) => length > 1);

/** Whether most lines of `source` are new: it was pasted in place of `from`, not edited. */
export function unrelated(from: string, source: string): boolean {
  const old = new Set(lines(from));
  const now = lines(source);
  return now.length > 2 && now.filter((line) => !old.has(line)).length > now.length / 2;
}

const used = (draft: Draft, launch: LaunchDraft): BufferDraft[] =>
  draft.buffers.filter(({ name }) => launch.cover === name || launch.arguments.some(({ kind, buffer }) => kind === 'buffer' && buffer === name));

export const remember = (draft: Draft, launch: LaunchDraft): Former => ({
  launch: JSON.stringify(launch),
  shapes: used(draft, launch).map(({ name, shape }) => [name, shape]),
});

export function restore(draft: Draft, launch: LaunchDraft, former: Former): void {
  Object.assign(launch, JSON.parse(former.launch));
  for (const [name, shape] of former.shapes) {
    const buffer = draft.buffers.find((candidate) => candidate.name === name);
    if (buffer) buffer.shape = shape;
  }
}

/** A kernel of one dimension gets no plane: shapes and block of an unrelated kernel are laid flat, its numbers go. */
export function layFlat(draft: Draft, launch: LaunchDraft, source: string): void {
  launch.attic = [];
  launch.arguments = launch.arguments.filter(({ kind, named, parameter }) => kind !== 'scalar' || !(named || parameter));
  if (PLANE.test(source)) return;
  for (const buffer of used(draft, launch)) {
    const read = readShape(buffer.shape);
    if (read.ok && read.value.length > 1 && buffer.init !== 'literals' && buffer.init !== 'upload') buffer.shape = '1024';
  }
  const threads = launch.block.reduce((product, extent) => product * (Number(extent) || 1), 1);
  if (launch.block[1] || launch.block[2]) launch.block = [String(Math.min(threads, 1024)), '', ''];
  if (!launch.cover) launch.grid = [launch.grid[0], '', ''];
}
