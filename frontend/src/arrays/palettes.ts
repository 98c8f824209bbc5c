/** 256-entry palettes, and arrays painted with them. */
import { interpolateGreys, interpolateInferno, interpolateRdBu, interpolateViridis } from 'd3-scale-chromatic';
import type { BufferView } from '../api/types';
import { type NdArray, numberAt } from './npy';

export type Palette = NonNullable<BufferView['palette']>;

const RAMPS: Record<Exclude<Palette, 'rgb'>, (share: number) => string> = {
  viridis: interpolateViridis,
  inferno: interpolateInferno,
  gray: (share) => interpolateGreys(1 - share),
  diverging: (share) => interpolateRdBu(1 - share),
};

export const PALETTES: readonly Palette[] = ['viridis', 'inferno', 'gray', 'diverging', 'rgb'];

/** NaN and infinities are painted in a colour that no palette has. */
export const NOT_FINITE = 0xffff00ff;

function components(colour: string): [number, number, number] {
  if (colour.startsWith('#')) {
    const value = Number.parseInt(colour.slice(1), 16);
    return [value >> 16, (value >> 8) & 255, value & 255];
  }
  const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue];
}

const tables = new Map<Palette, Uint32Array<ArrayBuffer>>();

/** Pixels as ImageData holds them on a little-endian machine. */
export function palette(name: Palette): Uint32Array<ArrayBuffer> {
  let table = tables.get(name);
  if (!table) {
    const ramp = RAMPS[name === 'rgb' ? 'gray' : name];
    table = Uint32Array.from({ length: 256 }, (_, index) => {
      const [red, green, blue] = components(ramp(index / 255));
      return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
    });
    tables.set(name, table);
  }
  return table;
}

/** Values are spread by symlog where `logarithmic`: sign(v)·log1p(|v|). */
const spread = (value: number, logarithmic: boolean): number =>
  logarithmic ? Math.sign(value) * Math.log1p(Math.abs(value)) : value;

export interface Range {
  low: number;
  high: number;
}

/** Range of a palette: of a diverging one it is symmetric about 0. */
export function colourRange(range: Range, name: Palette): Range {
  if (name !== 'diverging') return range;
  const reach = Math.max(Math.abs(range.low), Math.abs(range.high));
  return { low: -reach, high: reach };
}

export function paintScalars(array: NdArray, range: Range, logarithmic: boolean, name: Palette, out: Uint32Array): void {
  const table = palette(name);
  const { low, high } = colourRange(range, name);
  const start = spread(low, logarithmic);
  const scale = 255.999 / (spread(high, logarithmic) - start || 1);
  for (let index = 0; index < out.length; index++) {
    const value = numberAt(array, index);
    const shade = (spread(value, logarithmic) - start) * scale;
    out[index] = Number.isFinite(value) ? table[shade < 0 ? 0 : shade > 255 ? 255 : shade | 0]! : NOT_FINITE;
  }
}

/** The last axis holds 3 or 4 components: bytes from 0 to 255, floating-point ones from 0 to 1. */
export function paintColours(array: NdArray, out: Uint32Array): void {
  const count = array.shape.at(-1)!;
  const scale = /float/.test(array.dtype) ? 255 : 1;
  const byte = (index: number): number => {
    const value = Number(array.data[index]) * scale;
    return value >= 255 ? 255 : value > 0 ? Math.round(value) : 0;
  };
  for (let pixel = 0; pixel < out.length; pixel++) {
    const at = pixel * count;
    const alpha = count === 4 ? byte(at + 3) : 255;
    out[pixel] = ((alpha << 24) | (byte(at + 2) << 16) | (byte(at + 1) << 8) | byte(at)) >>> 0;
  }
}

export function finiteRange(array: NdArray, count: number): Range {
  let low = Infinity;
  let high = -Infinity;
  for (let index = 0; index < count; index++) {
    const value = numberAt(array, index);
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : { low: 0, high: 0 };
}
