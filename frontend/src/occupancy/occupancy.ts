/** Theoretical occupancy, as engine/devices/occupancy.py computes it, so that the form can show it while one types. */
import table from '../../../engine/devices/architectures.json';
import type { Occupancy, Resources } from '../api/types';

export type Limits = (typeof table)['sm_90'];
export type Resource = NonNullable<Occupancy['limits']>[number]['resource'];
export type KernelResources = Pick<
  Resources,
  'registers' | 'static_shared_bytes' | 'barriers' | 'max_threads_per_block'
>;

export interface Limit {
  resource: Resource;
  /** Blocks an SM that the resource allows. */
  blocks: number;
}

export interface Point {
  threads: number;
  blocks: number;
  warps: number;
  /** Resources that allow the fewest blocks, or launch-bounds. */
  limiters: readonly string[];
}

export const LAUNCH_BOUNDS = 'launch-bounds';

export const RESOURCE_NAMES: Record<string, string> = {
  warps: 'warps',
  blocks: 'blocks',
  registers: 'registers',
  shared: 'shared memory',
  barriers: 'barriers',
  [LAUNCH_BOUNDS]: '__launch_bounds__',
};

export const ARCHITECTURES = Object.keys(table);

/** Limits of an architecture that the protocol names. */
export const limitsOf = (architecture: string): Limits => table[architecture as 'sm_90'] ?? table.sm_90;

export const maxWarps = (limits: Limits): number => Math.floor(limits.max_threads_per_sm / limits.warp_size);

const product = (extents: readonly number[]): number => extents.reduce((result, extent) => result * extent, 1);

function byRegisters(limits: Limits, warps: number, registers: number): number {
  if (registers > limits.max_registers_per_thread || !warps) return 0;
  const unit = limits.register_allocation_unit;
  const partitions = limits.sub_partitions;
  const aWarp = Math.ceil((registers * limits.warp_size) / unit) * unit;
  // The hardware checks a block as if its warps filled all sub-partitions evenly.
  if (aWarp * Math.ceil(warps / partitions) * partitions > limits.registers_per_block) return 0;
  const aPartition = Math.floor(Math.floor(limits.registers_per_sm / partitions) / aWarp);
  return Math.floor((aPartition * partitions) / warps);
}

/** Blocks an SM that each resource allows; 0 means that the launch is not possible. */
export function blockLimits(limits: Limits, threads: number, registers: number, sharedBytes: number, barriers = 0): Limit[] {
  const warps = Math.ceil(threads / limits.warp_size);
  const fits = threads > 0 && threads <= limits.max_threads_per_block;
  const found: Limit[] = [
    { resource: 'warps', blocks: fits ? Math.floor(maxWarps(limits) / warps) : 0 },
    { resource: 'blocks', blocks: limits.max_blocks_per_sm },
  ];
  if (registers) found.push({ resource: 'registers', blocks: byRegisters(limits, warps, registers) });
  const unit = limits.shared_allocation_unit;
  const allocated = Math.ceil((sharedBytes + limits.shared_reserved_per_block) / unit) * unit;
  if (sharedBytes > limits.shared_per_block_optin) found.push({ resource: 'shared', blocks: 0 });
  else if (allocated) found.push({ resource: 'shared', blocks: Math.floor(limits.shared_per_sm / allocated) });
  if (barriers && limits.barriers_limit_blocks) {
    found.push({ resource: 'barriers', blocks: Math.floor(limits.barriers_per_sm / barriers) });
  }
  return found;
}

const launchLimits = (limits: Limits, resources: KernelResources, threads: number, dynamicShared: number): Limit[] =>
  blockLimits(limits, threads, resources.registers, (resources.static_shared_bytes ?? 0) + dynamicShared, resources.barriers ?? 0);

const fewest = (limits: readonly Limit[]): number => Math.min(...limits.map(({ blocks }) => blocks));

/** Occupancy of one launch. `tail` is the share of the last wave's places that stay empty. */
export function occupancy(
  architecture: string,
  resources: KernelResources,
  grid: readonly number[],
  block: readonly number[],
  dynamicShared: number,
): Occupancy & { limits: Limit[] } {
  const limits = limitsOf(architecture);
  const threads = product(block);
  const blocks = product(grid);
  const byResource = launchLimits(limits, resources, threads, dynamicShared);
  const perSm = fewest(byResource);
  const wholeGpu = perSm * limits.gpu.sm_count;
  const last = wholeGpu ? blocks % wholeGpu : 0;
  return {
    architecture,
    blocks_per_sm: perSm,
    warps_per_sm: perSm * Math.ceil(threads / limits.warp_size),
    max_warps_per_sm: maxWarps(limits),
    limits: byResource,
    limiters: byResource.filter((item) => item.blocks === perSm).map(({ resource }) => resource),
    gpu: limits.gpu.name,
    sm_count: limits.gpu.sm_count,
    waves: wholeGpu ? blocks / wholeGpu : 0,
    tail: last ? 1 - last / wholeGpu : 0,
  };
}

/** Occupancy at every block size that is a whole number of warps. */
export function curve(architecture: string, resources: KernelResources, dynamicShared: number): Point[] {
  const limits = limitsOf(architecture);
  const points: Point[] = [];
  for (let threads = limits.warp_size; threads <= limits.max_threads_per_block; threads += limits.warp_size) {
    if (threads > (resources.max_threads_per_block ?? 1024)) {
      points.push({ threads, blocks: 0, warps: 0, limiters: [LAUNCH_BOUNDS] });
      continue;
    }
    const byResource = launchLimits(limits, resources, threads, dynamicShared);
    const blocks = fewest(byResource);
    points.push({
      threads,
      blocks,
      warps: (blocks * threads) / limits.warp_size,
      limiters: byResource.filter((item) => item.blocks === blocks).map(({ resource }) => resource),
    });
  }
  return points;
}

/** Why a launch is not possible on an architecture, by the field to mend. */
export function launchFaults(
  architecture: string,
  resources: KernelResources | null,
  grid: readonly number[],
  block: readonly number[],
  dynamicShared: number,
): { field: 'grid' | 'block' | 'dynamic_shared_bytes'; message: string }[] {
  const limits = limitsOf(architecture);
  const count = (value: number) => value.toLocaleString('en-US');
  const faults: ReturnType<typeof launchFaults> = [];
  const threads = product(block);
  const bound = Math.min(resources?.max_threads_per_block ?? Infinity, limits.max_threads_per_block);
  const axis = block.findIndex((extent, index) => extent > limits.max_block[index]!);
  if (block.some((extent) => extent < 1)) faults.push({ field: 'block', message: 'Every extent of a block is at least 1.' });
  else if (threads > limits.max_threads_per_block) {
    faults.push({ field: 'block', message: `A block has at most ${count(limits.max_threads_per_block)} threads; this one has ${count(threads)}.` });
  } else if (axis >= 0) {
    faults.push({ field: 'block', message: `Block ${'xyz'[axis]} is at most ${count(limits.max_block[axis]!)}.` });
  } else if (threads > bound) {
    faults.push({ field: 'block', message: `__launch_bounds__ allows ${count(bound)} threads a block; this one has ${count(threads)}.` });
  }
  const wide = grid.findIndex((extent, index) => extent > limits.max_grid[index]!);
  if (grid.some((extent) => extent < 1)) faults.push({ field: 'grid', message: 'Every extent of a grid is at least 1.' });
  else if (wide >= 0) faults.push({ field: 'grid', message: `Grid ${'xyz'[wide]} is at most ${count(limits.max_grid[wide]!)}.` });
  const fixed = resources?.static_shared_bytes ?? 0;
  if (fixed + dynamicShared > limits.shared_per_block_optin) {
    const used = fixed ? `${count(fixed)} bytes are static` : 'none is static';
    faults.push({
      field: 'dynamic_shared_bytes',
      message: `A block has at most ${count(limits.shared_per_block_optin)} bytes of shared memory on ${architecture}; ${used}.`,
    });
  }
  return faults;
}
