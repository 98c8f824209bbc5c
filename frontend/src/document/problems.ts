/** Faults by the path of their field, from the form, the service and the run alike. */
import type { FieldProblem, RunRequest } from '../api/types';

/** What a path such as steps.0.config.block leads to; undefined where it leads nowhere. */
export function valueAt(root: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], root);
}

/** A fault that the service told of one request; it is shown until what it was told of changes. */
export interface Reported extends FieldProblem {
  value: string;
}

/** A buffer's first values depend on its dtype and shape, and extents on each other. */
const WHOLE = /^(buffers\.\d+|(?:steps\.\d+\.)+config)(?=\.)/;

/** What a fault was told of: the value at its field with what belongs to it, and the kernel that it was told for. */
const subject = (field: string, request: Pick<RunRequest, 'source' | 'options'>): string =>
  JSON.stringify([valueAt(request, WHOLE.exec(field)?.[0] ?? field), request.source, request.options]);

export function report(problems: readonly FieldProblem[], request: RunRequest): Reported[] {
  return problems.map((problem) => ({ ...problem, value: subject(problem.field, request) }));
}

export const stillStands = (problem: Reported, request: RunRequest): boolean => subject(problem.field, request) === problem.value;

/** The first fault at the path, or below it. */
export function faultAt(problems: readonly FieldProblem[], path: string): string | null {
  return problems.find(({ field }) => field === path || field.startsWith(`${path}.`))?.message ?? null;
}

/** The first fault at exactly one of the paths. */
export function faultExactly(problems: readonly FieldProblem[], ...paths: string[]): string | null {
  return problems.find(({ field }) => paths.includes(field))?.message ?? null;
}
