/** A payload as a draft. */
import type { Argument, Check, DeviceBuffer, NumpyReference, RunRequest, SharePayload, Step } from '../api/types';
import {
  type ArgumentDraft,
  type BufferDraft,
  type Draft,
  type LaunchDraft,
  launches,
  newReference,
  newView,
  nextKey,
  type ReferenceDraft,
  type StepDraft,
  walkSteps,
} from './draft';
import { writeNumber } from './numbers';
import { writeShape } from './shape';

const triple = (extents: readonly number[]): [string, string, string] => {
  const texts = extents.map(String);
  return [texts[0] ?? '', texts[1] ?? '', texts[2] ?? ''];
};

export function blankArgument(parameter: string): ArgumentDraft {
  return { parameter, named: true, kind: 'scalar', buffer: '', dtype: null, value: '', values: [], hex: '' };
}

function loadArgument(argument: Argument): ArgumentDraft {
  const draft = { ...blankArgument(argument.name ?? ''), named: Boolean(argument.name), kind: argument.kind };
  switch (argument.kind) {
    case 'buffer':
      return { ...draft, buffer: argument.buffer };
    case 'scalar':
      return { ...draft, dtype: argument.dtype ?? null, value: writeNumber(argument.value) };
    case 'vector':
      return { ...draft, dtype: argument.dtype, values: argument.values.map(writeNumber) };
    case 'struct':
      return { ...draft, hex: argument.hex };
    case 'null':
      return draft;
  }
}

function loadStep(step: Step): StepDraft {
  switch (step.kind) {
    case 'repeat':
      return { kind: 'repeat', count: String(step.count), steps: step.steps.map(loadStep) };
    case 'swap':
    case 'fill':
      return { ...step };
    case 'launch': {
      const { grid, block, dynamic_shared_bytes: shared = 0, cooperative, cluster } = step.config;
      const covers = !Array.isArray(grid);
      const launch: LaunchDraft = {
        kind: 'launch',
        entry: step.entry ?? '',
        block: triple(block),
        grid: covers ? ['1', '', ''] : triple(grid),
        cover: covers ? grid.buffer : '',
        components: covers ? (grid.components ?? 1) : 1,
        shared: String(shared),
        ...(cooperative ? { cooperative } : {}),
        ...(cluster ? { cluster: triple(cluster) } : {}),
        arguments: (step.arguments ?? []).map(loadArgument),
        attic: [],
      };
      return launch;
    }
  }
}

function loadFields(buffer: DeviceBuffer): Record<string, string> {
  const { kind = 'zeros', ...fields } = buffer.init ?? { kind: 'zeros' as const };
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [
      `${kind}.${field}`,
      Array.isArray(value) ? value.map(writeNumber).join(', ') : writeNumber(value as never),
    ]),
  );
}

/** Names of the buffers that steps and checks speak of. */
export function referenced(draft: Pick<Draft, 'steps' | 'checks'>): Set<string> {
  const names = new Set(draft.checks.flatMap((check) => ('buffer' in check ? [check.buffer] : check.buffers)));
  for (const [, step] of walkSteps(draft.steps)) {
    if (step.kind === 'swap') names.add(step.first).add(step.second);
    else if (step.kind === 'fill') names.add(step.buffer);
    else if (step.kind === 'launch') {
      if (step.cover) names.add(step.cover);
      for (const argument of step.arguments) if (argument.kind === 'buffer') names.add(argument.buffer);
    }
  }
  return names;
}

/** Names of the buffers to choose from: those of a parameter that the source no longer has are left out. */
export function offered(draft: Draft): string[] {
  const names = referenced(draft);
  for (const [, { arguments: list }] of launches(draft.steps)) {
    // Its own buffer stays in reach while a pointer leads elsewhere.
    for (const { kind, parameter } of list) if (kind === 'buffer' || kind === 'null') names.add(parameter);
  }
  return draft.buffers.filter(({ name, kept }) => kept || names.has(name)).map(({ name }) => name);
}

/** The first NumPy reference is edited on the page; every other check stays as it came. */
function loadChecks(checks: readonly Check[]): { checks: Check[]; reference: ReferenceDraft } {
  const at = checks.findIndex(({ kind }) => kind === 'numpy');
  if (at < 0) return { checks: [...checks], reference: newReference(checks.length) };
  const { text, buffers, relative = 1e-5, absolute = 1e-8 } = checks[at] as NumpyReference;
  const reference = { at, text, buffers: [...buffers], relative: writeNumber(relative), absolute: writeNumber(absolute) };
  return { checks: checks.toSpliced(at, 1), reference };
}

function loadSteps({ steps, film }: RunRequest): StepDraft[] {
  const loaded = steps.map(loadStep);
  const filmed = film && loaded.find((step, index) => step.kind === 'repeat' && (film.step ?? `steps.${index}`) === `steps.${index}`);
  if (filmed?.kind === 'repeat') filmed.film = { buffer: film!.buffer, every: String(film!.every ?? 1) };
  return loaded;
}

export function loadPayload(payload: SharePayload): Draft {
  const { request } = payload;
  const options = request.options ?? {};
  const draft: Draft = {
    title: payload.title ?? '',
    language: request.source.language ?? 'cuda-c++',
    source: request.source.text,
    fileName: request.source.file_name ?? 'kernel.cu',
    options: {
      standard: options.standard ?? 'c++17',
      fastMath: options.fast_math ?? false,
      fmad: options.fmad ?? true,
      defaultDevice: options.default_device ?? false,
      maxRegisters: options.max_registers == null ? '' : String(options.max_registers),
      defines: (options.defines ?? []).map(({ name, value = '1' }) => ({ name, value })),
    },
    architecture: request.architecture ?? 'sm_90',
    device: request.device ?? 'auto',
    buffers: [],
    steps: loadSteps(request),
    ...loadChecks(request.checks ?? []),
    instruments: [...(request.instruments ?? [])],
    sweep: request.sweep ?? null,
  };
  const used = referenced(draft);
  draft.buffers = (request.buffers ?? []).map((buffer): BufferDraft => ({
    key: nextKey(),
    name: buffer.name,
    dtype: buffer.dtype,
    dtypeFollows: null,
    roleFollows: null,
    shape: writeShape(buffer.shape),
    role: buffer.role ?? 'inout',
    init: buffer.init?.kind ?? 'zeros',
    fields: loadFields(buffer),
    view: { ...newView(), ...payload.views?.[buffer.name] },
    kept: !used.has(buffer.name),
  }));
  return draft;
}
