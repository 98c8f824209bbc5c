/** What a run's steps may amount to: the limits of protocol/launch.py. */
import type { StepDraft } from './draft';

export const MAX_LAUNCHES = 10_000;
export const MAX_STEPS = 64;
export const MAX_DEPTH = 3;

/** A step as the page numbers it: 2.1 is the first inside the second. */
export const stepName = (path: string): string =>
  path.split('.').filter((part) => part !== 'steps').map((part) => Number(part) + 1).join('.');

/** Repeats within each other. */
export const nested = (steps: readonly StepDraft[]): number =>
  Math.max(0, ...steps.map((step) => (step.kind === 'repeat' ? 1 + nested(step.steps) : 0)));

/** Launches that the steps amount to. */
export const countLaunches = (steps: readonly StepDraft[]): number =>
  steps.reduce((total, step) => total + (step.kind === 'launch' ? 1 : step.kind === 'repeat' ? (Number(step.count) || 0) * countLaunches(step.steps) : 0), 0);
