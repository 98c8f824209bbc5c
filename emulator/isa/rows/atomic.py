"""Rows of atomic operations; what they make of the old value is in `atomics`."""

from __future__ import annotations

from emulator.isa.form import Row, row

_ORDER = "{.(relaxed|acquire|release|acq_rel)}{.(cta|cluster|gpu|sys)}{.(global|shared|shared::cta|shared::cluster)}"
_REDUCTION_ORDER = "{.(relaxed|release)}{.(cta|cluster|gpu|sys)}{.(global|shared|shared::cta|shared::cluster)}"

# (operation, what follows it, meaning)
_BOTH = (
    ("add", ".(u32|s32|u64)", "old + b, wrapping."),
    ("add", ".(f32|f64)", "old + b, rounded to nearest; f32 in global memory flushes subnormal numbers."),
    ("add", ".noftz.(f16|f16x2|bf16|bf16x2)", "old + b, each half rounded to nearest."),
    ("(and|or|xor)", ".(b32|b64)", "The bitwise combination of old and b."),
    ("(min|max)", ".(u32|s32|u64|s64)", "The smaller or larger of old and b."),
    ("(inc|dec)", ".u32", "Counts up to b and then from 0, or down to 0 and then from b."),
)


def _rows() -> tuple[Row, ...]:
    result = []
    for operation, kinds, meaning in _BOTH:
        result.append(row(f"atom{_ORDER}.{operation}{kinds} …", f"d = old; memory gets: {meaning}", kind="atomic"))
        result.append(row(f"red{_REDUCTION_ORDER}.{operation}{kinds} …", f"Memory gets: {meaning}", kind="atomic"))
    result.append(row(f"atom{_ORDER}.exch.(b32|b64) …", "d = old; memory gets b.", kind="atomic"))
    result.append(row(f"atom{_ORDER}.cas.(b16|b32|b64) …", "d = old; memory gets c where old = b.", kind="atomic"))
    return tuple(result)


ROWS = _rows()
