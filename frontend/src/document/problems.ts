/** Faults by the path of their field, from the form, the service and the run alike. */
import type { FieldProblem } from '../api/types';

/** What a path such as steps.0.config.block leads to; undefined where it leads nowhere. */
export function valueAt(root: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], root);
}

/** A fault that the service told of one request; it is shown until the value there changes. */
export interface Reported extends FieldProblem {
  value: string;
}

export function report(problems: readonly FieldProblem[], request: unknown): Reported[] {
  return problems.map((problem) => ({ ...problem, value: JSON.stringify(valueAt(request, problem.field)) ?? '' }));
}

export const stillStands = (problem: Reported, request: unknown): boolean =>
  (JSON.stringify(valueAt(request, problem.field)) ?? '') === problem.value;

/** The first fault at the path, or below it. */
export function faultAt(problems: readonly FieldProblem[], path: string): string | null {
  return problems.find(({ field }) => field === path || field.startsWith(`${path}.`))?.message ?? null;
}

/** The first fault at exactly one of the paths. */
export function faultExactly(problems: readonly FieldProblem[], ...paths: string[]): string | null {
  return problems.find(({ field }) => paths.includes(field))?.message ?? null;
}
