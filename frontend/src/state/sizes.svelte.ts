/** Which block shapes are tried, and the job that tries them. */
import { chosenShapes, naturalSet, type ShapeSet, writeBlock } from '../sizes/shapes';
import { run } from './run.svelte';
import { ui } from './ui.svelte';
import { workspace } from './workspace.svelte';

class Sizes {
  /** Null until the user chooses: then the launch decides. */
  chosen = $state<ShapeSet | null>(null);
  typed = $state<string | null>(null);

  came = $derived(workspace.draft.sweep?.blocks ?? null);
  set = $derived<ShapeSet>(this.chosen ?? (this.came ? 'own' : naturalSet(workspace.block)));
  own = $derived(this.typed ?? (this.came ? this.came.map(writeBlock).join(', ').replaceAll(/(\d),(\d)/g, '$1$2') : '64, 128, 256, 512'));
  shapes = $derived(chosenShapes(this.set, this.own));

  async start(): Promise<void> {
    if (run.busy) return;
    ui.show('sizes');
    if (!this.shapes.ok) {
      ui.say(`Not sent: ${this.shapes.message}`, true);
      return;
    }
    await run.start({ blocks: this.shapes.value, step: workspace.launchPath });
  }

  /** The shape becomes the block of the launch that was tried. */
  use(block: readonly number[]): void {
    if (!workspace.launch) return;
    const [x = 1, y = 1, z = 1] = block;
    workspace.launch.block = [String(x), y === 1 && z === 1 ? '' : String(y), z === 1 ? '' : String(z)];
    ui.say(`The block is ${writeBlock(block)}.`);
  }
}

export const sizes = new Sizes();
