"""Puts a fault of the emulator into the words of the run: its buffers, elements, threads and source lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from emulator import BufferRelation, Fault, InternalFailure, Problem, SourceLocation
from engine.languages.names import qualified_parts
from engine.languages.source_text import SourceText
from protocol.diagnostics import Diagnostic, Span
from protocol.dtypes import ITEM_BYTES, write_number
from protocol.events import FindingClass, Found

TIMEOUT = "timeout"

_CLASSES: dict[str, FindingClass] = {
    "out-of-bounds": "memory",
    "misaligned": "memory",
    "null": "memory",
    "bad-function-pointer": "memory",
    "stack-overflow": "memory",
    "beyond-stack": "memory",
    "trap": "trap",
    "not-cooperative": "synchronisation",
    "not-clustered": "trap",
    "absent-block": "memory",
    "unsupported": "trap",
    "assert": "assert",
    "illegal-barrier": "synchronisation",
    "deadlock": "synchronisation",
    "mbarrier": "synchronisation",
    "async-copy": "memory",
    "divergent-barrier": "synchronisation",
    "barrier-after-exit": "synchronisation",
    "absent-lanes": "synchronisation",
    "race": "race",
    "copy-in-flight": "race",
    "uninitialised": "initialisation",
}
_ADVICE = ("barrier-after-exit",)
"""Legal on today's hardware."""
COMPILER_TRAP = (
    "came to a trap that the compiler itself put here, because this line can do nothing that is defined. It usually "
    "uses a pointer that is null, an array beyond its end, or a variable without a value, or a function ends without "
    "its return."
)
_TRAPS = re.compile(r"\b\w*(?:trap|assert|abort|unreachable)\w*\b", re.IGNORECASE)
_DID = {"read": "read", "write": "wrote", "atomic": "updated"}


@dataclass(frozen=True, slots=True)
class Named:
    """An allocation as the user knows it at this moment."""

    name: str
    dtype: str
    count: int


def source_span(location: SourceLocation | None, source: SourceText) -> Span | None:
    """The line of the user's file: of the code itself, else of the call that it was inlined into.

    The compiler gives columns of whole statements, which would point to an `if` for what happens after it.
    """
    while location is not None:
        if location.file.rsplit("/", 1)[-1] == source.file_name:
            return source.span(location.line)
        location = location.inlined_at
    return None


def refusal(problem: Problem, source: SourceText, entry: str) -> Diagnostic:
    """What the emulator cannot run, at the source line that the instruction came from."""
    form = problem.form or ""
    message = problem.message if form in problem.message else f"{form}: {problem.message}"
    notes = (f"in {entry}, line {problem.ptx_line} of its PTX",) if problem.ptx_line else (f"in {entry}",)
    return Diagnostic(
        severity="error",
        message=f"The emulator cannot run this: {message}",
        code=form,
        origin="emulator",
        span=source_span(problem.source, source),
        notes=notes,
        help=problem.help,
    )


def own_fault(failure: InternalFailure, entry: str) -> Diagnostic:
    """The emulator failed where it should have refused or run."""
    return Diagnostic(
        severity="error",
        message=f"The emulator failed on {entry}. This is our fault: please report it as {failure.report}.",
        code="internal",
        origin="emulator",
        notes=(failure.place,),
        help="a link to this run lets us see it",
    )


def finding(fault: Fault, step: str, allocations: Mapping[str, Named], source: SourceText, fatal: bool = True) -> Found:
    """A fault as an event. `allocations`: the name that memory was allocated under -> what it is now."""
    relation = fault.buffer
    named = allocations.get(relation.name) if relation else None
    index: int | None = None
    if relation is not None and named is not None:
        index = relation.offset // ITEM_BYTES[named.dtype]
    return Found.model_validate(
        {
            "class": _CLASSES.get(fault.kind, "trap"),
            "code": fault.kind,
            "message": _sentence(fault, relation, named, source),
            "span": source_span(fault.source, source),
            "access": fault.access,
            "space": fault.space,
            "bytes": fault.size or None,
            "buffer": named.name if named else _variable(relation.name) if relation else None,
            "index": None if index is None else write_number(index),
            "block": fault.block,
            "thread": fault.thread,
            "warp": fault.warp,
            "lane": fault.lane,
            "step": step,
            "fatal": fatal,
            "advice": fault.kind in _ADVICE,
        }
    )


def _sentence(fault: Fault, relation: BufferRelation | None, named: Named | None, source: SourceText) -> str:
    who = "A thread"
    if fault.thread is not None and fault.block is not None:
        who = f"Thread {_triple(fault.thread)} of block {_triple(fault.block)}"
    did = _DID.get(fault.access or "", "used")
    match fault.kind:
        case "out-of-bounds" if relation is not None:
            # An `extern __shared__` array has the size that the launch gives it, which is easily forgotten.
            none = fault.space == "shared" and relation.nbytes == 0
            why = "; the launch asks for no dynamic shared memory" if none else ""
            return f"{who} {did} {_beyond(fault, relation, named)}{why}."
        case "out-of-bounds":
            return f"{who} {did} {_bytes(fault.size)} at address {fault.address:#x}, which is in no buffer."
        case "misaligned":
            where = "an address"
            if relation is not None:
                where = f"byte {relation.offset:,} of {named.name if named else _variable(relation.name)}"
            return f"{who} {did} {_bytes(fault.size)} at {where}, which is no multiple of {fault.size}."
        case "null":
            return f"{who} {did} {_bytes(fault.size)} through a null pointer (address {fault.address:#x})."
        case "trap" if _of_the_compiler(fault.source, source):
            return f"{who} {COMPILER_TRAP}"
        case "trap":
            return f"{who} executed a trap."
        case "not-cooperative":
            return (
                f"{who} met grid.sync(), which needs a cooperative launch, and this launch is not: make it cooperative."
            )
        case "assert":
            return f"{who}: {fault.message}."
        case "illegal-barrier":
            return f"{who} waits at a barrier that other threads of its block never reach."
        case "race" | "uninitialised" | "copy-in-flight" if relation is not None:
            place = f"byte {relation.offset:,} of {_variable(relation.name)}"
            if named is not None:
                place = f"{named.name}[{relation.offset // ITEM_BYTES[named.dtype]}]"
            return f"{who} {did} {place}: {fault.message}."
    return f"{who}: {fault.message}."


def _of_the_compiler(location: SourceLocation | None, source: SourceText) -> bool:
    """True where the user wrote no trap at this line, and no macro that may hold one."""
    span = source_span(location, source)
    if location is None or span is None or location.file.rsplit("/", 1)[-1] != source.file_name:
        return False
    if any(line.lstrip().startswith("#") and _TRAPS.search(line) for line in source.lines):
        return False
    return not _TRAPS.search(source.lines[span.line - 1])


def _bytes(count: int) -> str:
    return f"{count} byte{'s' if count != 1 else ''}"


def _beyond(fault: Fault, relation: BufferRelation, named: Named | None) -> str:
    """Such as 'x[1024], one past the end of x (1,024 float32)'."""
    if named is None:
        size = f"{_variable(relation.name)} ({relation.nbytes:,} bytes)"
        if relation.relation == "inside":
            return f"{_bytes(fault.size)} at byte {relation.offset:,} of {size} after it was freed"
        if relation.offset < 0:
            return f"{_bytes(fault.size)}, {-relation.offset:,} before the start of {size}"
        past = relation.offset - relation.nbytes
        where = f"{past:,} bytes past the end" if past > 0 else "at the end" if past == 0 else "across the end"
        return f"{_bytes(fault.size)} {where} of {size}" if past <= 0 else f"{_bytes(fault.size)}, {where} of {size}"
    item = ITEM_BYTES[named.dtype]
    index = relation.offset // item
    whole = relation.offset % item == 0
    size = f"{named.name} ({named.count:,} {named.dtype})"
    element = f"{named.name}[{index}]"
    what = element if whole and fault.size == item else f"{_bytes(fault.size)} at {element}"
    if index < 0:
        return f"{what}, {'one' if index == -1 else f'{-index:,}'} before the start of {size}"
    if index >= named.count:
        distance = index - named.count + 1
        return f"{what}, {'one' if distance == 1 else f'{distance:,}'} past the end of {size}"
    return f"{what}, across the end of {size}"


def _variable(name: str) -> str:
    """A variable of the module as the user wrote it; 'shared memory' and the like stay as they are."""
    return "::".join(qualified_parts(name))


def _triple(values: tuple[int, int, int]) -> str:
    return f"({', '.join(map(str, values))})"
