import { expect, test } from 'vitest';
import type { Entry, Parameter, SharePayload, Step } from '../api/types';
import { build } from './build';
import type { LaunchDraft, StepDraft } from './draft';
import { loadPayload } from './load';
import { reconcile } from './reconcile';
import { crowded, duplicate, launchLike, likeBuffers, move, needed, putAfter, putAt, removal, removeAt, repeated, stepAt, tooDeep, wayOf } from './steps';
import { countLaunches, nested, stepName } from './step-limits';

/** Steps from a sketch: letters are launches of that kernel, 3(…) a repeat. */
function sketch(text: string): StepDraft[] {
  const stack: StepDraft[][] = [[]];
  for (const [token] of text.matchAll(/\d+\(|\)|[a-z]/g)) {
    if (token === ')') stack.pop();
    else if (token.endsWith('(')) {
      const steps: StepDraft[] = [];
      stack.at(-1)!.push({ kind: 'repeat', count: token.slice(0, -1), steps });
      stack.push(steps);
    } else stack.at(-1)!.push(launch(token));
  }
  return stack[0]!;
}

const launch = (entry: string): LaunchDraft => ({
  kind: 'launch', entry, block: ['32', '', ''], grid: ['1', '', ''], cover: '', shared: '0', arguments: [], attic: [],
});

const drawn = (steps: readonly StepDraft[]): string =>
  steps.map((step) => (step.kind === 'launch' ? step.entry : step.kind === 'repeat' ? `${step.count}(${drawn(step.steps)})` : `<${step.kind}>`)).join(' ');

test.each([
  ['a b', 'steps.0', 1, 'b a', 'steps.1', 'past'],
  ['a b', 'steps.0', -1, 'a b', 'steps.0', null],
  ['a b', 'steps.1', 1, 'a b', 'steps.1', null],
  ['2(a) b', 'steps.1', -1, '2(a b)', 'steps.0.steps.1', 'into'],
  ['b 2(a)', 'steps.0', 1, '2(b a)', 'steps.0.steps.0', 'into'],
  ['2(a b)', 'steps.0.steps.1', 1, '2(a) b', 'steps.1', 'out'],
  ['2(a b)', 'steps.0.steps.0', -1, 'a 2(b)', 'steps.0', 'out'],
  ['c 2(a)', 'steps.1.steps.0', -1, 'c a', 'steps.1', 'out'],
  ['2(a) c', 'steps.0.steps.0', 1, 'a c', 'steps.0', 'out'],
  ['2(3(a b) c)', 'steps.0.steps.0.steps.1', 1, '2(3(a) b c)', 'steps.0.steps.1', 'out'],
  // A repeat that holds two more does not fit into another: it is passed.
  ['2(a) 3(4(5(b)))', 'steps.1', -1, '3(4(5(b))) 2(a)', 'steps.0', 'past'],
] as const)('%s: step %s moves by %i: %s', (before, path, by, after, to, way) => {
  const steps = sketch(before);
  expect(wayOf(steps, path, by)).toBe(way);
  const edited = move(steps, path, by);
  expect([drawn(edited.steps), edited.path]).toEqual([after, to]);
  expect(drawn(steps)).toBe(drawn(sketch(before)));
});

test.each([
  ['a b', 'steps.0', 1, '10(a) b'],
  ['a b c', 'steps.0', 2, '10(a b) c'],
  ['2(a b c)', 'steps.0.steps.1', 2, '2(a 10(b c))'],
])('%s: from step %s, %i steps are repeated: %s', (before, path, count, after) => {
  expect(drawn(repeated(sketch(before), path, count).steps)).toBe(after);
});

test.each([
  ['a b', 'steps.0', 'b', 'steps.0'],
  ['2(a) b', 'steps.0.steps.0', 'b', 'steps.0'],
  ['2(3(a)) b', 'steps.0.steps.0.steps.0', 'b', 'steps.0'],
  ['2(3(a) c) b', 'steps.0.steps.0.steps.0', '2(c) b', 'steps.0.steps.0'],
])('%s without step %s is %s, and comes back whole', (before, path, after, whole) => {
  const steps = sketch(before);
  const taken = removal(steps, path);
  expect(taken.path).toBe(whole);
  const left = removeAt(steps, path);
  expect(drawn(left)).toBe(after);
  expect(drawn(putAt(left, taken.path, taken.step).steps)).toBe(drawn(steps));
});

test('a step whose repeat is gone comes back at the end', () => {
  expect(putAt(sketch('a'), 'steps.3.steps.0', launch('b'))).toMatchObject({ path: 'steps.1' });
  expect(putAt(sketch('a'), 'steps.7', launch('b')).path).toBe('steps.1');
});

test('a new step comes after its neighbour, in its list', () => {
  const { steps, path } = putAfter(sketch('2(a b) c'), 'steps.0.steps.0', { kind: 'fill', buffer: 'x', value: '0' });
  expect([drawn(steps), path]).toEqual(['2(a <fill> b) c', 'steps.0.steps.1']);
});

test('a copy of a repeat has no film of its own', () => {
  const steps = sketch('2(a)');
  Object.assign(steps[0]!, { film: { buffer: 'x', every: '1' } });
  const { steps: next, path } = duplicate(steps, 'steps.0');
  expect(drawn(next)).toBe('2(a) 2(a)');
  expect(stepAt(next, 'steps.0')).toHaveProperty('film');
  expect(stepAt(next, path)).not.toHaveProperty('film');
});

test('limits are told before they are passed', () => {
  expect(tooDeep(sketch('2(2(a))'), 'steps.0.steps.0.steps.0')).toBeNull();
  expect(tooDeep(sketch('2(2(2(a)))'), 'steps.0.steps.0.steps.0.steps.0')).toBe('Repeats are nested at most 3 deep.');
  expect(tooDeep(sketch('2(2(2(a)))'), 'steps.0')).toBe('Repeats are nested at most 3 deep.');
  expect(crowded(sketch('a'.repeat(63)), 'steps.0')).toBeNull();
  expect(crowded(sketch('a'.repeat(64)), 'steps.0')).toBe('At most 64 steps stand in one list.');
  expect(wayOf(sketch(`${'a'.repeat(63)} 2(b c)`), 'steps.63.steps.0', -1)).toBe(null);
  expect(needed(sketch('2(a)'), 'steps.0.steps.0')).toContain('Step 1.1 holds the only launch');
  expect(needed(sketch('a b'), 'steps.0')).toBeNull();
});

test('launches, nesting and numbers are counted as the protocol does', () => {
  expect(countLaunches(sketch('a 3(b 4(c))'))).toBe(16);
  expect(nested(sketch('a 3(b 4(c))'))).toBe(2);
  expect(stepName('steps.1.steps.0')).toBe('2.1');
});

const parameter = (name: string, type: string): Parameter => ({
  name, type, kind: type.includes('*') ? 'pointer' : 'scalar', dtype: type.includes('int') ? 'int32' : 'float32',
  components: 1, const: type.startsWith('const'), bytes: 8, offset: 0,
});
const entry = (name: string, ...parameters: Parameter[]): Entry => ({ name, display: name, parameters, resources: { registers: 16 } });

const CONFIG = { grid: { kind: 'cover', buffer: 'y' }, block: [64] } as const;
const payload = (steps: unknown[]): SharePayload => ({
  request: {
    source: { text: 'x' },
    buffers: ['x', 'y'].map((name) => ({ name, dtype: 'float32', shape: [8], role: name === 'x' ? 'in' : 'inout' })),
    steps: steps as Step[],
  },
});
const FIRST = {
  kind: 'launch', entry: 'first', config: CONFIG,
  arguments: [...['x', 'y'].map((name) => ({ kind: 'buffer', name, buffer: name })), { kind: 'scalar', name: 'n', value: 8 }],
};

test('another kernel gets the configuration, and by name the buffers and numbers that there are', () => {
  const draft = loadPayload(payload([FIRST]));
  const kernels = [entry('first', parameter('x', 'const float *'), parameter('y', 'float *'), parameter('n', 'int')), entry('second', parameter('y', 'const float *'), parameter('z', 'float *'), parameter('n', 'int'))];
  const from = draft.steps[0] as LaunchDraft;
  reconcile(draft, from, kernels[0]!);
  draft.steps = putAfter(draft.steps, 'steps.0', launchLike(from, 'second')).steps;
  for (const [index, kernel] of kernels.entries()) reconcile(draft, draft.steps[index] as LaunchDraft, kernel);
  const { request, problems } = build(draft, kernels);
  expect(problems).toEqual([]);
  expect(request.steps[1]).toMatchObject({
    entry: 'second',
    config: { block: [64], grid: { kind: 'cover', buffer: 'y' } },
    arguments: [{ name: 'y', buffer: 'y' }, { name: 'z', buffer: 'z' }, { name: 'n', value: 8 }],
  });
  // What the first kernel writes is read back, though the second only reads it.
  expect(request.buffers?.map(({ name, role }) => `${name} ${role}`)).toEqual(['x in', 'y inout', 'z inout']);
  expect(draft.steps.map((step, index) => reconcile(draft, step as LaunchDraft, kernels[index]!))).toEqual([false, false]);
});

test('buffers to swap are alike', () => {
  const draft = loadPayload(payload([FIRST]));
  expect(likeBuffers(draft, draft.steps[0] as LaunchDraft)).toEqual(['x', 'y']);
  draft.buffers[0]!.shape = '9';
  expect(likeBuffers(draft, draft.steps[0] as LaunchDraft)).toBeNull();
});

test.each([
  ['steps.0.count', 'many', 'The number of rounds must be a whole number.'],
  ['steps.0.count', '0', 'The number of rounds must be at least 1.'],
  ['steps.0.count', '10001', 'A repeat has at most 10,000 rounds.'],
  ['steps.0.count', '6000', 'The steps amount to 12,000 launches; a run has at most 10,000.'],
])('%s: %s rounds of two launches are refused: %s', (field, count, message) => {
  const draft = loadPayload(payload([{ kind: 'repeat', count: 5, steps: [FIRST, FIRST] }]));
  Object.assign(draft.steps[0]!, { count });
  expect(build(draft).problems).toContainEqual({ field, message });
});

test('a fill is read as its buffer holds it, a swap has two buffers', () => {
  const draft = loadPayload(payload([FIRST, { kind: 'fill', buffer: 'y', value: 0.5 }, { kind: 'swap', first: 'x', second: 'x' }]));
  expect(build(draft).problems).toEqual([{ field: 'steps.2.second', message: 'Choose two different buffers.' }]);
  draft.steps.pop();
  expect(build(draft).request.steps[1]).toEqual({ kind: 'fill', buffer: 'y', value: 0.5 });
  Object.assign(draft.steps[1]!, { value: ' 1e-3' });
  expect(build(draft).request.steps[1]).toMatchObject({ value: 0.001 });
  Object.assign(draft.steps[1]!, { value: 'half' });
  expect(build(draft).problems).toEqual([{ field: 'steps.1.value', message: '“half” is not a number.' }]);
});
