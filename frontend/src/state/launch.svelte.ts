/** The selected launch against its kernel and its GPU: occupancy and what makes it impossible. */
import type { Resources } from '../api/types';
import { readExtent } from '../document/numbers';
import { launchFaults, type KernelResources, occupancy } from '../occupancy/occupancy';
import { workspace } from './workspace.svelte';

/** Of a kernel that has not compiled yet: nothing but the block limits anything. */
const UNKNOWN: KernelResources = { registers: 0, static_shared_bytes: 0, barriers: 0, max_threads_per_block: 1024 };

class LaunchFacts {
  architecture = $derived(workspace.draft.architecture);
  resources = $derived<Resources | null>(workspace.entry?.resources ?? null);
  threads = $derived(workspace.block.reduce((product, extent) => product * extent, 1));
  blocks = $derived(workspace.grid.reduce((product, extent) => product * extent, 1));
  shared = $derived.by(() => {
    const read = readExtent(workspace.launch?.shared.trim() || '0', '');
    return read.ok ? read.value : 0;
  });
  occupancy = $derived(occupancy(this.architecture, this.resources ?? UNKNOWN, workspace.grid, workspace.block, this.shared));
  faults = $derived(
    launchFaults(this.architecture, this.resources, workspace.grid, workspace.block, this.shared).filter(
      // Without a readable shape, or with a block of 0, the grid's own fault is not the grid's.
      ({ field }) => field !== 'grid' || (workspace.covered !== null && (!workspace.launch?.cover || this.threads > 0)),
    ),
  );

  /** The fault of a configuration field: unreadable text first, then what the GPU cannot do. */
  fault(field: 'grid' | 'block' | 'dynamic_shared_bytes'): string | null {
    return workspace.fault(`${workspace.launchPath}.config.${field}`) ?? this.faults.find((fault) => fault.field === field)?.message ?? null;
  }
}

export const facts = new LaunchFacts();
