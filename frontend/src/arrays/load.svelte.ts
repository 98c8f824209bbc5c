/** Keeps the array behind an address; a newer address ends the older request. */
import { fetchNpy, type NdArray } from './npy';

export class Loaded {
  array = $state.raw<NdArray | null>(null);
  failure = $state('');
  busy = $state(false);
  private url = '';
  private abort: AbortController | null = null;

  async load(url: string): Promise<void> {
    if (url === this.url) return;
    this.url = url;
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    this.busy = true;
    this.failure = '';
    try {
      const array = await fetchNpy(url, abort.signal);
      if (!abort.signal.aborted) this.array = array;
    } catch (error) {
      if (!abort.signal.aborted) this.failure = `The array could not be read: ${error instanceof Error ? error.message : String(error)}`;
    } finally {
      if (!abort.signal.aborted) this.busy = false;
    }
  }
}
