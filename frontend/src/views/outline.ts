/** Draws the pointed pixel, and the block of threads that it belongs to. */
import type { Launched } from '../api/types';
import type { Place } from '../arrays/thread';

const BLOCK_INKS = [
  ['#000a', 3],
  ['#ffb224', 1.5],
] as const;

/** `scale` is screen pixels an element, `origin` the place of element (0, 0). */
export function outline(
  context: CanvasRenderingContext2D,
  pointed: { x: number; y: number },
  block: { place: Place; launched: Launched } | null,
  origin: { x: number; y: number },
  scale: number,
): void {
  if (block && block.launched.grid[1] * block.launched.block[1] > 1) {
    const [width, height] = block.launched.block;
    const [column, row] = block.place.block;
    for (const [ink, line] of BLOCK_INKS) {
      context.strokeStyle = ink;
      context.lineWidth = line;
      context.strokeRect(origin.x + column * width * scale, origin.y + row * height * scale, width * scale, height * scale);
    }
  }
  context.strokeStyle = '#fff';
  context.lineWidth = 1;
  const side = Math.max(scale, 3);
  context.strokeRect(origin.x + pointed.x * scale - 0.5, origin.y + pointed.y * scale - 0.5, side, side);
}
