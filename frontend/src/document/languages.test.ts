import { expect, test } from 'vitest';
import type { Entry, Parameter } from '../api/types';
import { build } from './build';
import type { LaunchDraft } from './draft';
import { kernelsGone } from './entries';
import { loadPayload } from './load';
import { guessed } from './python-parameters';
import { reconcile } from './reconcile';

const PYTHON = `from numba import cuda
@cuda.jit
def k(a, b, total, n, factor, shape):
    i = cuda.grid(1)
    if i < b.size and a[i] == 1:
        b[i] += a[i] * factor
        cuda.atomic.add(total, 0, n)
`;

test.each([
  ['a', 'pointer', true],
  ['b', 'pointer', false],
  ['total', 'pointer', false],
  ['n', 'scalar', undefined],
  ['factor', 'scalar', undefined],
  ['shape', 'scalar', undefined],
])('the text of a Python kernel tells that %s is a %s', (name, kind, constant) => {
  const parameter: Parameter = { name, type: '', kind: 'unknown', bytes: 0, offset: 0 };
  expect(guessed(parameter, PYTHON)).toMatchObject({ kind, ...(constant === undefined ? {} : { const: constant }) });
});

/** A Numba kernel of one number and one array, compiled for float64 and float32, or not yet. */
const numba = (compiled: boolean): Entry => ({
  name: 'k',
  display: 'k',
  resources: { registers: 0 },
  compiled,
  ...(compiled ? { types: [{ kind: 'number', dtype: 'int64' }, { kind: 'array', dtype: 'float32', dimensions: 1 }] } : {}),
  parameters: [
    { name: 'factor', type: compiled ? 'int64' : '', kind: compiled ? 'scalar' : 'unknown', ...(compiled ? { dtype: 'int64' as const } : {}), bytes: compiled ? 8 : 0, offset: 0 },
    { name: 'b', type: compiled ? 'float32[:]' : '', kind: compiled ? 'pointer' : 'unknown', ...(compiled ? { dtype: 'float32' as const, dimensions: 1 } : {}), bytes: compiled ? 56 : 0, offset: 8 },
  ],
});

test('what the user makes of a Python argument stands, whatever the kernel was compiled for', () => {
  const draft = loadPayload({
    request: { source: { language: 'numba', text: PYTHON }, steps: [{ kind: 'launch', config: { grid: [1], block: [1] } }] },
  });
  const launch = draft.steps[0] as LaunchDraft;
  reconcile(draft, launch, numba(false));
  expect(launch.arguments.map(({ kind }) => kind)).toEqual(['scalar', 'buffer']);
  draft.buffers[0]!.dtype = 'float64';
  launch.arguments[0]!.value = '2.5';
  reconcile(draft, launch, numba(true));
  expect(draft.buffers[0]!.dtype).toBe('float64');
  // A number without a type is what Python makes of it, not what the last one was.
  expect(build(draft, [numba(true)]).problems).toEqual([]);
  launch.arguments[0]!.dtype = 'float32';
  launch.arguments[1] = { ...launch.arguments[1]!, kind: 'scalar', value: '1' };
  reconcile(draft, launch, numba(true));
  expect(launch.arguments.map(({ kind, dtype }) => [kind, dtype])).toEqual([['scalar', 'float32'], ['scalar', null]]);
});

test.each([
  ['cuda-c++', { standard: 'c++20', fast_math: true, fmad: false, max_registers: 32, defines: [{ name: 'N', value: '4' }] }],
  ['numba', { standard: 'c++17', fast_math: true, fmad: false, max_registers: 32, defines: [] }],
  ['ptx', { standard: 'c++17', fast_math: false, fmad: true, max_registers: 32, defines: [] }],
] as const)('options that %s lacks are kept, not sent', (language, sent) => {
  const draft = loadPayload({
    request: {
      source: { text: 'x' },
      options: { standard: 'c++20', fast_math: true, fmad: false, max_registers: 32, defines: [{ name: 'N', value: '4' }] },
      steps: [{ kind: 'launch', config: { grid: [1], block: [1] } }],
    },
  });
  draft.language = language;
  expect(build(draft).request.options).toMatchObject(sent);
  draft.language = 'cuda-c++';
  expect(build(draft).request.options).toMatchObject({ standard: 'c++20', defines: [{ name: 'N' }] });
});

test.each([
  ['@cuda.jit\ndef scale(x):\n    pass', 'def scale(y): pass', false],
  ['@cuda.jit(fastmath=True)\ndef scale(x):\n    pass', 'def other(y): pass', true],
  ['.visible .entry scale(.param .u64 x)', '.entry other()', true],
  ['.visible .entry scale(.param .u64 x)', '.entry scale()', false],
])('kernels of %j are gone from %j: %s', (from, source, gone) => {
  expect(kernelsGone(from, source)).toBe(gone);
});
