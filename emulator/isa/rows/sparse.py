"""Rows of the tensor core's products with a sparse A."""

from __future__ import annotations

from functools import cache

from emulator.isa.form import Form, Row, row
from emulator.isa.fragments import PARTS, tile
from emulator.isa.lanes import Lanes, Value
from emulator.isa.rows.matrix import operands_of
from emulator.isa.sparsity import Sparsity
from emulator.isa.tensor import Product, multiply

_MEANING = "D = A·B + C, where A's metadata and a selector of the lanes that hold it say which elements A has."


@cache
def sparse_product(form: Form, selector: int) -> Product:
    """What a form computes where the lanes named by the selector hold the metadata."""
    d, a, b, c = form.types
    shape = next(m for m in form.modifiers if m[0] == "m" and m[1:2].isdigit())
    k = int(shape.partition("k")[2])
    operation = "satfinite" if form.has("satfinite") else ""
    name = ".".join(part for part in ("mma.sp", shape, d, a, b, c, operation, str(selector)) if part)
    fragments = tile("a", 16, k // 2, a), tile("b", 16, k, b), tile("c", 16, k, c), tile("c", 16, k, d)
    return Product(name, *fragments, (a, b), (d, c), operation, sparsity=Sparsity(a, k, selector))


def _mma(x: Lanes, f: Form, active: Value, *sources: Value) -> tuple[Value, ...]:
    *operands, metadata, selector = sources
    number = selector.constant
    if number is None:
        raise TypeError(f"the selector of {f.name} is no constant: its caller checks that")
    product = sparse_product(f, number)
    a_end = 1 + max(e.register for e in product.a)
    b_end = a_end + 1 + max(e.register for e in product.b)
    return multiply(x, product, operands[:a_end], operands[a_end:b_end], operands[b_end:], metadata)


def selectors_of(form: Form) -> int | None:
    """How many selectors a sparse product can have; None for every other form."""
    if form.opcode != "mma" or not (form.has("sp") or form.has("sp::ordered_metadata")):
        return None
    sparsity = sparse_product(form, 0).sparsity
    return sparsity.selectors if sparsity is not None else None


def _sparse_row(shape: str, types: tuple[str, str, str, str], head: str = "") -> Row:
    d, a, b, c = (kind.strip("()").split("|")[0] for kind in types)
    k = int(shape.partition("k")[2])
    counts = [4 // PARTS[d], k // 4 // PARTS[a], k // 4 // PARTS[b], 4 // PARTS[c]]
    form = f"mma.(sp|sp::ordered_metadata).sync.aligned.{shape}.row.col{head}.{'.'.join(types)}"
    return row(f"{form} {operands_of(counts, (d, a, b, c))}, e:b32, f:b32", _MEANING, _mma, kind="warp")


def _rows() -> list[Row]:
    result = []
    for shape in ("m16n8k16", "m16n8k32"):
        for d in ("f32", "f16"):
            result.append(_sparse_row(shape, (d, "f16", "f16", d)))
        result.append(_sparse_row(shape, ("f32", "bf16", "bf16", "f32")))
    for shape in ("m16n8k8", "m16n8k16"):
        result.append(_sparse_row(shape, ("f32", "tf32", "tf32", "f32")))
    result.append(_sparse_row("m16n8k64", ("f32", "(e4m3|e5m2)", "(e4m3|e5m2)", "f32")))
    for kind, shapes in {"(s8|u8)": ("m16n8k32", "m16n8k64"), "(s4|u4)": ("m16n8k64", "m16n8k128")}.items():
        for shape in shapes:
            result.append(_sparse_row(shape, ("s32", kind, kind, "s32"), "{.satfinite}"))
    return result


ROWS = tuple(_rows())
