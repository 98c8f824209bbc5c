import { beforeEach, expect, test, vi } from 'vitest';
import type { RunRequest, RunResult } from '../api/types';
import { clearHistory, compare, history, KEPT, type Past, pastOf, remember } from './history';

let kept: Map<string, string>;
let room: number;

beforeEach(() => {
  kept = new Map();
  room = Infinity;
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem(key: string, value: string) {
      if (value.length > room) throw new DOMException('full', 'QuotaExceededError');
      kept.set(key, value);
    },
    removeItem: (key: string) => kept.delete(key),
  });
});

const past = (id: string, more: Partial<Past> = {}): Past => ({
  id, at: 1, title: id, entry: 'k', block: [32], grid: [1, 1, 1], verdict: 'Finished', tone: 'ok', seconds: 1, clock: 'wall', device: 'PTX emulator', ...more,
});

test('the newest run is first, and so many are kept', () => {
  for (let index = 0; index < KEPT + 5; index++) remember(past(`r${index}`));
  expect(history()).toHaveLength(KEPT);
  expect(history()[0]!.id).toBe(`r${KEPT + 4}`);
  expect(clearHistory()).toEqual([]);
  expect(history()).toEqual([]);
});

test('a run that ends stays in its place, with its time and title of before', () => {
  remember(past('a', { at: 5, title: 'mine', verdict: '' }));
  remember(past('b'));
  remember(past('a', { at: 9, title: 'renamed', verdict: 'Finished' }));
  expect(history().map(({ id, at, title, verdict }) => [id, at, title, verdict])).toEqual([
    ['b', 1, 'b', 'Finished'],
    ['a', 5, 'mine', 'Finished'],
  ]);
});

test('a full storage loses old runs, not the newest', () => {
  for (let index = 0; index < KEPT; index++) remember(past(`r${index}`));
  room = kept.get('warpyard.history')!.length - 20;
  remember(past('newest'));
  expect(history()[0]!.id).toBe('newest');
  expect(history()).toHaveLength(KEPT / 2);
});

test.each(['{', '7', '[1, null, {}]'])('what is no history is none: %s', (text) => {
  kept.set('warpyard.history', text);
  expect(history()).toEqual([]);
});

const REQUEST = {
  source: { text: 'k' },
  steps: [{ kind: 'repeat', count: 2, steps: [{ kind: 'launch', entry: 'step', config: { grid: [4], block: [16, 16] } }] }],
} as RunRequest;

test('a run that was just sent is told by its request', () => {
  expect(pastOf('a', '', REQUEST, null, 7)).toEqual({
    language: 'cuda-c++',
    id: 'a', at: 7, title: 'Untitled', entry: 'step', block: [16, 16], grid: [], verdict: '', tone: 'neutral', seconds: null, clock: 'wall', device: '',
  });
});

test('a run that ended is told by its result', () => {
  const result = {
    state: 'finished',
    verdict: 'ok',
    launches: [{ step: 'steps.0.steps.0', entry: 'step', grid: [4, 1, 1], block: [16, 16, 1], device: 'gpu', device_name: 'NVIDIA H200' }],
    timings: [
      { kind: 'timed', stage: 'run', seconds: 0.25, clock: 'gpu-events' },
      { kind: 'timed', stage: 'run', seconds: 0.5, clock: 'gpu-events' },
      { kind: 'timed', stage: 'total', seconds: 9 },
    ],
  } as unknown as RunResult;
  expect(pastOf('a', 'Life', { ...REQUEST, sweep: { blocks: [[32], [64]] } }, result, 7)).toMatchObject({
    title: 'Life, 2 sizes', grid: [4, 1, 1], verdict: 'Finished', tone: 'ok', seconds: 0.75, clock: 'gpu-events', device: 'NVIDIA H200',
  });
});

test.each([
  ['slower', past('aaaaaaaa'), past('bbbbbbbb', { seconds: 2.5 }), 'bbbbbbbb (bbbbbb) took 2.5 times as long as aaaaaaaa (aaaaaa). Both times are emulated'],
  ['alike', past('a'), past('b'), 'Both took the same time. Both times are emulated'],
  ['on a GPU', past('a', { clock: 'gpu-events', seconds: 3 }), past('b', { clock: 'gpu-events' }), 'a (a) took 3 times as long as b (b).'],
  ['other clocks', past('a'), past('b', { clock: 'gpu-events' }), 'different devices'],
  ['no time', past('a', { seconds: null }), past('b'), 'no run time'],
])('compared: %s', (_, left, right, words) => {
  expect(compare(left, right)).toContain(words);
});
