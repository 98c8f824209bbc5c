"""Rows of atomic operations; what they make of the old value is in `atomics`."""

from __future__ import annotations

from emulator.isa.form import Row, row

_SPACE = "{.(global|shared|shared::cta|shared::cluster)}"
_SCOPE = "{.(cta|cluster|gpu|sys)}"
_ORDER = "{.(relaxed|acquire|release|acq_rel)}" + _SCOPE
_REDUCTION_ORDER = "{.(relaxed|release)}" + _SCOPE
_HINT = "{.L2::cache_hint}"

# (operation, what follows it, meaning)
_BOTH = (
    ("add", ".(u32|s32|u64)", "old + b, wrapping."),
    ("add", ".(f32|f64)", "old + b, rounded to nearest; f32 in global memory flushes subnormal numbers."),
    ("add", ".noftz.(f16|f16x2|bf16|bf16x2)", "old + b, each half rounded to nearest."),
    ("(and|or|xor)", ".(b32|b64)", "The bitwise combination of old and b."),
    ("(min|max)", ".(u32|s32|u64|s64)", "The smaller or larger of old and b."),
    ("(inc|dec)", ".u32", "Counts up to b and then from 0, or down to 0 and then from b."),
)
# Of vectors in global memory; each element is updated apart.
_VECTORS = (
    ("add", ".(v2|v4).f32", "old + b of each element; flushes subnormal numbers."),
    ("(add|min|max)", ".noftz.(v2|v4|v8).(f16|bf16)", "The sum, the smaller or the larger of each element."),
    ("(add|min|max)", ".noftz.(v2|v4).(f16x2|bf16x2)", "The sum, the smaller or the larger of each half."),
)


def _rows() -> tuple[Row, ...]:
    result = []
    for operation, kinds, meaning in _BOTH:
        tail = f".{operation}{_HINT}{kinds} …"
        result.append(row(f"atom{_ORDER}{_SPACE}{tail}", f"d = old; memory gets: {meaning}", kind="atomic"))
        result.append(row(f"red{_REDUCTION_ORDER}{_SPACE}{tail}", f"Memory gets: {meaning}", kind="atomic"))
    for operation, kinds, meaning in _VECTORS:
        tail = f".{operation}{_HINT}{kinds} …"
        result.append(row(f"atom{_ORDER}{{.global}}{tail}", f"d = old; memory gets: {meaning}", kind="atomic"))
        result.append(row(f"red{_REDUCTION_ORDER}{{.global}}{tail}", f"Memory gets: {meaning}", kind="atomic"))
    exchange, swap = "d = old; memory gets b.", "d = old; memory gets c where old = b."
    result.append(row(f"atom{_ORDER}{_SPACE}.exch{_HINT}.(b32|b64|b128) …", exchange, kind="atomic"))
    result.append(row(f"atom{_ORDER}{_SPACE}.cas.(b16|b32|b64|b128) …", swap, kind="atomic"))
    return tuple(result)


ROWS = _rows()
