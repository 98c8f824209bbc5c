/** Names of numba.cuda that completion offers and hovering explains, after Numba's CUDA kernel API reference. */
import type { CudaName, NameKind } from './names';

type Row = [name: string, kind: NameKind, signature: string, text: string];

const ROWS: Row[] = [
  ['jit', 'function', '@cuda.jit(signature=None, device=False, fastmath=False, max_registers=None)', 'Compiles a function for the GPU: a kernel, or with device=True a function that kernels call.'],
  ['grid', 'function', 'cuda.grid(ndim)', 'Index of this thread in the whole grid: a number for 1, a tuple for 2 or 3 dimensions.'],
  ['gridsize', 'function', 'cuda.gridsize(ndim)', 'Threads of the whole grid in each dimension: the stride of a grid-stride loop.'],
  ['threadIdx', 'variable', 'cuda.threadIdx.x', 'Index of this thread in its block. x runs fastest: 32 threads in a row along x make a warp.'],
  ['blockIdx', 'variable', 'cuda.blockIdx.x', 'Index of this block in the grid.'],
  ['blockDim', 'variable', 'cuda.blockDim.x', 'Threads of a block in each dimension; at most 1,024 in all.'],
  ['gridDim', 'variable', 'cuda.gridDim.x', 'Blocks of the grid in each dimension.'],
  ['laneid', 'variable', 'cuda.laneid', 'Index of this thread in its warp, 0 to 31.'],
  ['warpsize', 'variable', 'cuda.warpsize', 'Threads of a warp: 32.'],
  ['shared', 'variable', 'cuda.shared.array(shape, dtype)', 'An array on chip that the block’s threads share. Its shape is a constant; 0 stands for the launch’s dynamic shared memory.'],
  ['local', 'variable', 'cuda.local.array(shape, dtype)', 'An array of this thread’s own. Its shape is a constant.'],
  ['const', 'variable', 'cuda.const.array_like(array)', 'A read-only copy of a global array in constant memory.'],
  ['atomic', 'variable', 'cuda.atomic.add(array, index, value)', 'One indivisible change of an element: add, sub, max, min, and_, or_, xor, inc, dec, exch, cas. Returns the old value.'],
  ['syncthreads', 'function', 'cuda.syncthreads()', 'Waits until every thread of the block is here. All of them must call it.'],
  ['syncthreads_count', 'function', 'cuda.syncthreads_count(predicate)', 'syncthreads() that returns for how many threads the predicate is true.'],
  ['syncthreads_and', 'function', 'cuda.syncthreads_and(predicate)', 'syncthreads() that returns whether the predicate is true for all threads.'],
  ['syncthreads_or', 'function', 'cuda.syncthreads_or(predicate)', 'syncthreads() that returns whether the predicate is true for any thread.'],
  ['syncwarp', 'function', 'cuda.syncwarp(mask=0xFFFFFFFF)', 'Waits for the lanes of the warp that the mask names.'],
  ['threadfence', 'function', 'cuda.threadfence()', 'Makes this thread’s writes visible to the whole device before its later ones.'],
  ['threadfence_block', 'function', 'cuda.threadfence_block()', 'Makes this thread’s writes visible to its block before its later ones.'],
  ['shfl_sync', 'function', 'cuda.shfl_sync(mask, value, src_lane)', 'The value that another lane of the warp gives.'],
  ['shfl_up_sync', 'function', 'cuda.shfl_up_sync(mask, value, delta)', 'The value of the lane that is delta below.'],
  ['shfl_down_sync', 'function', 'cuda.shfl_down_sync(mask, value, delta)', 'The value of the lane that is delta above.'],
  ['shfl_xor_sync', 'function', 'cuda.shfl_xor_sync(mask, value, lane_mask)', 'The value of the lane whose index differs in the bits of lane_mask.'],
  ['all_sync', 'function', 'cuda.all_sync(mask, predicate)', 'Whether the predicate is true in every lane of the mask.'],
  ['any_sync', 'function', 'cuda.any_sync(mask, predicate)', 'Whether the predicate is true in some lane of the mask.'],
  ['ballot_sync', 'function', 'cuda.ballot_sync(mask, predicate)', 'A bit for each lane: whether its predicate is true.'],
  ['activemask', 'function', 'cuda.activemask()', 'The lanes that run this instruction together.'],
  ['popc', 'function', 'cuda.popc(x)', 'Number of bits that are set.'],
  ['brev', 'function', 'cuda.brev(x)', 'The bits in reverse order.'],
  ['clz', 'function', 'cuda.clz(x)', 'Zeros before the highest bit that is set.'],
  ['ffs', 'function', 'cuda.ffs(x)', 'Position of the lowest bit that is set, counted from 1; 0 where none is.'],
  ['fma', 'function', 'cuda.fma(a, b, c)', 'a · b + c, rounded once.'],
  ['selp', 'function', 'cuda.selp(a, b, c)', 'b where a is true, else c.'],
  ['nanosleep', 'function', 'cuda.nanosleep(ns)', 'Pauses the thread for about so many nanoseconds.'],
];

export const NUMBA_NAMES: ReadonlyMap<string, CudaName> = new Map(ROWS.map(([name, kind, signature, text]) => [name, { kind, signature, text }]));
