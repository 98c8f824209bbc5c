import { expect, test } from 'vitest';
import type { NdArray } from './npy';
import { colourRange, finiteRange, NOT_FINITE, paintColours, paintScalars, palette } from './palettes';

const floats = (values: number[], shape = [values.length]): NdArray => ({ dtype: 'float32', shape, data: Float32Array.from(values) });

function painted(values: number[], range: [number, number], logarithmic = false): number[] {
  const out = new Uint32Array(values.length);
  paintScalars(floats(values), { low: range[0], high: range[1] }, logarithmic, 'viridis', out);
  return [...out];
}

test('the ends of the range have the ends of the palette, and what lies outside has too', () => {
  const table = palette('viridis');
  expect(painted([0, 1, -5, 9], [0, 1])).toEqual([table[0], table[255], table[0], table[255]]);
});

test('NaN and infinity have a colour of their own', () => {
  expect(painted([NaN, Infinity], [0, 1])).toEqual([NOT_FINITE, NOT_FINITE]);
});

test('a logarithmic scale spreads small values', () => {
  const table = palette('viridis');
  const [, low] = painted([0, 10, 1000], [0, 1000]);
  const [, high] = painted([0, 10, 1000], [0, 1000], true);
  expect(table.indexOf(low!)).toBeLessThan(5);
  expect(table.indexOf(high!)).toBeGreaterThan(70);
});

test('a diverging palette is symmetric about 0', () => {
  expect(colourRange({ low: -1, high: 4 }, 'diverging')).toEqual({ low: -4, high: 4 });
});

test('ranges leave out what is not finite', () => {
  expect(finiteRange(floats([NaN, 3, -2, Infinity]), 4)).toEqual({ low: -2, high: 3 });
});

test('colours: bytes as they are, floats from 0 to 1, alpha where there is one', () => {
  const out = new Uint32Array(1);
  paintColours({ dtype: 'uint8', shape: [1, 1, 3], data: Uint8Array.of(255, 128, 0) }, out);
  expect(out[0]!.toString(16)).toBe('ff0080ff');
  paintColours(floats([1, 0.5, -3, 0], [1, 1, 4]), out);
  expect(out[0]!.toString(16).padStart(8, '0')).toBe('000080ff');
});
