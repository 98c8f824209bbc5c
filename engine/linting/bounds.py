"""Threads that use an element which an array does not have, and indices that 32 bits do not hold."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from emulator.analysis.flat import align
from engine.devices.architectures import architectures
from engine.linting.context import Launched, finding
from engine.linting.grids import covering_fix
from engine.linting.walk import Access
from protocol.arguments import Buffer, ScalarArgument
from protocol.diagnostics import Diagnostic, Fix, Span
from protocol.dtypes import ITEM_BYTES

_DID = {"ld": "reads", "ldu": "reads", "st": "writes"}


def bounds(launch: Launched) -> Iterator[Diagnostic]:
    """One finding a line: a thread that surely gets there, the element it uses, and what would keep it away."""
    for access in launch.walk.accesses:
        if access.space == "shared" or access.address is None:
            continue
        sure = access.reached & launch.sample.actual
        if not sure.any():
            continue
        overflow = _overflow(launch, access)
        if overflow is not None:
            yield overflow
            continue
        addresses = np.broadcast_to(np.asarray(access.address, np.int64), sure.shape)
        thread = _outside(launch, access, addresses, sure)
        if thread is None:
            continue
        place = launch.buffer_at(int(addresses[thread]))
        assert place is not None
        yield _message(launch, access, thread, place[0], place[1])


def shared_bounds(launch: Launched) -> Iterator[Diagnostic]:
    """Accesses behind the end of the block's shared memory: mostly the launch gives too little of it."""
    flat, dynamic = launch.flat, launch.planned.dynamic_shared_bytes
    end = align(flat.shared_bytes, flat.dynamic_alignment) + dynamic if flat.dynamic else flat.shared_bytes
    most, at, who = end, None, 0
    for access in launch.walk.accesses:
        if access.space != "shared" or access.address is None:
            continue
        sure = access.reached & launch.sample.actual
        last = np.where(sure, np.asarray(access.address, np.int64) + access.bytes, 0)
        if int(last.max()) > most:
            most, at, who = int(last.max()), access, int(last.argmax())
    if at is None:
        return
    span, more = launch.span(at.instruction), most - end
    field, fix = f"{launch.path}.config.dynamic_shared_bytes", None
    if flat.dynamic and dynamic + more <= architectures()[launch.architecture].shared_per_block_optin:
        fix = Fix(title=f"Use {dynamic + more:,} bytes of shared memory", field=field, value=dynamic + more)
    yield finding(
        "warning",
        "shared-bounds",
        f"{launch.sample.name(who)} uses shared memory up to byte {most:,}, and the block has {end:,} bytes",
        span=None if fix else span,
        field=field if fix or not span else None,
        help="The size of an extern __shared__ array is what the launch gives." if fix else None,
        fix=fix,
    )


def _overflow(launch: Launched, access: Access) -> Diagnostic | None:
    wrapped = access.wrapped
    if wrapped is None:
        return None
    sure = access.reached & launch.sample.actual
    wrong = sure & (np.broadcast_to(np.asarray(wrapped.threads), sure.shape) != 0)
    if not wrong.any():
        return None
    thread = int(np.argmax(wrong))
    meant = int(np.broadcast_to(np.asarray(wrapped.meant), sure.shape)[thread])
    became = (meant + (1 << 31)) % (1 << 32) - (1 << 31)
    return finding(
        "warning",
        "index-overflow",
        f"the index of {launch.sample.name(thread)} is {meant:,}, which an int does not hold: it becomes {became:,}",
        span=launch.span(access.instruction),
        help="Compute it in 64 bits: make the first factor a size_t, as in (size_t)blockIdx.x * blockDim.x.",
        fix=_wide(launch, launch.span(access.instruction)),
    )


_TYPE = r"(?:unsigned\s+int|unsigned|int|uint32_t|int32_t)"
_INDEX = re.compile(r"\[([^\[\]]*)\]")
_PLACE = re.compile(r"(?<!\))\bblockIdx\.[xyz]")
_WORD = re.compile(r"[A-Za-z_]\w*")


def _wide(launch: Launched, at: Span | None) -> Fix | None:
    """The lines that compute the index, in 64 bits: the variables in it and those that they are made of."""
    if at is None:
        return None
    lines = launch.source.lines
    wanted = {word for inside in _INDEX.findall(lines[at.line - 1]) for word in _WORD.findall(inside)}
    changed: dict[int, str] = {}
    for number in range(at.line - 1, 0, -1):
        text = lines[number - 1]
        if text.startswith("}"):
            break
        found = re.match(rf"^(\s*)(const\s+)?{_TYPE}\s+(\w+)\s*=([^;]*);", text)
        if found and found[3] in wanted:
            wanted |= set(_WORD.findall(found[4]))
            whole = re.sub(rf"\b{_TYPE}\b", "long long", text, count=1)
            changed[number] = _PLACE.sub(lambda place: f"(long long){place[0]}", whole, count=1)
    if not changed:
        return None
    first, last = min(changed), max(changed)
    new = "\n".join(changed.get(number, lines[number - 1]) for number in range(first, last + 1))
    span = Span(line=first, column=1, end_line=last, end_column=len(lines[last - 1]) + 1)
    return Fix(title="Compute the index in 64 bits", span=span, text=new)


def _outside(
    launch: Launched, access: Access, addresses: npt.NDArray[np.int64], sure: npt.NDArray[np.bool_]
) -> int | None:
    """The first thread that uses a byte outside its buffer."""
    for number in np.unique(addresses[sure] >> 40):
        place = launch.buffer_at(int(number) << 40)
        if place is None:
            continue
        buffer, offset = place
        start = (int(number) << 40) - offset
        wrong = (
            sure
            & (addresses >> 40 == number)
            & ((addresses < start) | (addresses + access.bytes > start + buffer.bytes))
        )
        if wrong.any():
            return int(np.argmax(wrong))
    return None


def _message(launch: Launched, access: Access, thread: int, buffer: Buffer, offset: int) -> Diagnostic:
    unguarded = launch.flow.always(launch.graph.order[0], access.block)
    index = offset // ITEM_BYTES[buffer.dtype]
    did = _DID.get(access.instruction.opcode, "updates")
    name = launch.match_of(buffer).parameter.name
    span = launch.span(access.instruction)
    shown = buffer.name if name == buffer.name else f"{name} ({buffer.name})"
    code = "missing-guard" if unguarded and index >= 0 else "out-of-bounds"
    if unguarded and index >= 0:
        fix = _guard(launch, name, buffer, span)
        help_text = f"Let only threads with an element in {name} go on, as in: if (i < n)."
    else:
        fix = _size(launch, buffer) or _strict(launch, buffer, span)
        help_text = "The guard lets too many threads through for this array."
    return finding(
        "warning",
        code,
        f"{launch.sample.name(thread)} {did} {shown}[{index:,}], and {buffer.name} has {buffer.elements:,} elements",
        span=span,
        field=None if span else f"{launch.path}.config.grid",
        help=help_text,
        fix=fix or _exact(launch, buffer),
    )


def _guard(launch: Launched, name: str, buffer: Buffer, span: Span | None) -> Fix | None:
    """`if (index < n)` before a statement on one line that assigns to an element of an array."""
    text = launch.line(span)
    found = re.match(r"^(\s*)\w+\s*\[[^\[\]]+\][^{};]*;\s*(//.*)?$", text)
    used = re.search(rf"\b{re.escape(name)}\s*\[([^\[\]]+)\]", text)
    if found is None or used is None or span is None:
        return None
    limit, index = _count(launch, buffer), used[1].strip()
    if re.search(r"[^\w\s.+*-]", index):
        index = f"({index})"
    column = len(found[1]) + 1
    where = Span(line=span.line, column=column, end_line=span.line, end_column=column)
    return Fix(title=f"Guard with if ({index} < {limit})", span=where, text=f"if ({index} < {limit}) ")


def _exact(launch: Launched, buffer: Buffer) -> Fix | None:
    """A grid that covers the array without a thread too many."""
    x, y, *_ = (*reversed(buffer.shape), 1, 1)
    block = launch.planned.block
    if len(buffer.shape) > 2 or x % block[0] or y % block[1] or block[2] > 1:
        return None
    return covering_fix(launch, buffer)


def _count(launch: Launched, buffer: Buffer) -> str:
    """The parameter that holds the number of elements, else the number."""
    for match in launch.planned.matches:
        if isinstance(match.argument, ScalarArgument) and match.argument.value == buffer.elements:
            return match.parameter.name
    return str(buffer.elements)


def _size(launch: Launched, buffer: Buffer) -> Fix | None:
    """A number that says how many elements there are, and says too many."""
    numbers = [
        match
        for match in launch.planned.matches
        if isinstance(match.argument, ScalarArgument)
        and match.parameter.dtype in ("int32", "uint32", "int64", "uint64")
    ]
    if len(numbers) != 1 or len(buffer.shape) != 1:
        return None
    (match,) = numbers
    if not isinstance(match.argument, ScalarArgument) or not isinstance(match.argument.value, int):
        return None
    if match.argument.value <= buffer.elements:
        return None
    title = f"Set {match.parameter.name} to {buffer.elements:,}"
    return Fix(title=title, field=f"{launch.path}.arguments.{match.position}.value", value=buffer.elements)


def _strict(launch: Launched, buffer: Buffer, span: Span | None) -> Fix | None:
    """A guard that also lets the number of elements itself through: `<` for its `<=`."""
    limit = _count(launch, buffer)
    for number in range(span.line, max(0, span.line - 4), -1) if span else ():
        found = re.search(rf"<=(?=\s*{re.escape(limit)}\b)", launch.source.lines[number - 1])
        if found:
            where = Span(line=number, column=found.start() + 1, end_line=number, end_column=found.end() + 1)
            return Fix(title=f"Compare with < {limit}", span=where, text="<")
    return None
