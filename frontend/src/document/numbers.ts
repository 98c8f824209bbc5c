/** Numbers as people type them: protocol/dtypes.py's reading, and what JSON carries without loss. */
import type { DType, NumberLike } from '../api/types';

export const DTYPES: readonly DType[] = [
  'float32', 'float64', 'float16', 'bfloat16', 'int32', 'uint32', 'int64', 'uint64', 'int8', 'uint8', 'int16', 'uint16',
  'bool', 'complex64', 'complex128',
];

export const ITEM_BYTES: Record<DType, number> = {
  bool: 1, int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4, int64: 8, uint64: 8,
  float16: 2, bfloat16: 2, float32: 4, float64: 8, complex64: 8, complex128: 16,
};

export type Read<T> = { ok: true; value: T } | { ok: false; message: string };

const good = <T>(value: T): Read<T> => ({ ok: true, value });
const bad = (message: string): Read<never> => ({ ok: false, message });

/** Width in bits and sign of an integer dtype, null for the others. */
export function integerBits(dtype: DType): { bits: number; signed: boolean } | null {
  const match = /^(u?)int(\d+)$/.exec(dtype);
  return match ? { bits: Number(match[2]), signed: match[1] === '' } : null;
}

export function integerRange(dtype: DType): [bigint, bigint] {
  const { bits, signed } = integerBits(dtype)!;
  const width = BigInt(bits);
  return signed ? [-(1n << (width - 1n)), (1n << (width - 1n)) - 1n] : [0n, (1n << width) - 1n];
}

const WHOLE = /^([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|[1-9][0-9]*|0+)$/;

/** A whole number of any size; `1_000`, `0xff` and `-5` are fine, `1.5` and `007` are not. */
export function wholeNumber(text: string): bigint | null {
  const match = WHOLE.exec(text.trim().replaceAll('_', ''));
  if (!match) return null;
  const magnitude = BigInt(match[2]!);
  return match[1] === '-' ? -magnitude : magnitude;
}

const exact = (value: bigint): NumberLike =>
  value > -(1n << 53n) && value < 1n << 53n ? Number(value) : value.toString();

const FLOAT = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const NOT_FINITE = /^[+-]?(nan|inf|infinity)$/i;
const PART = String.raw`(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan`;
const COMPLEX = new RegExp(`^[+-]?(?:${PART})(?:[+-](?:${PART})?j)?$|^[+-]?(?:${PART})?j$`, 'i');

/** The text as the request carries it for `dtype`, or what is wrong with it. */
export function readNumber(text: string, dtype: DType): Read<NumberLike> {
  const trimmed = text.trim();
  if (!trimmed) return bad('Give a value.');
  if (dtype === 'bool') {
    const key = trimmed.toLowerCase();
    if (key === 'true' || key === 'false') return good(key === 'true');
    if (key === '1' || key === '0') return good(Number(key));
    return bad(`“${trimmed}” is not a bool: give true or false.`);
  }
  if (integerBits(dtype)) {
    const value = wholeNumber(trimmed);
    if (value === null) return bad(`“${trimmed.slice(0, 40)}” is not a whole number.`);
    const [low, high] = integerRange(dtype);
    if (value < low || value > high) return bad(`${value} does not fit ${dtype}: ${low} to ${high}.`);
    return good(exact(value));
  }
  if (dtype.startsWith('complex')) {
    const real = readFloat(trimmed);
    if (real.ok) return real;
    const dense = trimmed.replace(/ /g, '');
    return COMPLEX.test(dense) ? good(dense) : bad(`“${trimmed.slice(0, 40)}” is not a complex number, such as 1+2j.`);
  }
  return readFloat(trimmed);
}

/** A floating-point value; text that says nan or inf stays text. */
export function readFloat(text: string): Read<NumberLike> {
  const trimmed = text.trim().replace(/(?<=\d)_(?=\d)/g, '');
  if (NOT_FINITE.test(trimmed)) return good(trimmed.toLowerCase());
  if (!FLOAT.test(trimmed)) return bad(trimmed ? `“${trimmed.slice(0, 40)}” is not a number.` : 'Give a value.');
  const value = Number(trimmed);
  // What overflows a double travels as text: the service reads it as infinity, as Python does.
  return good(Number.isFinite(value) ? value : trimmed);
}

/** A number where the dtype is not known yet: whole, floating or left as text for the service to judge. */
export function guessNumber(text: string): Read<NumberLike> {
  const trimmed = text.trim();
  if (!trimmed) return bad('Give a value.');
  if (/^(true|false)$/i.test(trimmed)) return good(trimmed.toLowerCase() === 'true');
  const whole = wholeNumber(trimmed);
  if (whole !== null) return good(exact(whole));
  const float = readFloat(trimmed);
  return float.ok ? float : good(trimmed);
}

/** A whole number of a launch: extents and bytes. */
export function readExtent(text: string, what: string, smallest = 0): Read<number> {
  const value = wholeNumber(text);
  if (value === null) return bad(`${what} must be a whole number.`);
  if (value < BigInt(smallest)) return bad(`${what} must be at least ${smallest}.`);
  if (value > 0xffff_ffffn) return bad(`${what} is too large.`);
  return good(Number(value));
}

export const writeNumber = (value: NumberLike): string => String(value);
