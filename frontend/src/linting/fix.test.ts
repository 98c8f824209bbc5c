import { expect, test } from 'vitest';
import { loadPayload } from '../document/load';
import { launchAt } from '../document/draft';
import { offsets, setField } from './fix';

const draft = () =>
  loadPayload({
    request: {
      source: { text: '' },
      buffers: [{ name: 'x', dtype: 'float64', shape: [10] }],
      steps: [{ kind: 'repeat', count: 2, steps: [{ kind: 'launch', config: { grid: [3], block: [100] }, arguments: [{ kind: 'scalar', value: 5 }] }] }],
    },
  });

test.each([
  ['steps.0.steps.0.config.grid', [4, 2], { grid: ['4', '2', ''], cover: '' }],
  ['steps.0.steps.0.config.grid', { kind: 'cover', buffer: 'x' }, { grid: ['3', '', ''], cover: 'x' }],
  ['steps.0.steps.0.config.block', [128], { block: ['128', '', ''] }],
  ['steps.0.steps.0.config', { grid: [2], block: [32, 4], dynamic_shared_bytes: 0 }, { block: ['32', '4', ''], grid: ['2', '', ''], shared: '0' }],
  ['steps.0.steps.0.config.dynamic_shared_bytes', 516, { shared: '516' }],
])('%s becomes %j in the form', (field, value, expected) => {
  const made = draft();
  expect(setField(made, { title: '', field, value: value as never }, () => undefined)).toBe(true);
  expect(launchAt(made.steps, 'steps.0.steps.0')).toMatchObject(expected);
});

test('an argument and a dtype are set, what is not there is refused', () => {
  const made = draft();
  expect(setField(made, { title: '', field: 'steps.0.steps.0.arguments.0.value', value: 9 }, () => undefined)).toBe(true);
  expect(launchAt(made.steps, 'steps.0.steps.0')!.arguments[0]!.value).toBe('9');
  expect(setField(made, { title: '', field: 'buffers.0.dtype', value: 'float32' }, (at) => made.buffers[at])).toBe(true);
  expect(made.buffers[0]).toMatchObject({ dtype: 'float32', dtypeFollows: false });
  for (const field of ['buffers.7.dtype', 'steps.5.config.grid', 'steps.0.steps.0.arguments.3.value', 'title']) {
    expect(setField(made, { title: '', field, value: 1 }, (at) => made.buffers[at])).toBe(false);
  }
});

test.each([
  [{ line: 2, column: 3, end_line: 2, end_column: 5 }, { from: 6, to: 8 }],
  [{ line: 2, column: 1 }, { from: 4, to: 4 }],
  [{ line: 1, column: 1, end_line: 2, end_column: 3 }, { from: 0, to: 6 }],
  [{ line: 9 }, null],
])('a span %j is %j of the text', (span, range) => {
  expect(offsets('\u{1F600}a\nbcdef', span)).toEqual(range);
});
