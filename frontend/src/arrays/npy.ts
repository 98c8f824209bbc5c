/** Reads .npy files, and prints their elements. */
import type { DType } from '../api/types';

type Numbers =
  | Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array
  | BigInt64Array | BigUint64Array;

export interface NdArray {
  dtype: DType;
  shape: number[];
  /** Row-major. Half precision is widened to float32; a complex element takes two places. */
  data: Numbers;
}

const DESCRIPTIONS: Record<string, DType> = {
  b1: 'bool', i1: 'int8', u1: 'uint8', i2: 'int16', u2: 'uint16', i4: 'int32', u4: 'uint32', i8: 'int64', u8: 'uint64',
  f2: 'float16', f4: 'float32', f8: 'float64', c8: 'complex64', c16: 'complex128',
};

/** \x93NUMPY */
const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];

/** Half precision, given as its 16 bits. */
export function halfToFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function view(dtype: DType, bytes: ArrayBuffer, offset: number): Numbers {
  // Typed arrays need alignment; the header of a .npy is padded, but its length is the writer's choice.
  const [buffer, start] = offset % 8 === 0 ? [bytes, offset] : [bytes.slice(offset), 0];
  switch (dtype) {
    case 'bool':
    case 'uint8':
      return new Uint8Array(buffer, start);
    case 'int8':
      return new Int8Array(buffer, start);
    case 'int16':
      return new Int16Array(buffer, start);
    case 'uint16':
      return new Uint16Array(buffer, start);
    case 'int32':
      return new Int32Array(buffer, start);
    case 'uint32':
      return new Uint32Array(buffer, start);
    case 'int64':
      return new BigInt64Array(buffer, start);
    case 'uint64':
      return new BigUint64Array(buffer, start);
    case 'float32':
    case 'complex64':
      return new Float32Array(buffer, start);
    case 'float64':
    case 'complex128':
      return new Float64Array(buffer, start);
    case 'float16':
      return Float32Array.from(new Uint16Array(buffer, start), halfToFloat);
    case 'bfloat16':
      return new Float32Array(Uint32Array.from(new Uint16Array(buffer, start), (bits) => bits << 16).buffer);
  }
}

/** `dtype` overrules the header, for what NumPy cannot name: bfloat16 as uint16. Throws on a malformed file. */
export function readNpy(bytes: ArrayBuffer, dtype: DType | null = null): NdArray {
  const head = new DataView(bytes);
  if (bytes.byteLength < 12 || MAGIC.some((byte, index) => head.getUint8(index) !== byte)) throw new Error('not a .npy file');
  const wide = head.getUint8(6) > 1;
  const length = wide ? head.getUint32(8, true) : head.getUint16(8, true);
  const start = wide ? 12 : 10;
  const header = new TextDecoder('latin1').decode(bytes.slice(start, start + length));
  const description = /'descr':\s*'[<|=>]?(\w+)'/.exec(header)?.[1] ?? '';
  const found = dtype ?? DESCRIPTIONS[description];
  if (!found) throw new Error(`elements of type ${description} are unknown`);
  if (/'fortran_order':\s*True/.test(header)) throw new Error('the array is not row-major');
  const shape = (/'shape':\s*\(([^)]*)\)/.exec(header)?.[1] ?? '').split(',').filter((part) => part.trim()).map(Number);
  return { dtype: found, shape, data: view(found, bytes, start + length) };
}

export const isComplex = (dtype: DType): boolean => dtype.startsWith('complex');

/** One element as a number: of a complex one its magnitude. */
export function numberAt({ dtype, data }: NdArray, index: number): number {
  if (isComplex(dtype)) return Math.hypot(Number(data[2 * index]), Number(data[2 * index + 1]));
  return Number(data[index]);
}

const double = (value: number): string => (Object.is(value, -0) ? '-0' : String(value).replace('Infinity', 'inf').replace('NaN', 'nan'));

/** The shortest text that reads back as the same float32. */
function single(value: number): string {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return double(Object.is(value, -0) ? value : short);
  }
  return double(Number.isFinite(value) ? Number(value.toPrecision(9)) : value);
}

/** One element as text that reads back as the same element. */
export function textAt({ dtype, data }: NdArray, index: number): string {
  if (isComplex(dtype)) {
    const imaginary = Number(data[2 * index + 1]);
    const write = dtype === 'complex64' ? single : double;
    return `${write(Number(data[2 * index]))}${imaginary < 0 || Object.is(imaginary, -0) ? '-' : '+'}${write(Math.abs(imaginary))}j`;
  }
  if (dtype === 'bool') return data[index] ? 'true' : 'false';
  const value = data[index]!;
  if (typeof value === 'bigint' || /int/.test(dtype)) return String(value);
  return dtype === 'float64' ? double(value) : single(value);
}

/** Fetches an array; throws with the reason in words. */
export async function fetchNpy(url: string, signal?: AbortSignal): Promise<NdArray> {
  const response = await fetch(url, signal ? { signal } : {});
  if (!response.ok) {
    const problem = (await response.json().catch(() => ({}))) as { detail?: string };
    throw new Error(problem.detail || `the service answered with status ${response.status}`);
  }
  const dtype = response.headers.get('x-warpyard-dtype') as DType | null;
  return readNpy(await response.arrayBuffer(), dtype);
}
