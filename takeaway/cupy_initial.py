"""What a buffer starts from, as a NumPy expression; the same numbers as Warpyard's, to the bit."""

from __future__ import annotations

import math
import textwrap

from protocol.arguments import (
    Arange,
    Buffer,
    Formula,
    Full,
    Integers,
    Linspace,
    Literals,
    Normal,
    Uniform,
    Uninitialised,
    Upload,
    Zeros,
)
from protocol.dtypes import INTEGER_BITS, Number, read_number, whole_number
from takeaway.formula import Unwritable, write_formula
from takeaway.numbers import number_bytes
from takeaway.program import NotExportable

HELPERS = {
    "cast": '''
def cast(values, dtype):
    """Values as `dtype`, floats towards zero for integers; ValueError where one does not fit."""
    values = np.asarray(values)
    if dtype == "bfloat16":
        return bfloat16(cast(values, "float32"))
    if np.dtype(dtype).kind in "iu" and values.dtype.kind != "b":
        whole = np.trunc(values) if values.dtype.kind == "f" else values
        limits = np.iinfo(dtype)
        if not np.all((whole >= limits.min) & (whole < float(limits.max + 1) if whole.dtype.kind == "f"
                      else whole <= limits.max)):
            raise ValueError(f"a value does not fit {dtype}")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        result = values.astype(dtype)
    if result.dtype.kind in "fc" and not np.array_equal(np.isfinite(result), np.isfinite(values)):
        raise ValueError(f"a value does not fit {dtype}")
    return result
''',
    "bfloat16": '''
def bfloat16(values):
    """float32 values as the bits of bfloat16, in uint16: the upper half, rounded to nearest even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    nan = bits >> np.uint32(16) | np.uint32(0x40)
    return np.where(bits & np.uint32(0x7FFFFFFF) > np.uint32(0x7F800000), nan, rounded).astype(np.uint16)
''',
    "by_formula": '''
def by_formula(shape, dtype, formula):
    """The formula over all elements row by row: i counts them, x along the last axis, y along the one before."""
    count = math.prod(shape)
    nx, ny, nz, nw = (np.int64(size) for size in (*reversed(shape), 1, 1, 1)[:4])
    result = np.empty(count, np.uint16 if dtype == "bfloat16" else dtype)
    for start in range(0, count, 1 << 18):
        i = np.arange(start, min(start + (1 << 18), count), dtype=np.int64)
        x, y, z, w = i % nx, i // nx % ny, i // (nx * ny) % nz, i // (nx * ny * nz)
        with np.errstate(all="ignore"):
            values = formula(i, x, y, z, w, np.int64(count), nx, ny, nz, nw)
        result[start : start + i.size] = np.broadcast_to(cast(values, dtype), i.shape)
    return result
''',
    "power": '''
def power(base, exponent):
    """Whole numbers to whole powers stay whole."""
    base, exponent = np.asarray(base), np.asarray(exponent)
    if base.dtype.kind in "iu" and exponent.dtype.kind in "iu" and np.all(exponent >= 0):
        return np.power(base, exponent)
    wide = np.complex128 if "c" in base.dtype.kind + exponent.dtype.kind else np.float64
    return np.power(base.astype(wide), exponent)
''',
    "load": '''
def load(file, dtype, shape):
    """The array of a .npy file; bfloat16 is stored as uint16."""
    array = np.load(file)
    if array.dtype.newbyteorder("=") != dtype or array.shape != shape:
        raise ValueError(f"{file} holds {array.dtype}{list(array.shape)}, not {dtype}{list(shape)}")
    return np.ascontiguousarray(array, dtype)
''',
}  # fmt: skip
NEEDS = {"cast": ("bfloat16",), "by_formula": ("cast",)}


def initial(buffer: Buffer, field: str) -> tuple[str | None, str]:
    """(expression, comment): a flat or shaped array, None where the buffer is left as allocated. NotExportable."""
    count, dtype, init = buffer.elements, buffer.dtype, buffer.init
    match init:
        case Zeros():
            return f'np.zeros({count}, "{stored(dtype)}")', ""
        case Full():
            return f"np.full({count}, {scalar(init.value, dtype)})", ""
        case Literals():
            values = ", ".join(_value(value, dtype) for value in init.values)
            wrapped = textwrap.fill(values, 100, initial_indent=" " * 12, subsequent_indent=" " * 12)
            return _cast(f"np.array([\n{wrapped}\n        ], {_wide(dtype)})", dtype), ""
        case Arange():
            return _arange(init, dtype, count), ""
        case Linspace():
            kind = "complex128" if dtype.startswith("complex") else "float64"
            values = f"np.linspace({_value(init.start, kind)}, {_value(init.stop, kind)}, {count})"
            return _cast(f"np.rint({values})" if dtype in INTEGER_BITS else values, dtype), ""
        case Uniform():
            return _scaled("random", init.seed, init.low, init.high - init.low, buffer), ""
        case Normal():
            return _scaled("standard_normal", init.seed, init.mean, init.deviation, buffer), ""
        case Integers():
            low, high = whole_number(init.low), whole_number(init.high)
            kind = ', dtype="uint64"' if high > 1 << 63 else ""
            drawn = f"np.random.default_rng({init.seed}).integers({low}, {high}, size={count}{kind})"
            return (f'{drawn}.astype("bool")' if dtype == "bool" else _cast(drawn, dtype)), ""
        case Formula():
            try:
                text = write_formula(init.text).numpy
            except Unwritable as error:
                raise NotExportable(field, str(error)) from None
            function = f"lambda i, x, y, z, w, n, nx, ny, nz, nw: {text}"
            return f'by_formula({buffer.shape}, "{dtype}", {function})', f"formula: {' '.join(init.text.split())}"
        case Uninitialised():
            return None, "left as allocated"
        case Upload():
            comment = f"the uploaded file, SHA-256 {init.digest}"
            return f'load("{buffer.name}.npy", "{stored(dtype)}", {buffer.shape})', comment


def stored(dtype: str) -> str:
    """NumPy's type that holds the elements: it has no bfloat16 of its own, so that its bits are uint16."""
    return "uint16" if dtype == "bfloat16" else dtype


def scalar(value: Number, dtype: str) -> str:
    """One number as a NumPy scalar of its type."""
    if dtype == "bfloat16":
        return f"np.uint16(0x{int.from_bytes(number_bytes(value, dtype), 'little'):04x})"
    return f"np.{dtype if dtype != 'bool' else 'bool_'}({_value(value, dtype)})"


def _value(value: Number, dtype: str) -> str:
    number = read_number(value, dtype)
    if isinstance(number, complex):
        return f"complex({_real(number.real)}, {_real(number.imag)})"
    return _real(number) if isinstance(number, float) else repr(number)


def _real(number: float) -> str:
    return repr(number) if math.isfinite(number) else f'float("{number}")'


def _wide(dtype: str) -> str:
    if dtype == "bool" or dtype in INTEGER_BITS:
        return f'"{dtype}"'
    return '"complex128"' if dtype.startswith("complex") else '"float64"'


def _cast(values: str, dtype: str) -> str:
    return f'cast({values}, "{dtype}")'


def _arange(init: Arange, dtype: str, count: int) -> str:
    if dtype in INTEGER_BITS:
        start, step = whole_number(init.start), whole_number(init.step)
        if (start, step) == (0, 1):
            return f'np.arange({count}, dtype="{dtype}")'
        # Modulo 2^64 the sum is exact, also at the ends of the 64-bit types.
        wrapped = f'np.arange({count}, dtype="uint64") * np.uint64({step % (1 << 64)}) + np.uint64({start % (1 << 64)})'
        return f'({wrapped}).astype("{dtype}")'
    kind = "complex128" if dtype.startswith("complex") else "float64"
    return _cast(f"{_value(init.start, kind)} + {_value(init.step, kind)} * np.arange({count})", dtype)


def _scaled(method: str, seed: int, offset: float, factor: float, buffer: Buffer) -> str:
    """Draws of default_rng, two for a complex number; uniform ones below float64 are drawn as float32."""
    dtype, count = buffer.dtype, buffer.elements
    generator = f"np.random.default_rng({seed}).{method}"
    part = {"complex64": "float32", "complex128": "float64"}.get(dtype)
    single = method == "random" and (part or dtype) != "float64"
    drawn = f"{generator}({2 * count if part else count}{', dtype=np.float32' if single else ''})"
    if part:
        drawn = f'{drawn}.astype("{part}").view("{dtype}")'
    if (offset, factor) != (0.0, 1.0):
        wide = f".astype({_wide('float64' if dtype in INTEGER_BITS else dtype)})"
        drawn = f"{offset!r} + {factor!r} * {drawn}{wide if method == 'random' else ''}"
    return _cast(drawn, dtype)
