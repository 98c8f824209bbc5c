/** Fits a launch's arguments to its kernel's parameters; what was typed survives by name. */
import type { DType, Entry, Parameter } from '../api/types';
import { type ArgumentDraft, type BufferDraft, type Draft, type LaunchDraft, newView, nextKey, walkSteps } from './draft';
import { blankArgument } from './load';
import { guessed } from './python-parameters';
import { elements, readShape } from './shape';

const FITS: Record<Parameter['kind'], readonly ArgumentDraft['kind'][]> = {
  pointer: ['buffer', 'null'],
  scalar: ['scalar'],
  vector: ['vector'],
  struct: ['struct'],
  unknown: ['struct', 'scalar', 'buffer', 'null'],
};

/** Names that mean how many elements there are. */
const COUNT = /^(n|num\w*|count|len|length|size|total|elements|numel)$/i;

/** How many whole numbers from 0 a narrow dtype holds, each exactly; 8 bits are fewer than a new buffer's elements. */
const HELD: Partial<Record<DType, number>> = { bool: 2, int8: 128, uint8: 256, int16: 32_768, uint16: 65_536, float16: 2048, bfloat16: 256 };

/** Values that a kernel can read, and that the dtype holds: 0, 1, 2 and so on where they do not run out of it. */
function freshValues(parameter: Parameter, dtype: DType, shape: string): Pick<BufferDraft, 'init' | 'fields'> {
  // Bytes of a struct are no numbers: zeros are what all its members can be.
  if (!parameter.const || (parameter.kind === 'pointer' && !parameter.dtype)) return { init: 'zeros', fields: {} };
  const read = readShape(shape);
  const held = HELD[dtype] ?? Infinity;
  if (!read.ok || elements(read.value) <= held) return { init: 'arange', fields: {} };
  return dtype.includes('float') ? { init: 'uniform', fields: {} } : { init: 'integers', fields: { 'integers.high': String(held) } };
}

/** Buffers a new pointer starts with: a shape that the document's other buffers have, else 1024 elements. */
function newBuffer(parameter: Parameter, name: string, buffers: readonly BufferDraft[]): BufferDraft {
  const components = parameter.components ?? 1;
  const shape = components > 1 ? `1024 × ${components}` : (buffers.at(-1)?.shape ?? '1024');
  const dtype = parameter.dtype ?? (parameter.kind === 'unknown' ? 'float32' : 'uint8');
  return {
    key: nextKey(),
    name,
    dtype,
    dtypeFollows: true,
    roleFollows: true,
    shape,
    role: parameter.const ? 'in' : 'inout',
    ...freshValues(parameter, dtype, shape),
    view: newView(),
    kept: false,
  };
}

/** An array for a number that becomes one, where the kernel is compiled for what it gets. */
export const bufferFor = (name: string, buffers: readonly BufferDraft[]): BufferDraft =>
  newBuffer({ name, type: '', kind: 'unknown', bytes: 0, offset: 0 }, name, buffers);

/** A count starts with the elements that new buffers have: with 0 a kernel that was just pasted would do nothing. */
function freshScalar({ name, dtype }: Parameter, buffers: readonly BufferDraft[]): string {
  if (dtype === 'bool') return 'false';
  const shape = readShape(buffers.at(-1)?.shape ?? '1024');
  return COUNT.test(name) && (!dtype || dtype.includes('int')) && shape.ok ? String(elements(shape.value)) : '0';
}

function freshArgument(parameter: Parameter, buffers: readonly BufferDraft[]): ArgumentDraft {
  const argument = blankArgument(parameter.name);
  switch (parameter.kind) {
    case 'pointer':
      return { ...argument, kind: 'buffer', buffer: parameter.name };
    case 'vector':
      return { ...argument, kind: 'vector', dtype: parameter.dtype ?? null, values: Array<string>(parameter.components ?? 1).fill('0') };
    case 'scalar':
      return { ...argument, kind: 'scalar', value: freshScalar(parameter, buffers) };
    case 'unknown':
      return { ...argument, kind: 'struct', hex: '00'.repeat(parameter.bytes) };
    case 'struct':
      return { ...argument, kind: 'struct', hex: '00'.repeat(parameter.bytes) };
  }
}

/** The argument for a changed parameter: what still fits is kept. */
function adapt(argument: ArgumentDraft, parameter: Parameter, buffers: readonly BufferDraft[]): ArgumentDraft {
  if (!FITS[parameter.kind].includes(argument.kind)) {
    return { ...freshArgument(parameter, buffers), named: argument.named };
  }
  const adapted = { ...argument, parameter: parameter.name };
  if (argument.kind === 'vector') {
    const count = parameter.components ?? 1;
    adapted.values = Array.from({ length: count }, (_, index) => argument.values[index] ?? '0');
    adapted.dtype = parameter.dtype ?? argument.dtype;
  }
  if (argument.kind === 'scalar' && argument.dtype && parameter.dtype && argument.dtype !== parameter.dtype) adapted.dtype = null;
  return adapted;
}

const same = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

/** Whether another step can write the buffer, so that a pointer to const does not make it an input: an own launch, or a swap. */
const shared = (draft: Draft, launch: LaunchDraft, name: string): boolean =>
  [...walkSteps(draft.steps)].some(([, step]) =>
    step.kind === 'swap' ? step.first === name || step.second === name : step.kind === 'launch' && step !== launch && step.arguments.some(({ buffer }) => buffer === name),
  );

/** Changes `launch` and `draft.buffers` in place; true where anything changed. */
export function reconcile(draft: Draft, launch: LaunchDraft, entry: Entry): boolean {
  // A kernel that is compiled for its arguments fits whatever they are; until then it says their names alone.
  const fitting = Boolean(entry.types) || entry.compiled === false;
  const parameters = (entry.parameters ?? []).map((parameter) => (entry.compiled === false ? guessed(parameter, draft.source) : parameter));
  const pool = [...launch.arguments, ...launch.attic];
  const positional = launch.arguments.some((argument) => !argument.named && !argument.parameter);
  const used = new Set<ArgumentDraft>();
  const next = parameters.map((parameter, index) => {
    const byName = pool.find((argument) => argument.parameter === parameter.name && !used.has(argument));
    const known = positional ? (launch.arguments[index] ?? byName) : byName;
    if (!known) return freshArgument(parameter, draft.buffers);
    used.add(known);
    const free = fitting && (known.kind === 'scalar' || known.kind === 'buffer');
    return free ? { ...known, parameter: parameter.name } : adapt(known, parameter, draft.buffers);
  });
  const attic = pool.filter((argument) => !used.has(argument) && argument.parameter);
  let changed = !same(next, launch.arguments) || !same(attic, launch.attic);
  if (changed) {
    launch.arguments = next;
    launch.attic = attic;
  }
  const pointers = next.filter((argument) => argument.kind === 'buffer');
  const written = pointers.find(({ parameter }) => !parameters.find(({ name }) => name === parameter)?.const);
  const leads = (argument: ArgumentDraft) => argument.buffer === launch.cover;
  if (launch.cover && attic.some(leads) && !pointers.some(leads)) {
    // The grid covered a buffer that the kernel no longer has: what it writes now is the nearest thing.
    launch.cover = (written ?? pointers[0])?.buffer ?? '';
    changed = true;
  }
  for (const [index, parameter] of parameters.entries()) {
    const argument = next[index]!;
    if (argument.kind !== 'buffer') continue;
    const buffer = draft.buffers.find((candidate) => candidate.name === argument.buffer);
    if (!buffer) {
      draft.buffers.push(newBuffer(parameter, argument.buffer, draft.buffers));
      changed = true;
      continue;
    }
    if (fitting) buffer.dtypeFollows = false;
    const dtype = parameter.dtype ?? buffer.dtype;
    const role = !parameter.const ? 'inout' : shared(draft, launch, buffer.name) ? buffer.role : 'in';
    buffer.dtypeFollows ??= buffer.dtype === parameter.dtype;
    buffer.roleFollows ??= buffer.role === role;
    if (buffer.dtypeFollows && buffer.dtype !== dtype) [buffer.dtype, changed] = [dtype, true];
    if (buffer.roleFollows && buffer.role !== role) {
      [buffer.role, changed] = [role, true];
      if (role === 'in' && written && buffer.name === launch.cover) launch.cover = written.buffer;
    }
  }
  return changed;
}
