/** The edits of steps on the page: applied to the open document, told, and undone where something was taken away. */
import { tick } from 'svelte';
import type { LaunchDraft, StepDraft } from '../document/draft';
import { launches, walkSteps } from '../document/draft';
import { callName } from '../document/entries';
import { offered } from '../document/load';
import { crowded, duplicate, type Edited, launchLike, likeBuffers, move, needed, putAfter, putAt, removal, removeAt, repeated, stepAt, tooDeep } from '../document/steps';
import { stepName } from '../document/step-limits';
import { workspace } from '../state/workspace.svelte';

export function stepWords(step: StepDraft): string {
  switch (step.kind) {
    case 'repeat':
      return `repeat ${step.count} times`;
    case 'swap':
      return `swap ${step.first} and ${step.second}`;
    case 'fill':
      return `fill ${step.buffer} with ${step.value}`;
    case 'launch': {
      const only = workspace.entries.length === 1 ? workspace.entries[0] : null;
      return `launch ${step.entry || (only ? callName(only) : 'the kernel')}`;
    }
  }
}

class StepsEdit {
  /** The step that was touched last. */
  private touched = $state('');
  private key = '';
  /** The step whose commands are shown. */
  open = $state<string | null>(null);
  refusal = $state<string | null>(null);
  removed = $state.raw<{ text: string; path: string; step: StepDraft } | null>(null);

  /** What a new step comes after; of a repeat that is its last step. */
  here = $derived.by(() => {
    const step = this.touched ? stepAt(workspace.draft.steps, this.touched) : null;
    if (!step) return workspace.launchPath;
    return step.kind === 'repeat' ? `${this.touched}.steps.${step.steps.length - 1}` : this.touched;
  });

  /** What was said of one document does not stand in another. */
  follow(key: string): void {
    if (key === this.key) return;
    this.key = key;
    this.touched = '';
    this.open = this.refusal = this.removed = null;
  }

  touch(path: string): void {
    this.touched = path;
  }

  launch(entry: string): void {
    const from = workspace.launch;
    if (!from || this.refused(crowded(workspace.draft.steps, this.here))) return;
    this.apply(putAfter(workspace.draft.steps, this.here, launchLike(from as LaunchDraft, entry)), 'launch');
    workspace.chooseEntry(entry);
  }

  swap(): void {
    const pair = likeBuffers(workspace.draft, workspace.launch);
    if (this.refused(pair ? crowded(workspace.draft.steps, this.here) : 'No two buffers have the same element type and shape, so none can be swapped.')) return;
    const [first, second] = pair!;
    for (const buffer of workspace.draft.buffers) {
      // What was only read holds, once swapped, what was written.
      if (pair!.includes(buffer.name) && buffer.role === 'in') buffer.role = 'inout';
    }
    this.apply(putAfter(workspace.draft.steps, this.here, { kind: 'swap', first, second }), 'field');
  }

  fill(): void {
    const buffer = workspace.launch?.arguments.find(({ kind }) => kind === 'buffer')?.buffer ?? offered(workspace.draft)[0];
    if (this.refused(buffer ? crowded(workspace.draft.steps, this.here) : 'There is no buffer to fill.')) return;
    this.apply(putAfter(workspace.draft.steps, this.here, { kind: 'fill', buffer: buffer!, value: '0' }), 'field');
  }

  repeat(path: string, count = 1): void {
    if (this.refused(tooDeep(workspace.draft.steps, path, count))) return;
    this.open = null;
    this.apply(repeated(workspace.draft.steps, path, count), 'field');
  }

  duplicate(path: string): void {
    if (this.refused(crowded(workspace.draft.steps, path))) return;
    this.open = null;
    this.apply(duplicate(workspace.draft.steps, path), 'change');
  }

  move(path: string, by: -1 | 1): void {
    const edited = move(workspace.draft.steps, path, by);
    this.open = edited.path;
    this.apply(edited, by < 0 ? 'up' : 'down');
  }

  remove(path: string): void {
    if (this.refused(needed(workspace.draft.steps, path))) return;
    const { path: whole, step } = removal(workspace.draft.steps, path);
    this.removed = { text: `Step ${stepName(whole)} is removed: ${stepWords(step)}.`, path: whole, step: $state.snapshot(step) as StepDraft };
    workspace.draft.steps = removeAt(workspace.draft.steps, path);
    this.open = null;
    this.touched = '';
    void this.focus('.removed button');
  }

  undo(): void {
    if (!this.removed) return;
    const edited = putAt(workspace.draft.steps, this.removed.path, this.removed.step);
    this.removed = null;
    this.apply(edited, 'change');
  }

  private refused(why: string | null): boolean {
    this.refusal = why;
    return why !== null;
  }

  private apply({ steps, path }: Edited, control: string): void {
    this.key = workspace.origin.key;
    this.refusal = null;
    const wanted = launches([stepAt(steps, path)!]).next().value?.[0];
    workspace.draft.steps = steps;
    this.touched = path;
    if (wanted) workspace.selected = path + wanted.slice('steps.0'.length);
    else if (!stepAt(steps, workspace.selected) || stepAt(steps, workspace.selected)!.kind !== 'launch') {
      workspace.selected = [...walkSteps(steps)].find(([, step]) => step.kind === 'launch')![0];
    }
    void this.focus(`[data-step='${path}'] [data-control='${control}']:not(:disabled)`, `[data-step='${path}'] [data-control='change']`);
  }

  private async focus(...selectors: string[]): Promise<void> {
    // The list itself is loaded with the second step.
    for (let turn = 0; turn < 20; turn++) {
      await tick();
      const found = selectors.map((selector) => document.querySelector<HTMLElement>(`.steps ${selector}`)).find(Boolean);
      if (found) {
        found.focus();
        if (found instanceof HTMLInputElement) found.select();
        return;
      }
      await new Promise(requestAnimationFrame);
    }
  }
}

export const stepsEdit = new StepsEdit();
