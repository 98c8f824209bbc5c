"""What went wrong in a launch, in terms of buffers, threads and source lines."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from emulator.analysis.alloca import STACK_BYTES
from emulator.lowering import abi
from emulator.lowering.sites import Site
from emulator.runtime.arena import Buffer, Memory
from emulator.syntax.nodes import SourceLocation

Dim3 = tuple[int, int, int]
_MOST_RANKS = 16


@dataclass(frozen=True, slots=True)
class BufferRelation:
    """How an address lies to the buffer that the access was meant for, or that is closest.

    `offset` is in bytes from the buffer's start and may be negative or beyond `nbytes`.
    """

    name: str
    offset: int
    nbytes: int
    relation: str  # "12 bytes past the end", "4 bytes before the start", "inside, misaligned"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. Kinds: see `abi.FAULT_KINDS`, and 'timeout'."""

    kind: str
    message: str
    space: str | None = None
    access: str | None = None  # read write atomic
    size: int = 0
    address: int = 0
    buffer: BufferRelation | None = None
    block: Dim3 | None = None
    thread: Dim3 | None = None
    warp: int | None = None
    lane: int | None = None
    source: SourceLocation | None = None
    ptx_line: int | None = None
    form: str | None = None
    note: str | None = None  # of a timeout: what the kernel may have waited for


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """The raw record of the launch context."""

    kind: int
    site: int
    space: int
    access: int
    size: int
    address: int
    lane: int
    gang: int
    block: int
    worker: int

    @classmethod
    def read(cls, context: bytes) -> FaultRecord:
        return cls(*struct.unpack_from("<iiiiqQiiqQ", context, abi.CONTEXT_FAULT))


def coordinates(index: int, extent: Dim3) -> Dim3:
    return index % extent[0], index // extent[0] % extent[1], index // (extent[0] * extent[1])


def relate(memory: Memory, address: int, size: int, intended: Buffer | None) -> BufferRelation | None:
    """The relation of an access to the buffer its instruction used before, else to the closest one."""
    buffer = intended or memory.nearest(address)
    if buffer is None:
        return None
    offset = address - buffer.address
    if offset < 0:
        text = f"{-offset} bytes before the start"
    elif offset >= buffer.nbytes:
        text = _past(offset - buffer.nbytes)
    elif offset + size > buffer.nbytes:
        text = f"the last {offset + size - buffer.nbytes} of {size} bytes lie past the end"
    else:
        text = "inside"
    return BufferRelation(buffer.name, offset, buffer.nbytes, text)


def _past(distance: int) -> str:
    return f"{distance} bytes past the end" if distance else "right behind the end"


def describe(
    record: FaultRecord, sites: list[Site], memory: Memory, intended: Buffer | None, grid: Dim3, block: Dim3,
    shared_bytes: int, local_bytes: int, stack_bytes: int, message: str | None,
) -> Fault:  # fmt: skip
    """The report of a record."""
    kind = abi.FAULT_KINDS[record.kind]
    site = sites[record.site] if 0 <= record.site < len(sites) else None
    thread_number = record.gang * 32 + record.lane
    thread = coordinates(thread_number, block)
    block_index = coordinates(record.block, grid)
    if kind == "out-of-bounds" and 0 <= record.address - abi.NO_GRID < abi.GRID_BYTES:
        kind = "not-cooperative"
    is_access = kind in ("out-of-bounds", "misaligned", "null")
    space = abi.SPACES[record.space] if is_access else None
    access = abi.ACCESSES[record.access] if is_access else None
    relation: BufferRelation | None = None
    if is_access and space in ("global", "generic", "const"):
        relation = None if kind == "null" else relate(memory, record.address, record.size, intended)
    elif is_access:
        if space == "shared":
            name, offset = shared_place(record.address)
            relation = _of_area(name, offset, record.size, shared_bytes)
        else:
            relation = _of_area("local memory", record.address, record.size, local_bytes)
        if space == "local" and stack_bytes and relation.offset + record.size > local_bytes:
            kind = "stack-overflow"
    if kind == "stack-overflow" and not is_access:
        message = f"alloca needs more than the {STACK_BYTES} bytes of a thread's stack"
        site = None if site is None else replace(site, form="alloca")
    if kind == "beyond-stack" and site is not None:
        site = replace(site, form=site.form.removeprefix("trap.beyond."))
    text = message or _message(kind, space, access, record, relation)
    return Fault(
        kind, text, space, access, record.size if is_access else 0, record.address if is_access else 0, relation,
        block_index, thread, record.gang, record.lane,
        site.source if site else None, site.ptx_line if site else None, site.form if site else None,
    )  # fmt: skip


def shared_place(address: int) -> tuple[str, int]:
    """Whose shared memory an address of it means, and where in it; a little below a block's is that block's too."""
    rank, offset = address >> abi.RANK_SHIFT, address & ((1 << abi.RANK_SHIFT) - 1)
    if rank and offset >> (abi.RANK_SHIFT - 1):
        rank, offset = rank + 1, (offset - (1 << abi.RANK_SHIFT)) & ((1 << 64) - 1)
    if not 1 <= rank <= _MOST_RANKS:
        return "shared memory", address
    return f"shared memory of block {rank - 1} of the cluster", offset


def _of_area(name: str, offset: int, size: int, total: int) -> BufferRelation:
    signed = offset - (1 << 64) if offset >> 63 else offset - (1 << 32) if 1 << 31 <= offset < 1 << 32 else offset
    if signed < 0:
        text = f"{-signed} bytes before the start"
    elif signed + size > total:
        text = _past(max(0, signed - total))
    else:
        text = "inside"
    return BufferRelation(name, signed, total, text)


_MISUSES = {
    abi.NOT_INITIALISED: "{mbarrier} is used without mbarrier.init",
    abi.BAD_COUNT: "a count of {mbarrier} is not between 1 and 1048575",
    abi.TOO_MANY_ARRIVALS: "more threads arrive at {mbarrier} than its phase still expects",
    abi.TRANSACTION_RANGE: "more than 1048575 bytes are pending at {mbarrier}",
    abi.COMPLETES: "an arrival with .noComplete completes the phase of {mbarrier}",
}


def place_of(address: int) -> str:
    """An mbarrier in words."""
    return f"the mbarrier at byte {address & 0xFFFFFFFF} of shared memory"


def describe_wait(address: int, arrivals: int, transactions: int) -> str:
    """What threads wait for that will never come."""
    missing = [f"{arrivals} more arrival{'s' * (arrivals != 1)}"] if arrivals else []
    missing += [f"{transactions} more bytes"] if transactions else []
    return f"threads wait at {place_of(address)} for {' and '.join(missing) or 'another phase'}, which never come"


_VERBS = {"read": "reading", "write": "writing", "atomic": "updating"}


def _message(
    kind: str, space: str | None, access: str | None, record: FaultRecord, relation: BufferRelation | None
) -> str:
    verb = _VERBS.get(access or abi.ACCESSES[record.access], "using")
    if kind == "absent-block":
        rank = (record.address >> abi.RANK_SHIFT) - 1
        if record.size == 0:
            return f"{verb} shared memory of block {rank} of the cluster, which has no such block"
        return (
            f"{verb} shared memory of block {rank} of the cluster, which has ended: "
            "its threads must wait, at cluster.sync(), until nobody uses it"
        )
    if kind == "null":
        return f"{verb} {record.size} bytes through a null pointer (address {record.address:#x})"
    if kind == "misaligned":
        where = f" at byte {relation.offset} of '{relation.name}'" if relation else ""
        return f"{verb} {record.size} bytes{where}: the address is not a multiple of {record.size}"
    if kind == "out-of-bounds":
        if relation is None:
            return f"{verb} {record.size} bytes at address {record.address:#x}, outside of every buffer"
        if relation.relation == "inside":
            return f"{verb} {record.size} bytes of '{relation.name}' after it was freed"
        return f"{verb} {record.size} bytes of '{relation.name}' out of bounds: {relation.relation}"
    if kind == "mbarrier":
        return _MISUSES[record.size].format(mbarrier=place_of(record.address))
    return {
        "async-copy": f"a bulk copy of {record.size} bytes: its size is no multiple of 16 bytes",
        "deadlock": "threads of the block wait in loops for what no thread will do",
        "trap": "the kernel executed a trap",
        "beyond-stack": "an access to the thread's stack beyond the memory that alloca gave",
        "not-clustered": "a bulk copy between blocks is an illegal instruction in a launch without clusters",
        "not-cooperative": "grid.sync() needs a cooperative launch, and this launch is not cooperative",
        "assert": "an assertion failed",
        "stack-overflow": f"recursive calls need more than the {STACK_BYTES} bytes of a thread's stack",
        "illegal-barrier": "threads wait at a barrier that the others never reach",
        "bad-function-pointer": "a call through a pointer to no function of this signature",
    }.get(kind, kind)
