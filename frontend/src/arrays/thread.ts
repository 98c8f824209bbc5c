/** Which thread of a launch covers an element of a buffer, where one thread stands for one element. */
import type { BufferRead, Launched, RunRequest, Step } from '../api/types';

export interface Place {
  block: [number, number, number];
  thread: [number, number, number];
  warp: number;
  lane: number;
}

type Extents = readonly number[];

/** Position of a launch's steps: `Launched.step` may name a path such as steps.0. */
function launchStep(steps: readonly Step[], path: string): Step | null {
  const [, index, ...rest] = path.split('.');
  const step = steps[Number(index)] ?? null;
  return rest.length && step?.kind === 'repeat' ? launchStep(step.steps, rest.join('.')) : step;
}

/** The last launch that covers the buffer or, where none does, that has it among its arguments. */
export function launchFor(buffer: BufferRead, request: RunRequest | null, launches: readonly Launched[]): Launched | null {
  if (!request) return null;
  let covering: Launched | null = null;
  let using: Launched | null = null;
  for (const launched of launches) {
    const step = launchStep(request.steps, launched.step);
    if (step?.kind !== 'launch') continue;
    const { grid } = step.config;
    if (!Array.isArray(grid) && grid.buffer === buffer.name) covering = launched;
    if (step.arguments?.some((argument) => argument.kind === 'buffer' && argument.buffer === buffer.name)) using = launched;
  }
  return covering ?? using;
}

/** Threads along each axis. */
const reach = (grid: Extents, block: Extents): number[] => grid.map((extent, axis) => extent * block[axis]!);

/** Thread at a position of the whole grid. */
function placeAt(position: Extents, block: Extents): Place {
  const blockIndex = position.map((value, axis) => Math.floor(value / block[axis]!));
  const thread = position.map((value, axis) => value % block[axis]!);
  const linear = thread[0]! + block[0]! * (thread[1]! + block[1]! * thread[2]!);
  return {
    block: blockIndex as Place['block'],
    thread: thread as Place['thread'],
    warp: Math.floor(linear / 32),
    lane: linear % 32,
  };
}

/**
 * The thread whose position in the grid is the element's index: axis by axis where the grid has the array's shape, else
 * flat where a one-dimensional grid has a thread an element. Null where the grid does neither.
 */
export function threadOf(index: Extents, shape: Extents, grid: Extents, block: Extents): Place | null {
  const [x = 0, y = 0, ...outer] = [...index].reverse();
  const [width = 1, height = 1, ...rest] = [...shape].reverse();
  const depth = rest.reduce((product, extent) => product * extent, 1);
  const z = [...outer].reverse().reduce((flat, value, axis) => flat * [...rest].reverse()[axis]! + value, 0);
  const [alongX, alongY, alongZ] = reach(grid, block) as [number, number, number];
  if (alongX >= width && alongY >= height && alongZ >= depth) return placeAt([x, y, z], block);
  if (alongY === 1 && alongZ === 1 && alongX >= width * height * depth) {
    return placeAt([x + width * (y + height * z), 0, 0], block);
  }
  return null;
}
