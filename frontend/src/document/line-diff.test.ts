import { expect, test } from 'vitest';
import { hunks, lineDiff } from './line-diff';

const SIGN = { same: ' ', removed: '-', added: '+' };
const shown = (before: string, after: string) => lineDiff(before, after).map(({ kind, text }) => SIGN[kind] + text);

test.each([
  ['equal', 'a\nb', 'a\nb', [' a', ' b']],
  ['one line changed', 'a\nb\nc', 'a\nx\nc', [' a', '-b', '+x', ' c']],
  ['added at the end', 'a', 'a\nb', [' a', '+b']],
  ['removed at the start', 'a\nb', 'b', ['-a', ' b']],
  ['a line in the middle survives', 'a\nb\nc', 'x\nb\ny', ['-a', '+x', ' b', '-c', '+y']],
  ['a repeated line', 'a\na', 'a\na\na', [' a', ' a', '+a']],
  ['nothing in common', 'a', 'b', ['-a', '+b']],
])('%s', (_, before, after, lines) => {
  expect(shown(before, after)).toEqual(lines);
});

test('line numbers count in their own text', () => {
  expect(lineDiff('a\nb\nc', 'a\nc').map(({ before, after }) => [before, after])).toEqual([[1, 1], [2, null], [3, 2]]);
});

test('either text can be put together again, also where it is too long to compare line by line', () => {
  const before = Array.from({ length: 2500 }, (_, index) => `old ${index % 7} ${index}`).join('\n');
  const after = Array.from({ length: 2400 }, (_, index) => `new ${index % 5} ${index}`).join('\n');
  const lines = lineDiff(before, after);
  expect(lines.filter(({ kind }) => kind !== 'added').map(({ text }) => text).join('\n')).toBe(before);
  expect(lines.filter(({ kind }) => kind !== 'removed').map(({ text }) => text).join('\n')).toBe(after);
});

test('hunks leave out what is far from a change, and count it', () => {
  const before = Array.from({ length: 30 }, (_, index) => String(index));
  const after = before.with(10, 'x').with(14, 'y').with(28, 'z');
  const parts = hunks(lineDiff(before.join('\n'), after.join('\n')), 2);
  expect(parts.map(({ skipped, lines }) => [skipped, lines.length])).toEqual([[8, 11], [9, 5]]);
  expect(hunks(lineDiff('a', 'a'))).toEqual([]);
});
