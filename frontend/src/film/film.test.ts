import { expect, test } from 'vitest';
import type { Filmed, RunRequest } from '../api/types';
import { loadPayload } from '../document/load';
import { build } from '../document/build';
import { next, sought, toggled } from './clock';
import { asBuffer } from './filmed';
import { batchSize, unstacked } from './frames.svelte';
import { filmedRounds } from './rounds';

test.each([
  [{ at: 0, playing: true }, false, { at: 1, playing: true }],
  [{ at: 4, playing: true }, false, { at: 4, playing: false }],
  [{ at: 4, playing: true }, true, { at: 0, playing: true }],
])('one frame on from %j, looping %j: %j', (standing, loops, wanted) => {
  expect(next(standing, 5, loops)).toEqual(wanted);
});

test.each([
  [{ at: 2, playing: true }, 5, { at: 2, playing: false }],
  [{ at: 2, playing: false }, 5, { at: 2, playing: true }],
  [{ at: 4, playing: false }, 5, { at: 0, playing: true }],
  [{ at: 0, playing: false }, 1, { at: 0, playing: false }],
])('play or pause at %j of %i: %j', (standing, count, wanted) => {
  expect(toggled(standing, count)).toEqual(wanted);
});

test.each([[-1, 0], [3, 3], [9, 4]])('sought %i stands at %i', (at, wanted) => {
  expect(sought(at, 5)).toEqual({ at: wanted, playing: false });
});

const frame = (round: number, minimum: number | string | null, maximum: number | null, not_finite = 0): Filmed => ({
  kind: 'filmed', buffer: 'u', round, dtype: 'float32', shape: [2, 3], digest: '0'.repeat(64), bytes: 24, minimum, maximum, not_finite,
});

test('one range holds for all frames', () => {
  const { minimum, maximum, not_finite, shape, name } = asBuffer([frame(0, 2, 3), frame(5, '-7', 1, 4), frame(10, null, null)]);
  expect({ minimum, maximum, not_finite, shape, name }).toEqual({ minimum: -7, maximum: 3, not_finite: 4, shape: [2, 3], name: 'u' });
  expect(asBuffer([frame(0, null, null)]).maximum).toBeNull();
});

test('a stack is cut into its frames', () => {
  const [first, second] = unstacked({ dtype: 'float32', shape: [2, 1, 2], data: Float32Array.of(1, 2, 3, 4) });
  expect([...(first!.data as Float32Array)]).toEqual([1, 2]);
  expect([second!.shape, ...(second!.data as Float32Array)]).toEqual([[1, 2], 3, 4]);
  const complex = unstacked({ dtype: 'complex64', shape: [2, 1], data: Float32Array.of(1, 2, 3, 4) });
  expect([...(complex[1]!.data as Float32Array)]).toEqual([3, 4]);
  expect(unstacked({ dtype: 'uint8', shape: [0, 4], data: new Uint8Array() })).toEqual([]);
});

test.each([[1, 4 << 20], [4 << 20, 1], [64 << 20, 1], [1 << 18, 16]])('frames of %i bytes come by %i', (bytes, wanted) => {
  expect(batchSize(bytes)).toBe(wanted);
});

const launch = { kind: 'launch' as const, config: { grid: [1], block: [32] }, arguments: [{ kind: 'buffer' as const, buffer: 'u' }] };
const repeat = (count: number) => ({ kind: 'repeat' as const, count, steps: [launch] });
const request = (steps: RunRequest['steps'], film: RunRequest['film']): RunRequest => ({
  source: { text: '__global__ void k(float *u) {}' }, buffers: [{ name: 'u', dtype: 'float32', shape: [8] }], steps, film,
});

test.each([
  [request([repeat(7)], { buffer: 'u' }), 7],
  [request([repeat(7), launch, repeat(9)], { buffer: 'u', step: 'steps.2' }), 9],
  [request([launch], null), 0],
  [null, 0],
])('rounds of %#: %i', (asked, rounds) => {
  expect(filmedRounds(asked)).toBe(rounds);
});

test.each([
  [[repeat(7)], { buffer: 'u', every: 2 }],
  [[repeat(7), repeat(9)], { buffer: 'u', every: 3, step: 'steps.1' }],
  [[launch, repeat(7), repeat(9)], { buffer: 'u', every: 3, step: 'steps.1' }],
])('a film goes through the form: %#', (steps, film) => {
  expect(build(loadPayload({ request: request(steps, film) })).request.film).toEqual(film);
});

test('a film follows its repeat, and an unreadable number of rounds is told at its field', () => {
  const draft = loadPayload({ request: request([repeat(7), repeat(9)], { buffer: 'u', every: 3, step: 'steps.1' }) });
  draft.steps.reverse();
  expect(build(draft).request.film).toEqual({ buffer: 'u', every: 3, step: 'steps.0' });
  const [first] = draft.steps;
  if (first?.kind === 'repeat') first.film!.every = 'two';
  expect(build(draft).problems).toEqual([{ field: 'film.every', message: 'Rounds between two frames must be a whole number.' }]);
  if (first?.kind === 'repeat') first.film = null;
  expect(build(draft).request).not.toHaveProperty('film');
});
