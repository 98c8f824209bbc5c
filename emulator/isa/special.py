"""The special registers: their types, and what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# 'launch' is one value in all blocks, 'block' and 'warp' one in each, 'lane' differs between lanes,
# 'clock' changes whenever it is read.
Extent = Literal["launch", "block", "warp", "lane", "clock"]


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    name: str
    type: str
    extent: Extent
    meaning: str


def _axes(stem: str, extent: Extent, meaning: str) -> list[SpecialRegister]:
    return [SpecialRegister(f"%{stem}.{axis}", "u32", extent, f"{meaning}, axis {axis}.") for axis in "xyz"]


SPECIAL_REGISTERS: dict[str, SpecialRegister] = {
    register.name: register
    for register in [
        *_axes("tid", "lane", "Index of the thread in its block"),
        *_axes("ntid", "launch", "Threads of a block"),
        *_axes("ctaid", "block", "Index of the block in the grid"),
        *_axes("nctaid", "launch", "Blocks of the grid"),
        *_axes("clusterid", "block", "Index of the cluster in the grid"),
        *_axes("nclusterid", "launch", "Clusters of the grid"),
        *_axes("cluster_ctaid", "block", "Index of the block in its cluster"),
        *_axes("cluster_nctaid", "launch", "Blocks of a cluster"),
        SpecialRegister("%cluster_ctarank", "u32", "block", "Rank of the block in its cluster."),
        SpecialRegister("%cluster_nctarank", "u32", "launch", "Number of blocks of a cluster."),
        SpecialRegister("%is_explicit_cluster", "pred", "launch", "Whether the launch named a cluster size."),
        SpecialRegister("%laneid", "u32", "lane", "Number of the lane in its warp."),
        SpecialRegister("%warpid", "u32", "warp", "Number of the warp in its block."),
        SpecialRegister("%nwarpid", "u32", "launch", "Most warps of a multiprocessor."),
        SpecialRegister("%smid", "u32", "block", "Number of the multiprocessor."),
        SpecialRegister("%nsmid", "u32", "launch", "Number of multiprocessors."),
        SpecialRegister("%gridid", "u64", "launch", "Number of the grid."),
        SpecialRegister("%lanemask_eq", "b32", "lane", "The lane's own bit."),
        SpecialRegister("%lanemask_le", "b32", "lane", "The bits up to the lane's own."),
        SpecialRegister("%lanemask_lt", "b32", "lane", "The bits below the lane's own."),
        SpecialRegister("%lanemask_ge", "b32", "lane", "The bits from the lane's own on."),
        SpecialRegister("%lanemask_gt", "b32", "lane", "The bits above the lane's own."),
        SpecialRegister("%clock", "u32", "clock", "A cycle counter, lower half."),
        SpecialRegister("%clock_hi", "u32", "clock", "The cycle counter, upper half."),
        SpecialRegister("%clock64", "u64", "clock", "The cycle counter."),
        SpecialRegister("%globaltimer", "u64", "clock", "Nanoseconds of a clock common to all multiprocessors."),
        SpecialRegister("%globaltimer_lo", "u32", "clock", "The nanoseconds, lower half."),
        SpecialRegister("%globaltimer_hi", "u32", "clock", "The nanoseconds, upper half."),
        SpecialRegister("%dynamic_smem_size", "u32", "launch", "Bytes of dynamic shared memory."),
        SpecialRegister("%total_smem_size", "u32", "launch", "Bytes of static and dynamic shared memory."),
        SpecialRegister("%aggr_smem_size", "u32", "launch", "Bytes of all shared memory, the reserved part included."),
        SpecialRegister("%reserved_smem_offset_begin", "b32", "launch", "Where the reserved shared memory begins."),
        SpecialRegister("%reserved_smem_offset_end", "b32", "launch", "Where the reserved shared memory ends."),
        SpecialRegister("%reserved_smem_offset_cap", "b32", "launch", "Bytes of reserved shared memory in use."),
        *(
            SpecialRegister(f"%reserved_smem_offset_{n}", "b32", "launch", "An offset in the reserved shared memory.")
            for n in (0, 1)
        ),
        *(SpecialRegister(f"%pm{n}", "u32", "launch", "A performance counter, not set up.") for n in range(8)),
        *(SpecialRegister(f"%pm{n}_64", "u64", "launch", "A performance counter of 64 bits.") for n in range(8)),
        SpecialRegister("%current_graph_exec", "u64", "launch", "The graph being run; 0 outside one."),
        *(
            SpecialRegister(f"%envreg{n}", "b32", "launch", "Set by the driver for cooperative launches.")
            for n in range(32)
        ),
    ]
}
