/** The page and the protocol agree; build/contract.py writes the cases, and a Python test keeps them fresh. */
import { describe, expect, test } from 'vitest';
import type { DType, EventRecord, SharePayload } from '../api/types';
import { build } from '../document/build';
import { loadPayload } from '../document/load';
import { readNumber } from '../document/numbers';
import { coverGrid } from '../document/shape';
import { MAX_DEPTH, MAX_LAUNCHES, MAX_STEPS } from '../document/step-limits';
import { fold } from '../run/fold';
import cases from './cases.json';

test.each(cases.numbers as [string, DType, boolean][])('%j as %s is a number: %j', (text, dtype, good) => {
  expect(readNumber(text, dtype).ok).toBe(good);
});

test.each(cases.grids as [number[], number[], number, number[]][])('a grid over %j with blocks of %j and vectors of %i is %j', (shape, block, components, grid) => {
  expect(coverGrid(shape, [...block, 1, 1].slice(0, 3), components)).toEqual(grid);
});

test('steps have the limits of the protocol', () => {
  expect({ launches: MAX_LAUNCHES, steps: MAX_STEPS, depth: MAX_DEPTH }).toEqual(cases.steps);
});

test.each(Object.entries(cases.streams))('fold: %s', (_, { records, result }) => {
  expect(fold(records as unknown as EventRecord[])).toEqual(result);
});

describe.each(Object.entries(cases.payloads))('%s', (_, data) => {
  // What the form leaves out means the same.
  const payload = JSON.parse(JSON.stringify(data, (key, value: unknown) => ((key === 'cooperative' && value === false) || (key === 'baselines' && !(value as unknown[]).length) ? undefined : value))) as SharePayload;
  const draft = loadPayload(payload);
  const { request, problems, views } = build(draft);

  test('goes through the form unchanged', () => {
    expect(problems).toEqual([]);
    expect(request).toEqual({ ...payload.request, options: { ...payload.request.options, max_registers: payload.request.options?.max_registers ?? null } });
  });

  test('keeps its views', () => {
    const plain = { shown_as: 'auto', palette: 'viridis', logarithmic: false };
    const chosen = Object.entries(payload.views ?? {}).filter(([, view]) => JSON.stringify(view) !== JSON.stringify(plain));
    expect(views).toEqual(Object.fromEntries(chosen));
  });

  test('is the same draft again', () => {
    expect(build(JSON.parse(JSON.stringify(draft))).request).toEqual(request);
  });
});
