"""What a buffer starts from, as C++ of the host: the same numbers as Warpyard's, or a file that holds them."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field

import numpy as np

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
from protocol.dtypes import INTEGER_BITS, ITEM_BYTES, Number, read_number, whole_number
from takeaway.formula import VARIABLES, Unwritable, write_formula
from takeaway.program import NotExportable

TYPES = {
    "bool": "host_side::Bool", "float16": "host_side::Half", "bfloat16": "host_side::Bfloat16", "float32": "float",
    "float64": "double", "complex64": "host_side::Complex<float>", "complex128": "host_side::Complex<double>",
    **{name: f"{name}_t" for name in INTEGER_BITS},
}  # fmt: skip
"""What an element is on the host."""

_NPY = {"bool": "|b1", "int8": "|i1", "uint8": "|u1", "bfloat16": "<u2", "complex64": "<c8", "complex128": "<c16"}
_COMPLEX = "host_side::Complex<double>"
_LINE = 100


@dataclass(slots=True)
class Initial:
    """The statements that fill one buffer, what they need, and what the reader is told at the file's head."""

    statements: list[str] = field(default_factory=list)
    data: str = ""
    """Of arrays, before the function."""
    needs: set[str] = field(default_factory=set)
    """Fragments: values, formula, random, normal, load."""
    note: str = ""


def initial(buffer: Buffer, index: int) -> Initial:
    """Raises NotExportable."""
    dtype, init = buffer.dtype, buffer.init
    made = Initial(needs={"values"})
    match init:
        case Zeros():
            made.needs = set()
        case Uninitialised():
            made.needs = set()
            made.statements = ["buffers.back().left_as_allocated = true;"]
        case Upload():
            _from_file(made, buffer, f"the file that was uploaded, SHA-256 {init.digest}")
        case Full():
            _set(made, dtype, f"return {_number(init.value, dtype)};")
        case Literals():
            name = f"values_{index}"
            values = textwrap.fill(", ".join(_number(value, dtype) for value in init.values), _LINE)
            made.data = f"static const {_wide(dtype)} {name}[] = {{\n{textwrap.indent(values, '    ')},\n}};\n\n"
            _set(made, dtype, f"return {name}[i];")
        case Arange():
            _arange(made, init, dtype)
        case Linspace() if dtype.startswith("complex"):
            _from_file(made, buffer, "evenly spaced complex numbers")
        case Linspace():
            start, stop = (_number(value, "float64") for value in (init.start, init.stop))
            value = f"host_side::between({start}, {stop}, i, {buffer.elements - 1})"
            _set(made, dtype, f"return {f'rint({value})' if dtype in INTEGER_BITS else value};")
        case Uniform():
            _drawn(made, "uniform", init.seed, init.low, init.high - init.low, dtype)
        case Normal():
            _drawn(made, "normal", init.seed, init.mean, init.deviation, dtype)
            made.note = (
                f"{buffer.name} is drawn with log1p and exp of the C library: where those round differently from the "
                "GNU C library's, a number in the tails may differ in its last place."
            )
        case Integers():
            low, high = whole_number(init.low), whole_number(init.high)
            kind = "uint64_t" if high > 1 << 63 else "int64_t"
            _generator(made, init.seed)
            value = f"{kind}(uint64_t({low % (1 << 64)}ull) + draws.below_or_equal({high - 1 - low}ull))"
            _set(made, dtype, f"return {value};", captures="&")
        case Formula():
            _formula(made, init, buffer, index)
    return made


def _set(made: Initial, dtype: str, body: str, captures: str = "") -> None:
    function = f"[{captures}](uint64_t{' i' if _uses(body, 'i') else ''}) {{ {body} }}"
    made.statements.append(f"host_side::set<{TYPES[dtype]}>(buffers.back(), {function});")


def _from_file(made: Initial, buffer: Buffer, what: str) -> None:
    dtype = buffer.dtype
    letter = {"i": "i", "u": "u", "f": "f"}.get(dtype[0], "")
    made.needs = {"load"}
    made.statements = [
        f"// From {buffer.name}.npy: {what}.",
        f'host_side::load_npy(buffers.back(), "{_NPY.get(dtype, f"<{letter}{ITEM_BYTES[dtype]}")}");',
    ]
    made.note = f"{buffer.name} is read from {buffer.name}.npy in the working folder: {what}."
    if not isinstance(buffer.init, Upload):
        made.note += (
            " C++ does not give NumPy's numbers for it, so let the CuPy script of the same run write the file, "
            "with --initial . (that needs no GPU)."
        )


def _wide(dtype: str) -> str:
    """The type that numbers are written in."""
    if dtype.startswith("complex"):
        return _COMPLEX
    if dtype == "bool":
        return "bool"
    return "uint64_t" if dtype == "uint64" else "int64_t" if dtype in INTEGER_BITS else "double"


def _number(value: Number, dtype: str) -> str:
    """One number as an expression of the type that `_wide` names."""
    number = read_number(value, dtype)
    if isinstance(number, bool):
        return "true" if number else "false"
    if isinstance(number, int):
        return f"uint64_t({number}ull)" if dtype == "uint64" else f"int64_t({whole(number)})"
    if isinstance(number, complex):
        return f"{_COMPLEX}{{{real(number.real)}, {real(number.imag)}}}"
    return real(number)


def whole(number: int) -> str:
    """A signed integer literal; the lowest of 64 bits has none of its own."""
    return f"{number + 1}ll - 1" if number == -(1 << 63) else f"{number}ll" if abs(number) >= 1 << 31 else str(number)


def real(number: float) -> str:
    """A double."""
    if math.isnan(number):
        return "-(double)NAN" if math.copysign(1, number) < 0 else "(double)NAN"
    if math.isinf(number):
        return "HUGE_VAL" if number > 0 else "-HUGE_VAL"
    return repr(number)


def _arange(made: Initial, init: Arange, dtype: str) -> None:
    if dtype in INTEGER_BITS:
        start, step = (whole_number(value) % (1 << 64) for value in (init.start, init.step))
        _set(made, dtype, f"return {_wide(dtype) if dtype == 'uint64' else 'int64_t'}({start}ull + {step}ull * i);")
    elif dtype.startswith("complex"):
        start_at, by = (complex(read_number(value, "complex128")) for value in (init.start, init.step))
        parts = (f"{real(a)} + {real(b)} * (double)i" for a, b in ((start_at.real, by.real), (start_at.imag, by.imag)))
        _set(made, dtype, f"return {_COMPLEX}{{{', '.join(parts)}}};")
    else:
        start_text, step_text = (_number(value, "float64") for value in (init.start, init.step))
        _set(made, dtype, f"return {start_text} + {step_text} * (double)i;")


def _generator(made: Initial, seed: int) -> None:
    state = np.random.PCG64(seed).state["state"]
    words = (part for number in (state["state"], state["inc"]) for part in divmod(number, 1 << 64))
    made.needs.add("random")
    made.statements.append(f"// numpy.random.default_rng({seed})")
    made.statements.append(f"host_side::Generator draws({', '.join(f'0x{word:016x}ull' for word in words)});")


def _drawn(made: Initial, method: str, seed: int, offset: float, factor: float, dtype: str) -> None:
    """Draws, two for a complex number; uniform ones below float64 are drawn as float32."""
    _generator(made, seed)
    if method == "normal":
        made.needs.add("normal")
        draw = "draws.normal()"
    else:
        draw = "draws.uniform_double()" if dtype in ("float64", "complex128") else "draws.uniform_float()"
    scaled = (offset, factor) != (0.0, 1.0)
    if not dtype.startswith("complex"):
        value = f"{real(offset)} + {real(factor)} * {draw}" if scaled else draw
        _set(made, dtype, f"return {value};", captures="&")
        return
    # NumPy scales uniform numbers as complex128, normal ones in the buffer's own type.
    kind = "float" if (method, dtype) == ("normal", "complex64") else "double"
    drawn_as = "float" if dtype == "complex64" else "double"
    parts = "a", "b"
    if scaled:
        parts = f"({kind}){real(offset)} + ({kind}){real(factor)} * ({kind})a", f"({kind}){real(factor)} * ({kind})b"
    draws = f"{drawn_as} a = ({drawn_as}){draw}, b = ({drawn_as}){draw};"
    _set(made, dtype, f"{draws} return {_COMPLEX}{{{parts[0]}, {parts[1]}}};", captures="&")


def _formula(made: Initial, init: Formula, buffer: Buffer, index: int) -> None:
    try:
        written = write_formula(init.text)
    except Unwritable as error:
        raise NotExportable(f"buffers.{index}.init.text", str(error)) from None
    text = " ".join(init.text.split())
    if written.cuda is None:
        _from_file(made, buffer, f"the formula {text}")
        return
    if written.inexact:
        made.note = (
            f"{buffer.name} is computed with {', '.join(written.inexact)} of the C library, which NumPy's may differ "
            "from in the last place."
        )
    made.needs.add("formula")
    result = {"bool": "bool", "int": "int64_t"}.get(written.kind, "double")
    names = (name if _uses(written.cuda, name) else "" for name in VARIABLES)
    parameters = ", ".join(f"int64_t {name}".strip() for name in names)
    made.statements += [
        f"// {text}",
        f"host_side::set_by_formula<{TYPES[buffer.dtype]}>(buffers.back(), []({parameters}) -> {result} {{",
        f"    return {written.cuda};",
        "});",
    ]


def _uses(text: str, name: str) -> bool:
    return any(part == name for part in "".join(c if c.isalnum() or c == "_" else " " for c in text).split())
