"""Between which bounds the 32-bit integers of a kernel lie, whatever its arguments are.

A span (low, high) holds the value of every lane, read as a signed number. It tells where a sum cannot wrap, so that
its extension to 64 bits is the sum of the extensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.analysis.affected import affected
from emulator.analysis.cfg import Graph
from emulator.analysis.flat import FlatKernel
from emulator.analysis.gang import Gang
from emulator.analysis.operands import definitions
from emulator.syntax.nodes import ImmediateOperand, Instruction, Operand, RegisterOperand

Span = tuple[int, int]
_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
_MOST_BLOCKS = {"x": _MOST, "y": 65535, "z": 65535}
_LOADED = {"u8": (0, 255), "s8": (-128, 127), "u16": (0, 65535), "s16": (-32768, 32767)}
# A register whose span still grows after so many rounds is counted up in a loop.
_MOST_GROWTHS = 3


def analyse_spans(flat: FlatKernel, graph: Graph, gang: Gang) -> dict[str, Span]:
    """The spans of registers, over all their definitions; registers that may have any value are left out."""
    known: dict[str, Span | None] = {}
    growths: dict[str, int] = {}
    defining = [item for block in graph.order for item in graph.blocks[block].instructions if definitions(item)]
    readers = affected(defining)
    stale = bytearray(b"\1" * len(defining))
    while 1 in stale:
        place = stale.find(1)
        while place >= 0:
            stale[place] = 0
            found = _result(defining[place], known, gang)
            for name in definitions(defining[place]):
                if isinstance(found, str) or (name in known and known[name] is None):
                    continue
                before = known.get(name, found)
                after = None if found is None or before is None else _hull(before, found)
                if name not in known or after != before:
                    growths[name] = growths.get(name, 0) + 1
                    known[name] = after if growths[name] <= _MOST_GROWTHS else None
                    for reader in readers[name]:
                        stale[reader] = 1
            place = stale.find(1, place + 1)
    return {name: span for name, span in known.items() if span is not None}


def special_span(name: str, gang: Gang) -> Span | None:
    """The span of a special register for the block's shape."""
    root, _, axis = name.partition(".")
    if root in ("%tid", "%ntid"):
        extent = gang.block["xyz".index(axis)]
        return (0, extent - 1) if root == "%tid" else (extent, extent)
    if root in ("%ctaid", "%nctaid"):
        return (0, _MOST_BLOCKS[axis] - 1) if root == "%ctaid" else (1, _MOST_BLOCKS[axis])
    return (0, 31) if name in ("%laneid", "%warpid") else None


def _hull(*spans: Span) -> Span:
    return min(low for low, _ in spans), max(high for _, high in spans)


def _result(instruction: Instruction, known: dict[str, Span | None], gang: Gang) -> Span | str | None:
    """The span of the one destination, None where it may have any value, 'unset' where a source has no value yet."""
    modifiers = instruction.modifiers
    if len(definitions(instruction)) != 1:
        return None
    if instruction.opcode == "ld":
        return _LOADED.get(modifiers[-1]) if isinstance(instruction.operands[0], RegisterOperand) else None
    handler = _HANDLERS.get(instruction.opcode)
    if handler is None or not modifiers or {"cc", "sat", "wide", "hi"} & set(modifiers):
        return None
    sources: list[Span] = []
    for operand in instruction.operands[1:]:
        span = _read(operand, known, gang)
        if span is None or isinstance(span, str):
            return span
        sources.append(span)
    unsigned = modifiers[-1].startswith("u")
    if modifiers[-1] not in ("s32", "u32", "b32"):
        return None
    found = handler(sources, unsigned)
    return found if found is not None and found[0] >= _LEAST and found[1] <= _MOST else None


def _read(operand: Operand, known: dict[str, Span | None], gang: Gang) -> Span | str | None:
    if isinstance(operand, ImmediateOperand) and operand.float_bits is None:
        value = (operand.value + (1 << 31)) % (1 << 32) - (1 << 31)
        return value, value
    if isinstance(operand, RegisterOperand) and not operand.negated:
        if operand.name in known:
            return known[operand.name]
        return special_span(operand.name, gang) if "%" in operand.name and _is_special(operand.name) else "unset"
    return None


def _is_special(name: str) -> bool:
    return name.partition(".")[0] in _SPECIAL


_SPECIAL = ("%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid")


def _add(s: Sequence[Span], unsigned: bool) -> Span | None:
    return s[0][0] + s[1][0], s[0][1] + s[1][1]


def _subtract(s: Sequence[Span], unsigned: bool) -> Span | None:
    return s[0][0] - s[1][1], s[0][1] - s[1][0]


def _multiply(s: Sequence[Span], unsigned: bool) -> Span | None:
    products = [a * b for a in s[0] for b in s[1]]
    return min(products), max(products)


def _multiply_add(s: Sequence[Span], unsigned: bool) -> Span | None:
    product = _multiply(s, unsigned)
    return None if product is None else _add((product, s[2]), unsigned)


def _shift_left(s: Sequence[Span], unsigned: bool) -> Span | None:
    low, high = s[1]
    return _multiply((s[0], (1 << low, 1 << low)), unsigned) if low == high and 0 <= low < 31 else None


def _shift_right(s: Sequence[Span], unsigned: bool) -> Span | None:
    low, high = s[1]
    if low != high or not 0 <= low < 32 or s[0][0] < 0:
        return None
    return s[0][0] >> low, s[0][1] >> low


def _and(s: Sequence[Span], unsigned: bool) -> Span | None:
    tops = [high for low, high in s if low >= 0]
    return (0, min(tops)) if tops else None


def _or(s: Sequence[Span], unsigned: bool) -> Span | None:
    if min(s[0][0], s[1][0]) < 0:
        return None
    return 0, (1 << max(s[0][1].bit_length(), s[1][1].bit_length())) - 1


def _remainder(s: Sequence[Span], unsigned: bool) -> Span | None:
    return (0, s[1][1] - 1) if s[0][0] >= 0 and s[1][0] > 0 else None


def _divide(s: Sequence[Span], unsigned: bool) -> Span | None:
    return (s[0][0] // s[1][1], s[0][1] // s[1][0]) if s[0][0] >= 0 and s[1][0] > 0 else None


def _least(s: Sequence[Span], unsigned: bool) -> Span | None:
    if unsigned and min(s[0][0], s[1][0]) < 0:
        return None
    return min(s[0][0], s[1][0]), min(s[0][1], s[1][1])


def _greatest(s: Sequence[Span], unsigned: bool) -> Span | None:
    if unsigned and min(s[0][0], s[1][0]) < 0:
        return None
    return max(s[0][0], s[1][0]), max(s[0][1], s[1][1])


_HANDLERS: dict[str, Callable[[Sequence[Span], bool], Span | None]] = {
    "mov": lambda s, unsigned: s[0], "copy": lambda s, unsigned: s[0], "add": _add, "sub": _subtract, "mul": _multiply,
    "mad": _multiply_add, "shl": _shift_left, "shr": _shift_right, "and": _and, "or": _or, "xor": _or,
    "rem": _remainder, "div": _divide, "min": _least, "max": _greatest,
}  # fmt: skip
