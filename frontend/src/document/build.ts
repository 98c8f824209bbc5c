/** A draft as a request, with every fault at its field's path in that request. */
import type {
  Argument,
  Check,
  DeviceBuffer,
  Entry,
  FieldProblem,
  Film,
  Initialiser,
  Language,
  Launch,
  NumberLike,
  RunRequest,
  SharePayload,
  Step,
} from '../api/types';
import { type ArgumentDraft, type BufferDraft, type Draft, fieldText, type LaunchDraft, NO_OPTIONS, type OptionsDraft, type StepDraft } from './draft';
import { coverComponents, entryOf } from './entries';
import { referenced } from './load';
import { guessNumber, type Read, readExtent, readFloat, readNumber, wholeNumber } from './numbers';
import { checkBytes, elements, readShape } from './shape';
import { integer } from '../views/format';
import { countLaunches, MAX_LAUNCHES } from './step-limits';

export interface Built {
  request: RunRequest;
  views: NonNullable<SharePayload['views']>;
  problems: FieldProblem[];
  /** Position of each draft buffer in the request, by its key. */
  bufferIndex: Map<number, number>;
}

/** Collects faults, and gives a stand-in where a value cannot be read: such a request is never sent. */
class Faults {
  problems: FieldProblem[] = [];

  take<T>(field: string, read: Read<T>, otherwise: T): T {
    if (read.ok) return read.value;
    this.problems.push({ field, message: read.message });
    return otherwise;
  }

  say(field: string, message: string): void {
    this.problems.push({ field, message });
  }
}

function seed(text: string): Read<number> {
  const value = wholeNumber(text);
  if (value === null || value < 0n || value >= 1n << 53n) {
    return { ok: false, message: 'A seed is a whole number from 0.' };
  }
  return { ok: true, value: Number(value) };
}

function finite(text: string): Read<number> {
  const read = readFloat(text);
  if (!read.ok) return read;
  return typeof read.value === 'number' ? { ok: true, value: read.value } : { ok: false, message: 'Give a finite number.' };
}

/** Whole numbers of random integers; the upper end may lie one past the dtype's range. */
function bound(text: string): Read<NumberLike> {
  const value = wholeNumber(text);
  return value === null ? { ok: false, message: `“${text.slice(0, 40)}” is not a whole number.` } : guessNumber(text);
}

function buildInit(buffer: BufferDraft, path: string, shape: number[] | null, faults: Faults): Initialiser {
  const text = (field: string) => fieldText(buffer, field);
  const number = (field: string) => faults.take(`${path}.${field}`, readNumber(text(field), buffer.dtype), 0);
  const inexact = (field: string) => faults.take(`${path}.${field}`, finite(text(field)), 0);
  const seeded = () => faults.take(`${path}.seed`, seed(text('seed')), 0);
  switch (buffer.init) {
    case 'zeros':
    case 'uninitialised':
      return { kind: buffer.init };
    case 'full':
      return { kind: 'full', value: number('value') };
    case 'arange':
      return { kind: 'arange', start: number('start'), step: number('step') };
    case 'linspace':
      return {
        kind: 'linspace',
        start: faults.take(`${path}.start`, guessNumber(text('start')), 0),
        stop: faults.take(`${path}.stop`, guessNumber(text('stop')), 0),
      };
    case 'uniform': {
      const [low, high] = [inexact('low'), inexact('high')];
      return { kind: 'uniform', low, high, seed: seeded() };
    }
    case 'normal': {
      const deviation = inexact('deviation');
      if (deviation < 0) faults.say(`${path}.deviation`, 'A deviation is at least 0.');
      return { kind: 'normal', mean: inexact('mean'), deviation, seed: seeded() };
    }
    case 'integers':
      return {
        kind: 'integers',
        low: faults.take(`${path}.low`, bound(text('low')), 0),
        high: faults.take(`${path}.high`, bound(text('high')), 1),
        seed: seeded(),
      };
    case 'formula':
      if (!text('text').trim()) faults.say(`${path}.text`, 'Give a formula, such as sin(x / nx).');
      return { kind: 'formula', text: text('text') };
    case 'literals': {
      const texts = text('values').split(/[\s,;]+/).filter(Boolean);
      if (shape && texts.length !== elements(shape)) {
        faults.say(`${path}.values`, `The shape has ${elements(shape)} elements, but ${texts.length} values are given.`);
      }
      return {
        kind: 'literals',
        values: texts.map((value, position) => {
          const read = readNumber(value, buffer.dtype);
          return faults.take(`${path}.values`, read.ok ? read : { ok: false, message: `Value ${position}: ${read.message}` }, 0);
        }),
      };
    }
    case 'upload':
      if (!text('digest')) faults.say(`${path}.digest`, 'Choose a file.');
      return { kind: 'upload', digest: text('digest') };
  }
}

function buildBuffer(buffer: BufferDraft, path: string, faults: Faults): DeviceBuffer {
  const read = readShape(buffer.shape);
  const shape = faults.take(`${path}.shape`, read, [1]);
  const tooLarge = read.ok ? checkBytes(shape, buffer.dtype) : null;
  if (tooLarge) faults.say(`${path}.shape`, tooLarge);
  const init = buildInit(buffer, `${path}.init`, read.ok ? shape : null, faults);
  return { name: buffer.name, dtype: buffer.dtype, shape, init, role: buffer.role };
}

function extents(texts: readonly string[], path: string, what: string, faults: Faults): number[] {
  const last = texts.findLastIndex((text) => text.trim() !== '');
  if (last < 0) {
    faults.say(`${path}.0`, `Give the ${what}.`);
    return [1];
  }
  return texts.slice(0, last + 1).map((text, axis) => {
    const name = `${what} ${'xyz'[axis]}`;
    return text.trim() === '' ? 1 : faults.take(`${path}.${axis}`, readExtent(text, name[0]!.toUpperCase() + name.slice(1)), 1);
  });
}

function buildArgument(argument: ArgumentDraft, entry: Entry | null, path: string, faults: Faults): Argument {
  const parameter = entry?.parameters?.find((candidate) => candidate.name === argument.parameter);
  const name = argument.named && argument.parameter ? { name: argument.parameter } : {};
  switch (argument.kind) {
    case 'buffer':
      if (!argument.buffer) faults.say(`${path}.buffer`, 'Choose a buffer.');
      return { kind: 'buffer', ...name, buffer: argument.buffer };
    case 'null':
      return { kind: 'null', ...name };
    case 'scalar': {
      // A kernel that is compiled for its arguments takes the type of the number, not the number its last type.
      const dtype = argument.dtype ?? (entry?.types ? null : parameter?.dtype);
      const read = dtype ? readNumber(argument.value, dtype) : guessNumber(argument.value);
      const value = faults.take(`${path}.value`, read, 0);
      return { kind: 'scalar', ...name, ...(argument.dtype ? { dtype: argument.dtype } : {}), value };
    }
    case 'vector': {
      const dtype = argument.dtype ?? parameter?.dtype ?? 'float32';
      const values = argument.values.map((text, index) => faults.take(`${path}.values.${index}`, readNumber(text, dtype), 0));
      return { kind: 'vector', ...name, dtype, values };
    }
    case 'struct': {
      const hex = argument.hex.replace(/\s+/g, '');
      if (!/^([0-9a-fA-F]{2})*$/.test(hex)) faults.say(`${path}.hex`, 'Give the bytes in hexadecimal, two digits each.');
      else if (parameter && hex.length !== 2 * parameter.bytes) {
        faults.say(`${path}.hex`, `${parameter.type} has ${parameter.bytes} bytes; ${hex.length / 2} are given.`);
      }
      return { kind: 'struct', ...name, hex };
    }
  }
}

function buildLaunch(launch: LaunchDraft, entries: readonly Entry[], path: string, faults: Faults): Launch {
  const entry = entryOf(launch.entry, entries);
  const grid: Launch['config']['grid'] = launch.cover
    ? { kind: 'cover', buffer: launch.cover, components: coverComponents(launch, entry) }
    : extents(launch.grid, `${path}.config.grid`, 'grid', faults);
  return {
    kind: 'launch',
    entry: launch.entry,
    config: {
      grid,
      block: extents(launch.block, `${path}.config.block`, 'block', faults),
      dynamic_shared_bytes: launch.shared.trim()
        ? faults.take(`${path}.config.dynamic_shared_bytes`, readExtent(launch.shared, 'Dynamic shared memory'), 0)
        : 0,
      ...(launch.cooperative ? { cooperative: true } : {}),
      ...(launch.cluster?.some((text) => text.trim()) ? { cluster: extents(launch.cluster, `${path}.config.cluster`, 'cluster', faults) } : {}),
    },
    arguments: launch.arguments.map((argument, index) => buildArgument(argument, entry, `${path}.arguments.${index}`, faults)),
  };
}

function buildStep(step: StepDraft, draft: Draft, entries: readonly Entry[], path: string, faults: Faults): Step {
  if (step.kind === 'launch') return buildLaunch(step, entries, path, faults);
  if (step.kind === 'fill') return { ...step, value: faults.take(`${path}.value`, fillValue(step.value, draft, step.buffer), 0) };
  if (step.kind === 'swap') {
    if (step.first === step.second) faults.say(`${path}.second`, 'Choose two different buffers.');
    return { ...step };
  }
  const steps = step.steps.map((inner, index) => buildStep(inner, draft, entries, `${path}.steps.${index}`, faults));
  // A draft of an older page has a number.
  const count = faults.take(`${path}.count`, readExtent(String(step.count), 'The number of rounds', 1), 1);
  if (count > MAX_LAUNCHES) faults.say(`${path}.count`, `A repeat has at most ${integer(MAX_LAUNCHES)} rounds.`);
  return { kind: 'repeat', count, steps };
}

/** A value that came with the document is sent as it came. */
function fillValue(value: NumberLike, { buffers }: Draft, name: string): Read<NumberLike> {
  if (typeof value !== 'string') return { ok: true, value };
  const buffer = buffers.find((candidate) => candidate.name === name);
  return buffer ? readNumber(value, buffer.dtype) : guessNumber(value);
}

/** Launches beyond what a run may have are told at the repeat that has most of them. */
function checkLaunches(steps: readonly StepDraft[], faults: Faults): void {
  const total = countLaunches(steps);
  if (total <= MAX_LAUNCHES) return;
  const each = steps.map((step) => countLaunches([step]));
  const most = each.indexOf(Math.max(...each));
  faults.say(`steps.${most}.count`, `The steps amount to ${integer(total)} launches; a run has at most ${integer(MAX_LAUNCHES)}.`);
}

/** Of the first repeat that has one, at the top: the others' are kept for when they are chosen. */
function buildFilm(steps: readonly StepDraft[], faults: Faults): { film?: Film } {
  const at = steps.findIndex((step) => step.kind === 'repeat' && step.film);
  const step = steps[at];
  if (step?.kind !== 'repeat' || !step.film) return {};
  const { buffer, every } = step.film;
  const film = { buffer, every: faults.take('film.every', readExtent(every, 'Rounds between two frames', 1), 1) };
  const several = steps.some((other, index) => other.kind === 'repeat' && index !== at);
  return { film: several ? { ...film, step: `steps.${at}` } : film };
}

/** The options that the language has; the others are kept for when it is CUDA C++ again. */
export function knownOptions({ language, options }: Draft): OptionsDraft {
  if (language === 'numba') return { ...options, standard: 'c++17', defaultDevice: false, defines: [] };
  return language === 'ptx' ? { ...NO_OPTIONS, maxRegisters: options.maxRegisters } : options;
}

function buildOptions(draft: Draft, faults: Faults): NonNullable<RunRequest['options']> {
  const { standard, fastMath, fmad, defaultDevice, maxRegisters, defines } = knownOptions(draft);
  const limit = maxRegisters.trim() ? faults.take('options.max_registers', readExtent(maxRegisters, 'Registers a thread', 16), 16) : null;
  if (limit !== null && limit > 255) faults.say('options.max_registers', 'Registers a thread are at most 255.');
  const named = defines.filter(({ name, value }) => name.trim() || (value && value !== '1'));
  for (const [index, { name }] of named.entries()) {
    if (!/^[A-Za-z_]\w{0,63}$/.test(name)) faults.say(`options.defines.${index}.name`, 'A macro needs a C identifier as its name.');
  }
  return { standard, fast_math: fastMath, fmad, default_device: defaultDevice ?? false, max_registers: limit, defines: named };
}

function tolerance(text: string): Read<number> {
  const read = finite(text);
  return read.ok && read.value < 0 ? { ok: false, message: 'A tolerance is at least 0.' } : read;
}

function buildChecks(draft: Draft, names: ReadonlySet<string>, faults: Faults): Check[] {
  const { at, text, buffers, relative, absolute } = draft.reference;
  if (!text.trim()) return draft.checks;
  const path = `checks.${at}`;
  // A buffer that the kernel has no more is not checked; it stays chosen, and comes back with its parameter.
  const standing = buffers.filter((name) => names.has(name) || draft.buffers.some((buffer) => buffer.kept && buffer.name === name));
  if (buffers.length && !standing.length) return draft.checks;
  if (!buffers.length) faults.say(`${path}.buffers`, 'Choose the buffers that the reference gives.');
  return draft.checks.toSpliced(at, 0, {
    kind: 'numpy',
    text,
    buffers: standing,
    relative: faults.take(`${path}.relative`, tolerance(relative), 0),
    absolute: faults.take(`${path}.absolute`, tolerance(absolute), 0),
  });
}

const A_KERNEL: Record<Language, string> = { 'cuda-c++': 'a __global__ function', ptx: 'an .entry', numba: 'a function with @cuda.jit' };

/** The request of a draft. Where `problems` is not empty it must not be sent. */
export function build(draft: Draft, entries: readonly Entry[] = []): Built {
  const faults = new Faults();
  const names = referenced(draft);
  const sent = draft.buffers.filter((buffer) => buffer.kept || names.has(buffer.name));
  if (!draft.source.trim()) faults.say('source.text', `The source is empty: write ${A_KERNEL[draft.language ?? 'cuda-c++']}.`);
  const request: RunRequest = {
    schema_version: 1,
    source: { language: draft.language ?? 'cuda-c++', text: draft.source, file_name: draft.fileName },
    options: buildOptions(draft, faults),
    architecture: draft.architecture,
    buffers: sent.map((buffer, index) => buildBuffer(buffer, `buffers.${index}`, faults)),
    steps: draft.steps.map((step, index) => buildStep(step, draft, entries, `steps.${index}`, faults)),
    checks: buildChecks(draft, names, faults),
    device: draft.device,
    instruments: draft.instruments,
    ...buildFilm(draft.steps, faults),
  };
  checkLaunches(draft.steps, faults);
  return {
    request,
    views: Object.fromEntries(sent.filter((buffer) => !plainView(buffer)).map((buffer) => [buffer.name, { ...buffer.view }])),
    problems: faults.problems,
    bufferIndex: new Map(sent.map((buffer, index) => [buffer.key, index])),
  };
}

const plainView = ({ view }: BufferDraft): boolean =>
  view.shown_as === 'auto' && view.palette === 'viridis' && !view.logarithmic;
