"""Integer instructions of PTX on whole vectors of threads, and where 32 bits were too few for what was meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Number = int | npt.NDArray[np.int64]
"""One value of all sampled threads, or one a thread. Predicates are 0 and 1."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A sum that 32 bits did not hold was taken into an address, by the threads for which `threads` is not 0."""

    threads: Number
    meant: Number


@dataclass(frozen=True, slots=True)
class Known:
    """What a register holds. `meant` is what the sums and products come to without a limit of 32 bits."""

    value: Number
    meant: Number
    wrapped: Wrapped | None = None


def known(value: Number) -> Known:
    return Known(value, value)


def wrap(value: Number, bits: int, signed: bool) -> Number:
    """The value that a register of so many bits holds, read with or without a sign; of 64 bits always with one."""
    if bits >= 64:
        return value if not isinstance(value, int) else (value + (1 << 63)) % (1 << 64) - (1 << 63)
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half if signed else value % (1 << bits)


_BITS = {"8": 8, "16": 16, "32": 32, "64": 64}


def bits_of(type: str) -> int:
    """Of an integer type such as s32; 0 where it is none."""
    return _BITS.get(type[1:], 0) if type[0] in "sub" else 0


_LARGEST = 1 << 30


def _shift_left(a: Number, b: Number) -> Number:
    return a << np.minimum(b, 62) if not isinstance(b, int) else a << min(max(b, 0), 62)


def _divide(a: Number, b: Number) -> Number | None:
    if not np.all(np.not_equal(b, 0)) or np.any(np.less(a, 0)) or np.any(np.less(b, 0)):
        return None
    return a // b


def _remainder(a: Number, b: Number) -> Number | None:
    quotient = _divide(a, b)
    return None if quotient is None else a - quotient * b


_LINEAR: dict[str, Callable[..., Number]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "mad": lambda a, b, c: a * b + c,
    "shl": _shift_left,
    "neg": lambda a: -a,
}
# Their results are what was meant, however the operands came about: hashes and flags are no overflowing indices.
_OTHER: dict[str, Callable[..., Number | None]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "shr": lambda a, b: a >> b,
    "rem": _remainder,
    "div": _divide,
    "min": lambda a, b: np.minimum(a, b),
    "max": lambda a, b: np.maximum(a, b),
    "abs": lambda a: abs(a),
}
_COMPARE: dict[str, Callable[[Number, Number], Number]] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


def _as_number(value: object) -> Number:
    if isinstance(value, np.ndarray) and value.ndim:
        return value.astype(np.int64, copy=False)
    return int(value)  # type: ignore[call-overload, no-any-return]


def compute(opcode: str, modifiers: Sequence[str], sources: Sequence[Known]) -> Known | None:
    """The result of an instruction whose operands are known; None where it is none of these."""
    if not modifiers or {"cc", "hi", "sat"} & set(modifiers[:-1]):
        return None
    type = modifiers[-1]
    if type == "pred":
        return _predicate(opcode, sources)
    bits = bits_of(type)
    if not bits:
        return None
    signed = type[0] != "u" or bits == 64
    if opcode in ("mov", "copy", "cvta"):
        return sources[0]
    if opcode == "cvt":
        return _convert(modifiers, sources[0])
    if opcode == "setp":
        return _compare(modifiers, sources, bits, signed)
    if opcode == "selp":
        return _select(sources)
    if opcode in ("mul", "mad") and "wide" in modifiers:
        factors = [_taken(item, bits, type[0] == "s") for item in sources[:2]]
        product = factors[0].value * factors[1].value
        total = product + sources[2].value if opcode == "mad" else product
        return Known(total, total, _mark((*factors, *sources[2:])))
    if opcode in _LINEAR:
        operation = _LINEAR[opcode]
        value = wrap(_as_number(operation(*(item.value for item in sources))), bits, True)
        if bits != 32:
            return Known(value, value, _mark(sources))
        if any(np.any(np.abs(item.meant) > _LARGEST) for item in sources) and opcode in ("mul", "mad", "shl"):
            return Known(value, value)  # a hash, not an index
        return Known(value, _as_number(operation(*(item.meant for item in sources))))
    if opcode in _OTHER:
        found = _OTHER[opcode](*(wrap(item.value, bits, signed) for item in sources))
        return None if found is None else known(wrap(_as_number(found), bits, True))
    return None


def _mark(sources: Sequence[Known]) -> Wrapped | None:
    return next((item.wrapped for item in sources if item.wrapped), None)


def _taken(item: Known, bits: int, signed: bool) -> Known:
    """A value of 32 bits where it becomes one of 64: what it was meant to be no longer counts after this."""
    value = wrap(item.value, bits, signed)
    if bits != 32 or item.meant is item.value:
        return Known(value, value, item.wrapped)
    # An unsigned difference below zero wraps on purpose.
    other = _as_number(np.not_equal(value, item.meant) & (signed | np.greater_equal(item.meant, 0)))
    return Known(value, value, Wrapped(other, item.meant) if np.any(other) else item.wrapped)


def _convert(modifiers: Sequence[str], item: Known) -> Known | None:
    if len(modifiers) < 2:
        return None
    source, target = bits_of(modifiers[-1]), bits_of(modifiers[-2])
    if not source or not target:
        return None
    if target > source:
        return _taken(item, source, modifiers[-1][0] == "s")
    value = wrap(item.value, target, True)
    return Known(value, value, item.wrapped)


def _compare(modifiers: Sequence[str], sources: Sequence[Known], bits: int, signed: bool) -> Known | None:
    compare = _COMPARE.get(modifiers[0])
    if compare is None:
        return None
    left, right = (wrap(item.value, bits, signed) for item in sources[:2])
    found = _as_number(compare(left, right))
    if len(sources) > 2:
        third = sources[2].value
        joined = {"and": lambda: found & third, "or": lambda: found | third, "xor": lambda: found ^ third}
        if modifiers[1] not in joined:
            return None
        found = joined[modifiers[1]]()
    return known(found)


def _predicate(opcode: str, sources: Sequence[Known]) -> Known | None:
    if opcode in ("mov", "copy"):
        return sources[0]
    if opcode == "not":
        return known(1 - sources[0].value)
    if opcode in ("and", "or", "xor"):
        found = _OTHER[opcode](sources[0].value, sources[1].value)
        return None if found is None else known(found)
    return None


def _select(sources: Sequence[Known]) -> Known:
    first, second, which = sources
    if isinstance(which.value, int):
        return first if which.value else second
    return blended(which.value != 0, first, second)


def blended(mask: npt.NDArray[np.bool_], first: Known, second: Known) -> Known:
    """`first` in the threads of the mask, `second` in the others."""
    value = np.where(mask, first.value, second.value).astype(np.int64)
    same = first.meant is first.value and second.meant is second.value
    meant = value if same else np.where(mask, first.meant, second.meant).astype(np.int64)
    return Known(value, meant, first.wrapped or second.wrapped)
