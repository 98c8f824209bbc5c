/** A finding's fix, made in the form or in the source. */
import type { DType, Fix, LaunchConfig, Span } from '../api/types';
import { columnOffset } from '../document/columns';
import { type BufferDraft, type Draft, launchAt, type LaunchDraft } from '../document/draft';

const FIELD = /^(steps(?:\.\d+)(?:\.steps\.\d+)*)\.(config|arguments)(?:\.(.+))?$/;

const triple = (extents: readonly number[]): [string, string, string] => [0, 1, 2].map((axis) => (extents[axis] === undefined ? '' : String(extents[axis]))) as [string, string, string];

function setGrid(launch: LaunchDraft, grid: LaunchConfig['grid']): void {
  if (Array.isArray(grid)) {
    launch.grid = triple(grid);
    launch.cover = '';
  } else launch.cover = grid.buffer;
}

/** Puts the value of a request's field into the draft; false where the form has no such field. `bufferAt`: by its place in the request. */
export function setField(draft: Draft, { field, value }: Fix, bufferAt: (index: number) => BufferDraft | undefined): boolean {
  const buffer = /^buffers\.(\d+)\.dtype$/.exec(field ?? '');
  if (buffer) {
    const target = bufferAt(Number(buffer[1]));
    if (!target) return false;
    target.dtype = value as DType;
    target.dtypeFollows = false;
    return true;
  }
  const [, path, part, rest] = FIELD.exec(field ?? '') ?? [];
  const launch = path ? launchAt(draft.steps, path) : null;
  if (!launch) return false;
  if (part === 'arguments') {
    const argument = launch.arguments[Number(rest?.split('.')[0])];
    if (!argument || !rest?.endsWith('.value')) return false;
    argument.value = String(value);
    return true;
  }
  const config = (rest ? { [rest]: value } : value) as Partial<LaunchConfig>;
  if (config.block) launch.block = triple(config.block);
  if (config.grid) setGrid(launch, config.grid);
  if (config.dynamic_shared_bytes != null) launch.shared = String(config.dynamic_shared_bytes);
  return true;
}

/** UTF-16 offsets of a span in a text; null where its lines are gone. */
export function offsets(text: string, span: Span): { from: number; to: number } | null {
  const lines = text.split('\n');
  const at = (line: number, column: number): number | null => {
    const found = lines[line - 1];
    if (found === undefined) return null;
    return lines.slice(0, line - 1).reduce((sum, before) => sum + before.length + 1, 0) + columnOffset(found, column);
  };
  const from = at(span.line, span.column ?? 1);
  const to = at(span.end_line ?? span.line, span.end_column ?? span.column ?? 1);
  return from === null || to === null ? null : { from, to };
}
