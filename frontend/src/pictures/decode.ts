/** Pictures as the browser decodes them: PNG, JPEG and WebP. */
import { MAX_PIXELS, MAX_SIDE } from './layouts';

export interface Picture {
  name: string;
  width: number;
  height: number;
  /** Red, green, blue, alpha, a byte each, row by row. */
  pixels: Uint8ClampedArray;
}

const TYPES = new Set(['image/png', 'image/jpeg', 'image/webp']);
const MAX_FILE_BYTES = 64 << 20;

export const ACCEPTED = [...TYPES, '.png', '.jpg', '.jpeg', '.webp'].join(',');

export const isPicture = (file: File): boolean => TYPES.has(file.type) || /\.(png|jpe?g|webp)$/i.test(file.name);

/** Throws with the reason in words. */
export async function decode(file: File): Promise<Picture> {
  if (file.size > MAX_FILE_BYTES) throw new Error(`${file.name} has more than ${MAX_FILE_BYTES >> 20} MiB: make the picture smaller.`);
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(file, { premultiplyAlpha: 'none', colorSpaceConversion: 'none' });
  } catch {
    throw new Error(`${file.name} is no PNG, JPEG or WebP picture that this browser can read.`);
  }
  const { width, height } = bitmap;
  try {
    if (width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS) {
      throw new Error(`${file.name} has ${width.toLocaleString('en-US')} × ${height.toLocaleString('en-US')} pixels; at most ${MAX_SIDE.toLocaleString('en-US')} along a side and ${(MAX_PIXELS / 1e6).toFixed(0)} million are taken. Make it smaller.`);
    }
    const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
    if (!context) throw new Error('This browser gives no canvas to decode the picture with.');
    context.drawImage(bitmap, 0, 0);
    return { name: file.name, width, height, pixels: context.getImageData(0, 0, width, height).data };
  } finally {
    bitmap.close();
  }
}
