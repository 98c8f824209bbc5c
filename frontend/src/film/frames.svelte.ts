/** The frames of a film, fetched a batch at a time around the one that is shown; all that came are kept. */
import { SvelteMap } from 'svelte/reactivity';
import { filmUrl } from '../api/client';
import { fetchNpy, isComplex, type NdArray } from '../arrays/npy';

const BATCH_BYTES = 4 << 20;

/** Frames of one answer. */
export const batchSize = (frameBytes: number): number => Math.max(1, Math.floor(BATCH_BYTES / Math.max(1, frameBytes)));

/** The arrays that are stacked along the first axis. */
export function unstacked({ dtype, shape, data }: NdArray): NdArray[] {
  const [count = 0, ...inner] = shape;
  const size = inner.reduce((product, extent) => product * extent, isComplex(dtype) ? 2 : 1);
  return Array.from({ length: count }, (_, index) => ({
    dtype,
    shape: inner,
    data: data.subarray(index * size, (index + 1) * size) as NdArray['data'],
  }));
}

export class Frames {
  failure = $state('');
  private frames = new SvelteMap<number, NdArray>();
  private asked = new Set<number>();
  private readonly size: number;

  /** `plane`: NumPy's slice of each frame; empty for all of it. */
  constructor(
    private readonly run: string,
    private readonly count: number,
    frameBytes: number,
    private readonly plane: string,
    private readonly arrived: (frame: NdArray) => void,
  ) {
    this.size = batchSize(frameBytes);
  }

  get(index: number): NdArray | null {
    return this.frames.get(index) ?? null;
  }

  has(index: number): boolean {
    return this.frames.has(index);
  }

  /** Fetches the frame's batch and the one behind it, where they are neither here nor on their way. */
  want(index: number): void {
    const batch = Math.floor(index / this.size);
    for (const wanted of [batch, batch + 1]) if (wanted * this.size < this.count && !this.asked.has(wanted)) this.fetch(wanted);
  }

  private fetch(batch: number): void {
    this.asked.add(batch);
    const from = batch * this.size;
    const slice = `${from}:${Math.min(this.count, from + this.size)}${this.plane && `,${this.plane}`}`;
    void fetchNpy(filmUrl(this.run, slice)).then(
      (array) => {
        for (const [index, frame] of unstacked(array).entries()) {
          this.arrived(frame);
          this.frames.set(from + index, frame);
        }
        this.failure = '';
      },
      (error: unknown) => {
        this.asked.delete(batch);
        this.failure = `Frames could not be read: ${error instanceof Error ? error.message : String(error)}`;
      },
    );
  }
}
