import { expect, test } from 'vitest';
import type { Entry, Parameter, SharePayload } from '../api/types';
import { build } from './build';
import { sameRequest } from './compare';
import { columnOffset, wordEnd } from './columns';
import type { Draft, LaunchDraft } from './draft';
import { callName, entryOf, hasTemplate, kernelsGone, successor } from './entries';
import { fieldWords } from './field-words';
import { loadPayload, offered } from './load';
import { readExtent, readNumber } from './numbers';
import { faultAt, report, stillStands } from './problems';
import { reconcile } from './reconcile';
import { checkBytes, readShape } from './shape';

test.each([
  ['1024 × 1024', [1024, 1024]],
  ['1024x512', [1024, 512]],
  ['64*3', [64, 3]],
  ['64, 64, 3', [64, 64, 3]],
  ['(8,)', [8]],
  ['1_000', [1000]],
  [' 7 ', [7]],
  ['2 3', [2, 3]],
])('shape %j', (text, shape) => {
  expect(readShape(text)).toEqual({ ok: true, value: shape });
});

test.each([
  ['', 'Give a shape'],
  ['0', 'at least 1'],
  ['4 × many', '“many”'],
  ['1.5', '“1.5”'],
  ['1 × 1 × 1 × 1 × 1', 'at most 4 dimensions'],
  ['-3', 'at least 1'],
])('shape %j is refused: %s', (text, words) => {
  const read = readShape(text);
  expect(read.ok ? '' : read.message).toContain(words);
});

test('a buffer above the limit is refused with both numbers', () => {
  expect(checkBytes([1 << 20, 1 << 8], 'float64')).toContain('2,147,483,648 bytes; the limit is 1,073,741,824');
  expect(checkBytes([1 << 20, 1 << 8], 'float32')).toBeNull();
});

test.each([
  ['9223372036854775807', 'int64', '9223372036854775807'],
  ['9007199254740991', 'int64', 9007199254740991],
  ['0xffffffffffffffff', 'uint64', '18446744073709551615'],
  ['1e-3', 'float32', 0.001],
  ['NaN', 'float32', 'nan'],
  ['1 + 2j', 'complex64', '1+2j'],
  ['true', 'bool', true],
] as const)('%s as %s is sent as %j', (text, dtype, value) => {
  expect(readNumber(text, dtype)).toEqual({ ok: true, value });
});

test('faults of numbers are told in words', () => {
  expect(readNumber('300', 'uint8')).toEqual({ ok: false, message: '300 does not fit uint8: 0 to 255.' });
  expect(readExtent('', 'Block x')).toEqual({ ok: false, message: 'Block x must be a whole number.' });
  expect(readExtent('99999999999', 'Grid x')).toEqual({ ok: false, message: 'Grid x is too large.' });
});

test.each([
  ['int x = y;', 5, 4],
  ['/* 🙂 */ x', 8, 8],
  ['ab', 9, 2],
])('column: %j, code point %i is UTF-16 unit %i', (line, column, offset) => {
  expect(columnOffset(line, column)).toBe(offset);
});

test('a mark ends with its word', () => {
  expect(wordEnd('float value = 1;', 6)).toBe(11);
  expect(wordEnd('a + 🙂', 4)).toBe(6);
});

const parameter = (name: string, type: string, more: Partial<Parameter> = {}): Parameter => ({
  name,
  type,
  kind: type.includes('*') ? 'pointer' : 'scalar',
  dtype: type.includes('int') ? 'int32' : 'float32',
  components: 1,
  const: type.startsWith('const'),
  bytes: type.includes('*') ? 8 : 4,
  offset: 0,
  ...more,
});

const entry = (name: string, ...parameters: Parameter[]): Entry => ({
  name,
  display: name,
  parameters,
  resources: { registers: 16 },
});

const payload: SharePayload = {
  request: {
    source: { text: 'x' },
    buffers: [{ name: 'a', dtype: 'float32', shape: [8] }],
    steps: [
      {
        kind: 'launch',
        config: { grid: [1], block: [32] },
        arguments: [
          { kind: 'buffer', name: 'a', buffer: 'a' },
          { kind: 'scalar', name: 'n', value: 8 },
        ],
      },
    ],
  },
};

function opened(): { draft: Draft; launch: LaunchDraft } {
  const draft = loadPayload(payload);
  return { draft, launch: draft.steps[0] as LaunchDraft };
}

test('a new pointer gets a buffer of its type, read where it is const', () => {
  const { draft, launch } = opened();
  reconcile(draft, launch, entry('k', parameter('a', 'float *'), parameter('w', 'const int *'), parameter('n', 'int')));
  const { request, problems } = build(draft);
  expect(problems).toEqual([]);
  expect(request.buffers?.[1]).toMatchObject({ name: 'w', dtype: 'int32', role: 'in', shape: [8] });
});

test('buffers of parameters that are gone cannot be chosen, and come back with them', () => {
  const { draft, launch } = opened();
  const both = entry('k', parameter('a', 'float *'), parameter('w', 'float *'));
  reconcile(draft, launch, both);
  expect(offered(draft)).toEqual(['a', 'w']);
  reconcile(draft, launch, entry('k', parameter('a', 'float *')));
  expect(offered(draft)).toEqual(['a']);
  draft.steps.push({ kind: 'fill', buffer: 'w', value: 0 });
  expect(offered(draft)).toEqual(['a', 'w']);
  draft.steps.pop();
  reconcile(draft, launch, both);
  launch.arguments[1]!.buffer = 'a';
  expect(offered(draft)).toEqual(['a', 'w']);
});

test('a loaded buffer follows the type of its parameter where it agreed with it before', () => {
  const { draft, launch } = opened();
  reconcile(draft, launch, entry('k', parameter('a', 'float *'), parameter('n', 'int')));
  reconcile(draft, launch, entry('k', parameter('a', 'const int *'), parameter('n', 'int')));
  expect(draft.buffers[0]).toMatchObject({ dtype: 'int32', role: 'in' });
  const other = opened();
  other.draft.buffers[0]!.dtype = 'uint8';
  reconcile(other.draft, other.launch, entry('k', parameter('a', 'float *'), parameter('n', 'int')));
  expect(other.draft.buffers[0]).toMatchObject({ dtype: 'uint8', role: 'inout' });
});

test('a count starts with the elements of the buffers, other numbers with 0', () => {
  const { draft, launch } = opened();
  const names = ['n', 'num_items', 'length', 'k', 'seed'].map((name) => parameter(name, 'int'));
  launch.arguments = [];
  reconcile(draft, launch, entry('k', parameter('a', 'float *'), ...names, parameter('n', 'float')));
  expect(launch.arguments.slice(1).map(({ value }) => value)).toEqual(['8', '8', '8', '0', '0', '0']);
});

test('values survive while a parameter is away, and come back with it', () => {
  const { draft, launch } = opened();
  launch.arguments[1]!.value = '77';
  reconcile(draft, launch, entry('k', parameter('a', 'float *')));
  expect(launch.arguments.map((argument) => argument.parameter)).toEqual(['a']);
  reconcile(draft, launch, entry('k', parameter('n', 'int'), parameter('a', 'float *')));
  expect(launch.arguments.map((argument) => argument.value)).toEqual(['77', '']);
});

test('positional arguments follow the parameters by position and stay positional', () => {
  const draft = loadPayload({
    request: {
      ...payload.request,
      steps: [{ kind: 'launch', config: { grid: [1], block: [32] }, arguments: [{ kind: 'buffer', buffer: 'a' }, { kind: 'scalar', value: 3 }] }],
    },
  });
  const launch = draft.steps[0] as LaunchDraft;
  reconcile(draft, launch, entry('k', parameter('data', 'float *'), parameter('count', 'int')));
  expect(launch.arguments.map((argument) => argument.parameter)).toEqual(['data', 'count']);
  expect(build(draft).request.steps[0]).toMatchObject({ arguments: [{ kind: 'buffer', buffer: 'a' }, { kind: 'scalar', value: 3 }] });
});

test('the grid covers another buffer when the kernel loses the one it covered', () => {
  const { draft, launch } = opened();
  launch.cover = 'a';
  reconcile(draft, launch, entry('k', parameter('x', 'const float *'), parameter('y', 'float *')));
  expect(launch.cover).toBe('y');
  reconcile(draft, launch, entry('k', parameter('n', 'int')));
  expect(launch.cover).toBe('');
});

test('the grid covers what is written when the covered buffer becomes an input', () => {
  const { draft, launch } = opened();
  launch.cover = 'a';
  reconcile(draft, launch, entry('k', parameter('a', 'float *'), parameter('b', 'float *')));
  reconcile(draft, launch, entry('k', parameter('a', 'const float *'), parameter('b', 'float *')));
  expect(launch.cover).toBe('b');
});

test('a grid over a pointer to vectors counts vectors', () => {
  const { draft, launch } = opened();
  launch.cover = 'a';
  const kernel = entry('k', parameter('a', 'float4 *', { components: 4 }), parameter('n', 'int'));
  reconcile(draft, launch, kernel);
  expect(build(draft, [kernel]).request.steps[0]).toMatchObject({ config: { grid: { kind: 'cover', buffer: 'a', components: 4 } } });
});

test('a launch whose kernel is gone means the renamed one, else the first', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => entry(name));
  expect(successor([a!, b!], [a!, c!])).toBe(c);
  expect(successor([a!], [b!, c!])).toBe(b);
  expect(successor([a!], [])).toBeUndefined();
});

test('a source without the name of a template has no instantiation of it', () => {
  expect(hasTemplate('template <class T> __global__ void scale(T *x) {}', 'scale<float>')).toBe(true);
  expect(hasTemplate('template <class T> __global__ void scales(T *x) {}', 'ns::scale<float, 2>')).toBe(false);
});

test('a source whose kernels are all gone is another', () => {
  const from = '__global__ void __launch_bounds__(256) add(int *a) {}\nextern "C" __global__ void more() {}';
  expect(kernelsGone(from, 'void more() {}')).toBe(false);
  expect(kernelsGone(from, '__global__ void adding() {}')).toBe(true);
  expect(kernelsGone('', 'x')).toBe(false);
});

test('a reference checks only buffers that there are; without one it is left out', () => {
  const { draft } = opened();
  Object.assign(draft.reference, { text: 'a = 1', buffers: ['a', 'old'] });
  expect(build(draft).request.checks).toMatchObject([{ kind: 'numpy', buffers: ['a'] }]);
  draft.reference.buffers = ['old'];
  expect(build(draft)).toMatchObject({ request: { checks: [] }, problems: [] });
});

test('a parameter that became a pointer gets a buffer; its old value is not sent', () => {
  const { draft, launch } = opened();
  reconcile(draft, launch, entry('k', parameter('a', 'float *'), parameter('n', 'float *')));
  expect(launch.arguments[1]).toMatchObject({ kind: 'buffer', buffer: 'n' });
});

test('vectors and structs have as many parts as their type', () => {
  const { draft, launch } = opened();
  const vector = parameter('v', 'float4', { kind: 'vector', components: 4, bytes: 16 });
  const struct = parameter('s', 'Params', { kind: 'struct', dtype: null, bytes: 8 });
  const kernel = entry('k', vector, struct);
  reconcile(draft, launch, kernel);
  launch.arguments[1]!.hex = '00ff';
  const { problems } = build(draft, [kernel]);
  expect(launch.arguments[0]!.values).toEqual(['0', '0', '0', '0']);
  expect(problems).toEqual([{ field: 'steps.0.arguments.1.hex', message: 'Params has 8 bytes; 2 are given.' }]);
});

test('faults stand at their path, and unreadable text stays', () => {
  const { draft, launch } = opened();
  draft.buffers[0]!.shape = '4 × ?';
  launch.block = ['x', '', ''];
  launch.arguments[1]!.value = '1.5';
  const { problems } = build(draft, [entry('k', parameter('a', 'float *'), parameter('n', 'int'))]);
  expect(problems.map(({ field }) => field)).toEqual(['buffers.0.shape', 'steps.0.config.block.0', 'steps.0.arguments.1.value']);
  expect(draft.buffers[0]!.shape).toBe('4 × ?');
  expect(faultAt(problems, 'steps.0.config.block')).toBe('Block x must be a whole number.');
});

test('what the service refused is shown until the value changes', () => {
  const { request } = build(opened().draft);
  const [told] = report([{ field: 'steps.0.config.block', message: 'too many' }], request);
  expect(stillStands(told!, request)).toBe(true);
  const changed = opened();
  changed.launch.block = ['64', '', ''];
  expect(stillStands(told!, build(changed.draft).request)).toBe(false);
});

test('what the service refused is no fault of another kernel, nor of a buffer that has changed', () => {
  const { request } = build(opened().draft);
  const told = ['steps.0.config.block', 'buffers.0.init'].map((field) => report([{ field, message: 'no' }], request)[0]!);
  const standing = (change: (draft: ReturnType<typeof opened>['draft']) => void): boolean[] => {
    const { draft } = opened();
    change(draft);
    return told.map((problem) => stillStands(problem, build(draft).request));
  };
  expect(standing((draft) => (draft.title = 'other'))).toEqual([true, true]);
  expect(standing((draft) => (draft.source += ' '))).toEqual([false, false]);
  expect(standing((draft) => (draft.buffers[0]!.dtype = 'float64'))).toEqual([true, false]);
});

test.each([
  ['const float *', 'float32', '1000000', 'arange', ''],
  ['const unsigned char *', 'uint8', '64', 'arange', ''],
  ['const unsigned char *', 'uint8', '1024', 'integers', '256'],
  ['const signed char *', 'int8', '1024', 'integers', '128'],
  ['const bool *', 'bool', '1024', 'integers', '2'],
  ['const short *', 'int16', '1024', 'arange', ''],
  ['const short *', 'int16', '100000', 'integers', '32768'],
  ['const __half *', 'float16', '100000', 'uniform', ''],
  ['const Body *', null, '1024', 'zeros', ''],
  ['unsigned char *', 'uint8', '1024', 'zeros', ''],
] as const)('%s of %s begins with values that it holds: %s elements, %s %s', (type, dtype, shape, init, high) => {
  const { draft, launch } = opened();
  draft.buffers.at(-1)!.shape = shape;
  const fresh = { ...parameter('fresh', type), dtype, components: 1, const: type.startsWith('const') };
  reconcile(draft, launch, entry('k', fresh));
  const buffer = draft.buffers.find(({ name }) => name === 'fresh')!;
  expect([buffer.init, buffer.fields['integers.high'] ?? '']).toEqual([init, high]);
});

test('requests are compared without what is left out', () => {
  const { request } = build(opened().draft);
  const stored = JSON.parse(JSON.stringify({ ...request, checks: request.checks, options: { ...request.options, max_registers: null } }));
  expect(sameRequest(request, stored)).toBe(true);
  expect(sameRequest(request, { ...stored, architecture: 'sm_75' })).toBe(false);
});

test.each([
  ['scale<float>(float *, float)', 'scale<float>'],
  ['void scale<(int)3>(float *)', 'scale<(int)3>'],
  ['saxpy', 'saxpy'],
  ['ns::k(int)', 'ns::k'],
])('%j is called %j', (display, name) => {
  expect(callName({ display })).toBe(name);
});

test('an entry is found by either name, spaces aside; no name means the only one', () => {
  const kernels = [entry('_Z1kv'), { ...entry('_Z5scaleIfEvPT_'), display: 'scale<float, 2>(float *)' }];
  expect(entryOf('scale<float,2>', kernels)).toBe(kernels[1]);
  expect(entryOf('_Z1kv', kernels)).toBe(kernels[0]);
  expect(entryOf('', kernels)).toBeNull();
  expect(entryOf('', kernels.slice(1))).toBe(kernels[1]);
});

test('what blocks do together is kept, and left out where nothing is asked', () => {
  const { draft, launch } = opened();
  expect(build(draft).request.steps[0]).not.toHaveProperty('config.cooperative');
  launch.cooperative = true;
  launch.cluster = ['2', '', ''];
  const { request } = build(draft);
  expect(request.steps[0]).toMatchObject({ config: { cooperative: true, cluster: [2] } });
  const again = loadPayload({ request }).steps[0] as LaunchDraft;
  expect(again).toMatchObject({ cooperative: true, cluster: ['2', '', ''] });
  launch.cluster = ['', '', ''];
  expect(build(draft).request.steps[0]).not.toHaveProperty('config.cluster');
  launch.cluster = ['two', '', ''];
  expect(build(draft).problems[0]?.field).toBe('steps.0.config.cluster.0');
});

test('paths in the words of the form', () => {
  const { request } = payload;
  expect(fieldWords('steps.0.arguments.1.value', request)).toBe('argument n');
  expect(fieldWords('steps.0.config.block', request)).toBe('block');
  expect(fieldWords('buffers.0.shape', request)).toBe('buffer a, shape');
});

const REFERENCED: SharePayload = {
  request: {
    source: { text: '__global__ void k(float *a) {}' },
    buffers: [{ name: 'a', dtype: 'float32', shape: [4] }],
    steps: [{ kind: 'launch', config: { grid: [1], block: [4] }, arguments: [{ kind: 'buffer', buffer: 'a' }] }],
    checks: [
      { kind: 'equals', buffer: 'a', expected: { kind: 'zeros' } },
      { kind: 'numpy', text: 'a = a + 1', buffers: ['a'], relative: 0.001, absolute: 0 },
      { kind: 'equals', buffer: 'a', expected: { kind: 'full', value: 1 } },
    ],
    instruments: ['checks'],
    sweep: { blocks: [[32], [64]] },
  },
};

test('a NumPy reference is edited in its place among the checks; the shapes of a sweep are offered, not sent', () => {
  const draft = loadPayload(REFERENCED);
  expect(draft.reference).toEqual({ at: 1, text: 'a = a + 1', buffers: ['a'], relative: '0.001', absolute: '0' });
  expect(draft.sweep).toEqual({ blocks: [[32], [64]] });
  const { request, problems } = build(draft);
  expect(problems).toEqual([]);
  expect(request.checks).toEqual(REFERENCED.request.checks);
  expect(request.instruments).toEqual(['checks']);
  expect(request.sweep).toBeUndefined();
  draft.reference.text = ' \n';
  expect(build(draft).request.checks).toHaveLength(2);
});

test.each([
  ['relative', '-1', 'checks.1.relative', 'at least 0'],
  ['absolute', 'nan', 'checks.1.absolute', 'finite'],
  ['buffers', [], 'checks.1.buffers', 'Choose the buffers'],
] as const)('a reference whose %s is %j has a fault at its field', (field, value, path, words) => {
  const draft = loadPayload(REFERENCED);
  Object.assign(draft.reference, { [field]: value });
  const [problem] = build(draft).problems;
  expect(problem?.field).toBe(path);
  expect(problem?.message).toContain(words);
});
