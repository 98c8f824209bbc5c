/** Pages of a large array, fetched as a table shows them; the least recently used ones are dropped. */
import { SvelteMap } from 'svelte/reactivity';
import { fetchNpy, type NdArray } from './npy';

const KEPT = 60;

export class Tiles {
  failure = $state('');
  private tiles = new SvelteMap<string, NdArray>();
  private asked = new Set<string>();

  /** The page behind an address, null until it has come. Reading it inside a view redraws the view then. */
  get(url: string): NdArray | null {
    return this.tiles.get(url) ?? null;
  }

  /** Fetches a page that is neither here nor on its way. */
  want(url: string): void {
    if (this.asked.has(url)) return;
    this.asked.add(url);
    void fetchNpy(url).then(
      (array) => {
        this.tiles.set(url, array);
        this.failure = '';
        if (this.tiles.size <= KEPT) return;
        const oldest = this.tiles.keys().next().value!;
        this.tiles.delete(oldest);
        this.asked.delete(oldest);
      },
      (error: unknown) => {
        this.asked.delete(url);
        this.failure = `A part of the array could not be read: ${error instanceof Error ? error.message : String(error)}`;
      },
    );
  }
}
