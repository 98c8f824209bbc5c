"""Launches a compiled entry: checks what is asked for, places the module's variables, and runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.runtime.arena import Buffer, Memory
from emulator.runtime.compiled import CompiledEntry, ModuleVariable
from emulator.runtime.prepared import Outcome, Prepared
from emulator.runtime.team import Team
from emulator.runtime.tiers import LaunchError, Loaded

Dim3 = tuple[int, int, int]
_MOST_BLOCKS = (1 << 31) - 1, 65535, 65535
_MOST_SHARED = 232448
MOST_CLUSTER_BLOCKS = 16


def launch(
    entry: CompiledEntry,
    memory: Memory,
    grid: Dim3,
    arguments: Sequence[bytes],
    dynamic_shared_bytes: int = 0,
    deadline_seconds: float = 10.0,
    threads: int = 2,
    on_print: Callable[[str], None] | None = None,
    loaded: Loaded | None = None,
    cooperative: bool = False,
    cluster: Dim3 | None = None,
    resident_blocks: int | None = None,
) -> Outcome:
    """Runs a grid. `arguments` are the bytes of each parameter in order; pointers are buffer addresses.

    `cooperative`: the grid can be synchronised. `cluster`: blocks of a cluster along each axis, where the kernel names
    none. `resident_blocks`: how many a GPU holds at once; of kernels whose blocks wait for each other no more begin
    before others have ended. None: as many as there is memory for.

    Raises LaunchError where the launch is malformed, OutOfMemory where module variables do not fit. `on_print`
    gets the kernel's printed text while it runs, from any thread, one call at a time.
    """
    check_arguments(entry, arguments)
    with Team() as team:
        return prepare(
            loaded or Loaded(entry), memory, grid, team, dynamic_shared_bytes, threads, cooperative, cluster,
            resident_blocks,
        ).run(arguments, deadline_seconds, on_print)  # fmt: skip


def prepare(
    loaded: Loaded,
    memory: Memory,
    grid: Dim3,
    team: Team,
    dynamic_shared_bytes: int = 0,
    threads: int = 2,
    cooperative: bool = False,
    cluster: Dim3 | None = None,
    resident_blocks: int | None = None,
) -> Prepared:
    """A launch without its arguments, for runs on the team's threads. As `launch` otherwise."""
    entry = loaded.entry
    _check(entry, grid, dynamic_shared_bytes, threads)
    shape = _cluster_of(entry, grid, cluster)
    variables = _place_variables(entry, memory)
    return Prepared(
        loaded, memory, grid, dynamic_shared_bytes, threads, team, variables, cooperative, shape, resident_blocks
    )


def _cluster_of(entry: CompiledEntry, grid: Dim3, cluster: Dim3 | None) -> Dim3 | None:
    """The shape of the launch's clusters; None where it has none."""
    shape = entry.cluster or cluster
    if entry.cluster is not None and cluster is not None and cluster != entry.cluster:
        raise LaunchError(f"'{entry.name}' is compiled for clusters of {entry.cluster} blocks, not {cluster}")
    if shape is None:
        return None
    if min(shape) < 1 or shape[0] * shape[1] * shape[2] > MOST_CLUSTER_BLOCKS:
        raise LaunchError(f"a cluster of {shape} blocks is not between 1 and {MOST_CLUSTER_BLOCKS}")
    if any(blocks % extent for blocks, extent in zip(grid, shape, strict=True)):
        raise LaunchError(f"a grid of {grid} blocks cannot be divided into clusters of {shape}")
    return shape


def check_arguments(entry: CompiledEntry, arguments: Sequence[bytes]) -> None:
    """Raises LaunchError where they are not the entry's."""
    if len(arguments) != len(entry.parameters):
        raise LaunchError(f"'{entry.name}' has {len(entry.parameters)} parameters, {len(arguments)} were given")
    for parameter, value in zip(entry.parameters, arguments, strict=True):
        if len(value) != parameter.size:
            raise LaunchError(f"parameter '{parameter.name}' has {parameter.size} bytes, {len(value)} were given")


def _check(entry: CompiledEntry, grid: Dim3, dynamic: int, threads: int) -> None:
    if any(not 1 <= extent <= most for extent, most in zip(grid, _MOST_BLOCKS, strict=True)):
        raise LaunchError(f"a grid of {grid} blocks is not between 1 and {_MOST_BLOCKS}")
    if not 0 <= dynamic <= _MOST_SHARED - entry.shared_bytes:
        raise LaunchError(f"a block can have {_MOST_SHARED - entry.shared_bytes} bytes of dynamic shared memory")
    if threads < 1:
        raise LaunchError("threads must be positive")


def _place_variables(entry: CompiledEntry, memory: Memory) -> list[Buffer]:
    """Module variables in the arena; those that an earlier launch placed keep their contents."""
    placed: list[Buffer] = []
    fresh: list[tuple[ModuleVariable, Buffer]] = []
    for variable in entry.variables:
        key = f"{entry.module_key}:{variable.name}"
        if key not in memory.variables:
            memory.variables[key] = memory.allocate(variable.name, variable.size)
            fresh.append((variable, memory.variables[key]))
        placed.append(memory.variables[key])
    symbols = {v.name: b.address for v, b in zip(entry.variables, placed, strict=True)} | entry.code_addresses
    for variable, buffer in fresh:
        view = buffer.bytes_view()
        view[: len(variable.initial)] = memoryview(variable.initial)
        for offset, size, symbol, addend in variable.addresses:
            value = (symbols.get(symbol, 0) + addend) & ((1 << 8 * size) - 1)
            view[offset : offset + size] = memoryview(value.to_bytes(size, "little"))
    return placed
