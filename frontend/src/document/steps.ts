/** Edits of a document's steps: each takes the list as it is and gives a new one, with the path of what it made. */
import type { Draft, LaunchDraft, RepeatDraft, StepDraft } from './draft';
import { walkSteps } from './draft';
import { offered } from './load';
import { MAX_DEPTH, MAX_STEPS, nested, stepName } from './step-limits';

export interface Edited {
  steps: StepDraft[];
  /** Of the step that was added or moved. */
  path: string;
}

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const indices = (path: string): number[] => path.split('.').filter((part) => part !== 'steps').map(Number);
const pathOf = (places: readonly number[]): string => `steps.${places.join('.steps.')}`;

export function stepAt(steps: readonly StepDraft[], path: string): StepDraft | null {
  const [first, ...rest] = indices(path);
  const step = steps[first!] ?? null;
  if (!rest.length) return step;
  return step?.kind === 'repeat' ? stepAt(step.steps, pathOf(rest)) : null;
}

/** The list that holds the step at `path`; null where there is none. */
function listOf(steps: StepDraft[], places: readonly number[]): StepDraft[] | null {
  if (places.length === 1) return steps;
  const outer = stepAt(steps, pathOf(places.slice(0, -1)));
  return outer?.kind === 'repeat' ? outer.steps : null;
}

/** Puts a step at `path`, before what is there; at the end where its list is shorter, or is gone. */
export function putAt(steps: readonly StepDraft[], path: string, step: StepDraft): Edited {
  const next = copy([...steps]);
  const places = indices(path);
  const list = listOf(next, places);
  if (!list) return { steps: [...next, copy(step)], path: pathOf([next.length]) };
  const at = Math.min(places.at(-1)!, list.length);
  list.splice(at, 0, copy(step));
  return { steps: next, path: pathOf([...places.slice(0, -1), at]) };
}

/** The next place in the same list. */
function following(path: string): string {
  const places = indices(path);
  return pathOf([...places.slice(0, -1), places.at(-1)! + 1]);
}

export const putAfter = (steps: readonly StepDraft[], path: string, step: StepDraft): Edited => putAt(steps, following(path), step);

/** What a removal takes away: with the last step of a repeat the repeat itself. */
export function removal(steps: readonly StepDraft[], path: string): { path: string; step: StepDraft } {
  const places = indices(path);
  while (places.length > 1 && listOf(steps as StepDraft[], places)?.length === 1) places.pop();
  const whole = pathOf(places);
  return { path: whole, step: stepAt(steps, whole)! };
}

export function removeAt(steps: readonly StepDraft[], path: string): StepDraft[] {
  const next = copy([...steps]);
  const places = indices(removal(next, path).path);
  listOf(next, places)!.splice(places.at(-1)!, 1);
  return next;
}

/** A film is of one repeat, so a copy has none. */
export function duplicate(steps: readonly StepDraft[], path: string): Edited {
  const step = copy(stepAt(steps, path)!);
  for (const [, inner] of walkSteps([step])) if (inner.kind === 'repeat') delete inner.film;
  return putAfter(steps, path, step);
}

/** A repeat around the steps of one list from `path` through `count` of them. */
export function repeated(steps: readonly StepDraft[], path: string, count = 1): Edited {
  const next = copy([...steps]);
  const places = indices(path);
  const list = listOf(next, places)!;
  const inner = list.slice(places.at(-1)!, places.at(-1)! + count);
  list.splice(places.at(-1)!, inner.length, { kind: 'repeat', count: '10', steps: inner });
  return { steps: next, path };
}

/** How a move of one place goes: past a neighbour, into a repeat beside it, or out of its own. */
export type Way = 'past' | 'into' | 'out';

/** Where a move up or down leads; null at the end of the list. A repeat that can take no more is passed. */
export function wayOf(steps: readonly StepDraft[], path: string, by: -1 | 1): Way | null {
  const places = indices(path);
  const list = listOf(steps as StepDraft[], places)!;
  const beside = list[places.at(-1)! + by];
  if (!beside) {
    if (places.length === 1) return null;
    const full = listOf(steps as StepDraft[], places.slice(0, -1))!.length >= MAX_STEPS;
    return full && list.length > 1 ? null : 'out';
  }
  const fits = beside.kind === 'repeat' && places.length + nested([stepAt(steps, path)!]) <= MAX_DEPTH && beside.steps.length < MAX_STEPS;
  return fits ? 'into' : 'past';
}

/** One place up or down as the list is read; a repeat that this leaves empty goes. */
export function move(steps: readonly StepDraft[], path: string, by: -1 | 1): Edited {
  const way = wayOf(steps, path, by);
  const places = indices(path);
  const at = places.at(-1)!;
  const step = stepAt(steps, path);
  if (!way || !step) return { steps: [...steps], path };
  const outer = places.slice(0, -1);
  if (way === 'past') return putAt(spliced(steps, places), pathOf([...outer, at + by]), step);
  if (way === 'into') {
    const beside = stepAt(steps, pathOf([...outer, at + by])) as RepeatDraft;
    return putAt(spliced(steps, places), pathOf([...outer, by < 0 ? at - 1 : at, by < 0 ? beside.steps.length : 0]), step);
  }
  const alone = listOf(steps as StepDraft[], places)!.length === 1;
  const place = outer.at(-1)! + (by > 0 && !alone ? 1 : 0);
  return putAt(takenOut(steps, places), pathOf([...outer.slice(0, -1), place]), step);
}

function spliced(steps: readonly StepDraft[], places: readonly number[]): StepDraft[] {
  const next = copy([...steps]);
  listOf(next, places)!.splice(places.at(-1)!, 1);
  return next;
}

/** Without the step, and without its repeat where that held nothing else. */
function takenOut(steps: readonly StepDraft[], places: readonly number[]): StepDraft[] {
  const alone = listOf(steps as StepDraft[], places)!.length === 1;
  return spliced(steps, alone ? places.slice(0, -1) : places);
}

/** Why no more steps can stand beside the one at `path`, or null. */
export function crowded(steps: readonly StepDraft[], path: string): string | null {
  const full = listOf(steps as StepDraft[], indices(path))!.length >= MAX_STEPS;
  return full ? `At most ${MAX_STEPS} steps stand in one list.` : null;
}

/** Why the steps cannot be repeated, or null. */
export function tooDeep(steps: readonly StepDraft[], path: string, count = 1): string | null {
  const places = indices(path);
  const inner = listOf(steps as StepDraft[], places)!.slice(places.at(-1)!, places.at(-1)! + count);
  return places.length + nested(inner) > MAX_DEPTH ? `Repeats are nested at most ${MAX_DEPTH} deep.` : null;
}

/** Why the step cannot be removed, or null. */
export function needed(steps: readonly StepDraft[], path: string): string | null {
  const left = [...walkSteps(removeAt(steps, path))].some(([, step]) => step.kind === 'launch');
  return left ? null : `Step ${stepName(path)} holds the only launch, and a run has at least one.`;
}

/** Another launch, of `entry`, as `from` is configured; values come along by their names. */
export function launchLike(from: LaunchDraft, entry: string): LaunchDraft {
  const next = copy(from);
  if (entry === from.entry) return next;
  return { ...next, entry, attic: [...next.arguments.filter(({ parameter }) => parameter), ...next.attic], arguments: [] };
}

/** Two buffers alike in element type and shape, those that the launch uses first; null where there are none. */
export function likeBuffers(draft: Draft, launch: LaunchDraft | null): [string, string] | null {
  const names = new Set(offered(draft));
  const buffers = draft.buffers.filter(({ name }) => names.has(name));
  const used = new Set(launch?.arguments.filter(({ kind }) => kind === 'buffer').map(({ buffer }) => buffer));
  const ordered = [...buffers].sort((one, two) => Number(used.has(two.name)) - Number(used.has(one.name)));
  for (const [index, first] of ordered.entries()) {
    const second = ordered.slice(index + 1).find(({ dtype, shape }) => dtype === first.dtype && shape.trim() === first.shape.trim());
    if (second) return [first.name, second.name];
  }
  return null;
}
