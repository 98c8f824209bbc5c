"""Theoretical occupancy: how many blocks of a launch one SM holds, what limits them, and how a grid fills the GPU.

The rules are those of NVIDIA's occupancy calculator (cuda_occupancy.h): warps, blocks, registers, shared memory and,
from Hopper on, named barriers each allow a number of blocks an SM; the smallest is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.devices.architectures import Gpu, Limits, architectures
from protocol.inspection import OccupancyPoint
from protocol.kernel import Occupancy, OccupancyLimit, Resources

LAUNCH_BOUNDS = "launch-bounds"
"""The limiter of a block size that __launch_bounds__ rules out."""


def resident_blocks(
    architecture: str, resources: Resources, grid: Sequence[int], block: Sequence[int], dynamic_shared_bytes: int
) -> int:
    """How many blocks of a launch the GPU that the architecture stands for holds at once."""
    computed = occupancy(architecture, resources, grid, block, dynamic_shared_bytes)
    return computed.blocks_per_sm * architectures()[architecture].gpu.sm_count


def resident_blocks_per_sm(
    architecture: str, resources: Resources, block: Sequence[int], dynamic_shared_bytes: int
) -> int:
    """How many blocks of a launch one SM holds at once."""
    return occupancy(architecture, resources, (1, 1, 1), block, dynamic_shared_bytes).blocks_per_sm


def block_limits(
    limits: Limits, threads: int, registers: int, shared_bytes: int, barriers: int = 0
) -> tuple[OccupancyLimit, ...]:
    """Blocks an SM that each resource allows, for blocks of `threads` with `shared_bytes` static and dynamic.

    A resource that the kernel does not use is left out. 0 blocks mean that the launch is not possible.
    """
    warps = _up(threads, limits.warp_size)
    found = [
        OccupancyLimit(
            resource="warps",
            blocks=limits.max_warps_per_sm // warps if 0 < threads <= limits.max_threads_per_block else 0,
        ),
        OccupancyLimit(resource="blocks", blocks=limits.max_blocks_per_sm),
    ]
    if registers:
        found.append(OccupancyLimit(resource="registers", blocks=_by_registers(limits, warps, registers)))
    allocated = _up(shared_bytes + limits.shared_reserved_per_block, limits.shared_allocation_unit)
    allocated *= limits.shared_allocation_unit
    if shared_bytes > limits.shared_per_block_optin:
        found.append(OccupancyLimit(resource="shared", blocks=0))
    elif allocated:
        found.append(OccupancyLimit(resource="shared", blocks=limits.shared_per_sm // allocated))
    if barriers and limits.barriers_limit_blocks:
        found.append(OccupancyLimit(resource="barriers", blocks=limits.barriers_per_sm // barriers))
    return tuple(found)


def _by_registers(limits: Limits, warps: int, registers: int) -> int:
    if registers > limits.max_registers_per_thread or not warps:
        return 0
    unit = limits.register_allocation_unit
    a_warp = _up(registers * limits.warp_size, unit) * unit
    # The hardware checks a block as if its warps filled all sub-partitions evenly.
    if a_warp * _up(warps, limits.sub_partitions) * limits.sub_partitions > limits.registers_per_block:
        return 0
    a_partition = limits.registers_per_sm // limits.sub_partitions // a_warp
    return a_partition * limits.sub_partitions // warps


def occupancy(
    architecture: str,
    resources: Resources,
    grid: Sequence[int],
    block: Sequence[int],
    dynamic_shared_bytes: int,
    gpu: Gpu | None = None,
) -> Occupancy:
    """Occupancy of one launch, its waves counted for `gpu`, else for the model that the architecture stands for.

    KeyError where the architecture is unknown, which the protocol rules out.
    """
    limits = architectures()[architecture]
    gpu = gpu or limits.gpu
    threads, blocks = _product(block), _product(grid)
    by_resource = _launch_limits(limits, resources, threads, dynamic_shared_bytes)
    per_sm = min(item.blocks for item in by_resource)
    whole_gpu = per_sm * gpu.sm_count
    waves = blocks / whole_gpu if whole_gpu else 0.0
    last = blocks % whole_gpu if whole_gpu else 0
    return Occupancy(
        architecture=architecture,
        blocks_per_sm=per_sm,
        warps_per_sm=per_sm * _up(threads, limits.warp_size),
        max_warps_per_sm=limits.max_warps_per_sm,
        limits=by_resource,
        limiters=tuple(item.resource for item in by_resource if item.blocks == per_sm),
        gpu=gpu.name,
        sm_count=gpu.sm_count,
        waves=waves,
        tail=1 - last / whole_gpu if last else 0.0,
    )


def curve(architecture: str, resources: Resources, dynamic_shared_bytes: int) -> tuple[OccupancyPoint, ...]:
    """Occupancy at every block size that is a whole number of warps."""
    limits = architectures()[architecture]
    points = []
    for threads in range(limits.warp_size, limits.max_threads_per_block + 1, limits.warp_size):
        if threads > resources.max_threads_per_block:
            points.append(
                OccupancyPoint(block_threads=threads, blocks_per_sm=0, warps_per_sm=0, limiters=(LAUNCH_BOUNDS,))
            )
            continue
        by_resource = _launch_limits(limits, resources, threads, dynamic_shared_bytes)
        per_sm = min(item.blocks for item in by_resource)
        points.append(
            OccupancyPoint(
                block_threads=threads,
                blocks_per_sm=per_sm,
                warps_per_sm=per_sm * threads // limits.warp_size,
                limiters=tuple(item.resource for item in by_resource if item.blocks == per_sm),
            )
        )
    return tuple(points)


def _launch_limits(
    limits: Limits, resources: Resources, threads: int, dynamic_shared_bytes: int
) -> tuple[OccupancyLimit, ...]:
    shared = resources.static_shared_bytes + dynamic_shared_bytes
    return block_limits(limits, threads, resources.registers, shared, resources.barriers)


def _product(extents: Sequence[int]) -> int:
    result = 1
    for extent in extents:
        result *= extent
    return result


def _up(value: int, unit: int) -> int:
    """Units that hold a value, rounded up."""
    return -(-value // unit)
