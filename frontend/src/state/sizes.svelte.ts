/** Which cells are tried, and the job that tries them. */
import type { Sweep } from '../api/types';
import type { Row } from '../sizes/rows';
import { chosenShapes, naturalSet, type ShapeSet, writeBlock } from '../sizes/shapes';
import { countCells, NOTHING, readTyped, type Typed, typedOf } from '../sizes/sweep';
import { run } from './run.svelte';
import { ui } from './ui.svelte';
import { workspace } from './workspace.svelte';

class Sizes {
  /** Null until the user chooses: then the launch decides. */
  chosen = $state<ShapeSet | null>(null);
  typed = $state<string | null>(null);
  /** What was typed beside the shapes, by document. */
  private edited = $state<{ key: string; typed: Typed } | null>(null);

  came = $derived(workspace.draft.sweep);
  set = $derived<ShapeSet>(this.chosen ?? (this.came ? 'own' : naturalSet(workspace.block)));
  own = $derived(this.typed ?? (this.came ? this.came.blocks.map(writeBlock).join(', ').replaceAll(/(\d),(\d)/g, '$1$2') : '64, 128, 256, 512'));
  shapes = $derived(chosenShapes(this.set, this.own));
  more = $derived<Typed>(this.edited?.key === workspace.origin.key ? this.edited.typed : this.came ? typedOf(this.came) : NOTHING);
  read = $derived(readTyped(this.more));
  fault = $derived(this.shapes.ok ? (this.read.ok ? '' : this.read.message) : this.shapes.message);
  cells = $derived(this.shapes.ok && this.read.ok ? countCells(this.shapes.value.length, this.read.value) : 0);
  /** Macros are the preprocessor's. */
  hasMacros = $derived(workspace.draft.language === 'cuda-c++');

  edit(field: keyof Typed, text: string): void {
    this.edited = { key: workspace.origin.key, typed: { ...this.more, [field]: text } };
  }

  async start(): Promise<void> {
    if (run.busy) return;
    ui.show('sizes');
    if (!this.shapes.ok || !this.read.ok) {
      ui.say(`Not sent: ${this.fault}`, true);
      return;
    }
    const sweep: Sweep = { blocks: this.shapes.value, step: workspace.launchPath, ...this.read.value };
    workspace.tried = sweep;
    await run.start(sweep, { estimate: 'auto' });
  }

  /** The cell becomes the launch that was tried: its block, its macros, and a grid that does not follow from them. */
  use(row: Row): void {
    const { launch } = workspace;
    if (!launch) return;
    const [x = 1, y = 1, z = 1] = row.block;
    launch.block = [String(x), y === 1 && z === 1 ? '' : String(y), z === 1 ? '' : String(z)];
    const { options } = workspace.draft;
    const given = Object.entries(row.macros).map(([name, value]) => ({ name, value }));
    if (given.length) options.defines = [...options.defines.filter(({ name }) => !(name in row.macros)), ...given];
    const sweep = run.swept?.request.sweep;
    if (row.swept && sweep?.grid?.length) {
      launch.cover = '';
      launch.grid = row.swept.grid.map(String) as [string, string, string];
    }
    if (row.swept && sweep?.dynamic_shared_bytes) launch.shared = String(row.swept.dynamic_shared_bytes);
    ui.say(`The block is ${writeBlock(row.block)}${given.length ? `, with ${given.map(({ name, value }) => `${name}=${value}`).join(', ')}` : ''}.`);
  }
}

export const sizes = new Sizes();
