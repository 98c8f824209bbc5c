/** What is being edited: a share payload in which everything typed is kept as text, valid or not. */
import type { BufferView, Check, DType, Instrument, Language, Role, Sweep } from '../api/types';

export type InitKind =
  | 'zeros' | 'full' | 'arange' | 'linspace' | 'uniform' | 'normal' | 'integers' | 'formula' | 'literals' | 'uninitialised'
  | 'upload';

export interface BufferDraft {
  /** Stable key of the list; not part of the payload. */
  key: number;
  name: string;
  dtype: DType;
  /**
   * Whether dtype and role follow the parameter: true until the user chooses, for those that agreed with it at first;
   * null until the parameter is known.
   */
  dtypeFollows: boolean | null;
  roleFollows: boolean | null;
  shape: string;
  role: Role;
  init: InitKind;
  /** Texts of every initialiser's fields, by `<kind>.<field>`, kept when another kind is chosen. */
  fields: Record<string, string>;
  view: Required<BufferView>;
  /** Came with the document although no step names it, so it is sent as it came. */
  kept: boolean;
}

export type ArgumentKind = 'buffer' | 'null' | 'scalar' | 'vector' | 'struct';

export interface ArgumentDraft {
  /** The kernel parameter that this is for; empty while the signature is not known. */
  parameter: string;
  /** Sent by name, or by position as the document had it. */
  named: boolean;
  kind: ArgumentKind;
  buffer: string;
  /** What the document says; without it the parameter decides. */
  dtype: DType | null;
  value: string;
  values: string[];
  hex: string;
}

export interface LaunchDraft {
  kind: 'launch';
  entry: string;
  /** Empty texts are extents left out. */
  block: [string, string, string];
  grid: [string, string, string];
  /** Name of the buffer that the grid covers; empty where the grid is typed. */
  cover: string;
  /** Elements of it that one thread stands for, as the document had it; a parameter that is known decides. */
  components?: number;
  shared: string;
  cooperative?: boolean;
  /** Blocks of a cluster; absent or empty where the launch gives none. */
  cluster?: [string, string, string];
  arguments: ArgumentDraft[];
  /** Arguments of parameters that the source had before, so that they come back with the parameter. */
  attic: ArgumentDraft[];
}

export interface RepeatDraft {
  kind: 'repeat';
  /** As typed. */
  count: string;
  steps: StepDraft[];
  /** The film of the run, where it is of this repeat; `every` as typed. */
  film?: { buffer: string; every: string } | null;
}

export type StepDraft =
  | LaunchDraft
  | RepeatDraft
  | { kind: 'swap'; first: string; second: string }
  | { kind: 'fill'; buffer: string; value: boolean | number | string };

export interface OptionsDraft {
  standard: 'c++11' | 'c++14' | 'c++17' | 'c++20';
  fastMath: boolean;
  fmad: boolean;
  defaultDevice: boolean;
  maxRegisters: string;
  defines: { name: string; value: string }[];
}

export const NO_OPTIONS: OptionsDraft = { standard: 'c++17', fastMath: false, fmad: true, defaultDevice: false, maxRegisters: '', defines: [] };

/** A NumPy reference, as typed. */
export interface ReferenceDraft {
  /** Its place among the checks of the request. */
  at: number;
  text: string;
  buffers: string[];
  relative: string;
  absolute: string;
}

export interface Draft {
  title: string;
  language: Language;
  source: string;
  fileName: string;
  options: OptionsDraft;
  architecture: string;
  device: string;
  buffers: BufferDraft[];
  steps: StepDraft[];
  /** Those that the page does not edit. */
  checks: Check[];
  /** Not sent while its text is empty. */
  reference: ReferenceDraft;
  instruments: Instrument[];
  /** The sweep that the document came with, or that was tried last. */
  sweep: Sweep | null;
}

export const INIT_FIELDS: Record<InitKind, { field: string; label: string; start: string }[]> = {
  zeros: [],
  full: [{ field: 'value', label: 'value', start: '1' }],
  arange: [
    { field: 'start', label: 'start', start: '0' },
    { field: 'step', label: 'step', start: '1' },
  ],
  linspace: [
    { field: 'start', label: 'from', start: '0' },
    { field: 'stop', label: 'to', start: '1' },
  ],
  uniform: [
    { field: 'low', label: 'low', start: '0' },
    { field: 'high', label: 'high', start: '1' },
    { field: 'seed', label: 'seed', start: '0' },
  ],
  normal: [
    { field: 'mean', label: 'mean', start: '0' },
    { field: 'deviation', label: 'deviation', start: '1' },
    { field: 'seed', label: 'seed', start: '0' },
  ],
  integers: [
    { field: 'low', label: 'low', start: '0' },
    { field: 'high', label: 'high (excluded)', start: '100' },
    { field: 'seed', label: 'seed', start: '0' },
  ],
  formula: [{ field: 'text', label: 'formula of i, x, y, nx, ny', start: 'i' }],
  literals: [{ field: 'values', label: 'values, row by row', start: '' }],
  uninitialised: [],
  upload: [{ field: 'digest', label: 'file', start: '' }],
};

export const INIT_LABELS: Record<InitKind, string> = {
  zeros: 'zeros',
  full: 'one value',
  arange: 'arange',
  linspace: 'linspace',
  uniform: 'uniform random',
  normal: 'normal random',
  integers: 'random integers',
  formula: 'formula',
  literals: 'written out',
  uninitialised: 'uninitialised',
  upload: 'file',
};

let keys = 0;
export const nextKey = (): number => ++keys;

/** The text of an initialiser's field, or what it starts with. */
export function fieldText(buffer: BufferDraft, field: string, kind: InitKind = buffer.init): string {
  const spec = INIT_FIELDS[kind].find((entry) => entry.field === field);
  return buffer.fields[`${kind}.${field}`] ?? spec?.start ?? '';
}

export const newReference = (at = 0): ReferenceDraft => ({ at, text: '', buffers: [], relative: '1e-5', absolute: '1e-8' });

export const newView = (): Required<BufferView> => ({ shown_as: 'auto', palette: 'viridis', logarithmic: false });

/** A launch by its path in the request, such as steps.1.steps.0; null where that is no launch. */
export function launchAt(steps: StepDraft[], path: string): LaunchDraft | null {
  const [, index, ...rest] = path.split('.');
  const step = steps[Number(index)];
  if (!step) return null;
  if (rest.length === 0) return step.kind === 'launch' ? step : null;
  return step.kind === 'repeat' ? launchAt(step.steps, rest.join('.')) : null;
}

/** Every step with its path, outer ones first. */
export function* walkSteps(steps: StepDraft[], path = 'steps'): Generator<[string, StepDraft]> {
  for (const [index, step] of steps.entries()) {
    yield [`${path}.${index}`, step];
    if (step.kind === 'repeat') yield* walkSteps(step.steps, `${path}.${index}.steps`);
  }
}

export function* launches(steps: StepDraft[]): Generator<[string, LaunchDraft]> {
  for (const [path, step] of walkSteps(steps)) if (step.kind === 'launch') yield [path, step];
}
