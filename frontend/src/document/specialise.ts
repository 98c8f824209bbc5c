/** The argument types of a run's launches, for a language that compiles for them: as protocol/specialise.py has it. */
import type { Argument, ArgumentType, DeviceBuffer, DType, RunRequest, ScalarArgument, Specialisation, Step } from '../api/types';

const WHOLE = /^\s*[+-]?(0x[0-9a-f_]+|0b[01_]+|0o[0-7_]+|[0-9][0-9_]*)\s*$/i;

function pythonType(value: ScalarArgument['value']): DType {
  if (typeof value === 'boolean' || (typeof value === 'string' && /^\s*(true|false)\s*$/i.test(value))) return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  if (WHOLE.test(value)) return 'int64';
  return /j\s*$/i.test(value) ? 'complex128' : 'float64';
}

function typeOf(argument: Argument, buffers: readonly DeviceBuffer[]): ArgumentType {
  const name = argument.name ?? null;
  if (argument.kind === 'buffer') {
    const buffer = buffers.find((candidate) => candidate.name === argument.buffer);
    if (buffer) return { name, kind: 'array', dtype: buffer.dtype, dimensions: buffer.shape.length };
  }
  if (argument.kind === 'scalar') return { name, kind: 'number', dtype: argument.dtype ?? pythonType(argument.value) };
  return { name, kind: 'other' };
}

const launched = (steps: readonly Step[]): Extract<Step, { kind: 'launch' }>[] =>
  steps.flatMap((step) => (step.kind === 'launch' ? [step] : step.kind === 'repeat' ? launched(step.steps) : []));

/** One for each kernel and signature that the steps launch, at most 16; none where a launch has no arguments yet. */
export function specialisations({ steps, buffers = [] }: RunRequest): Specialisation[] {
  const all = launched(steps).map(({ entry = '', arguments: given = [] }) => ({ entry, arguments: given.map((item) => typeOf(item, buffers)) }));
  const distinct = all.filter((item, index) => all.findIndex((other) => JSON.stringify(other) === JSON.stringify(item)) === index);
  return distinct.filter((item) => item.arguments.length > 0).slice(0, 16);
}
