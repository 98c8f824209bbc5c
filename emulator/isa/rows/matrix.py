"""Rows of the tensor core: products of small matrices that a warp holds in its registers.

What later architectures add (`.kind::`, block scales, float6 and float4) has no rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from emulator.isa.form import Form, Row, row
from emulator.isa.fragments import PARTS, SHAPES, Element, Role, depth, quad_pairs, registers_of, tile
from emulator.isa.half import halves, pack
from emulator.isa.lanes import Lanes, Value
from emulator.isa.tensor import Product, by_warp, multiply
from emulator.isa.warps import WARP

_OPERATIONS = ("satfinite", "xor", "and", "rn", "rz", "rm", "rp")
_ROUNDING = "{.(rn|rz|rm|rp)}"
_REGISTERS = {"f16": "f16x2", "bf16": "bf16x2", "tf32": "tf32", "f64": "f64", "f32": "f32", "s32": "s32"}


def _vector(name: str, count: int, kind: str) -> str:
    register = _REGISTERS.get(kind, "b32")
    return "{" + ", ".join(f"{name}{index}:{register}" for index in range(count)) + "}"


def operands_of(counts: Sequence[int], types: Sequence[str]) -> str:
    """D, A, B and C as vectors, given their register counts and the kinds of D, A, B and C."""
    return ", ".join(_vector(name, n, kind) for name, n, kind in zip("dabc", counts, types, strict=True))


def _size(shape: str) -> tuple[int, int, int]:
    """M, N and K."""
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def wmma_types(types: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of D, A, B and C; a form with two types has those of D and C."""
    return (types[0], "f16", "f16", types[1]) if len(types) == 2 else types


# mma.sync.


@cache
def _product(modifiers: tuple[str, ...], types: tuple[str, ...]) -> Product:
    d, a, b, c = types
    shape = next(m for m in modifiers if m[0] == "m" and m[1:2].isdigit())
    operation = next((m for m in modifiers if m in _OPERATIONS), "")
    m, _, k = _size(shape)
    name = ".".join(part for part in ("mma", shape, *types, operation) if part)
    if shape == "m8n8k4" and a == "f16":
        layouts = [part for part in modifiers if part in ("row", "col")]
        name = ".".join([name, *layouts])
        left, right = quad_pairs("a", layouts[0], a), quad_pairs("b", layouts[1], b)
        given, result = (quad_pairs("c", "row", kind) for kind in (c, d))
    else:
        left, right = tile("a", m, k, a), tile("b", m, k, b)
        given, result = (tile("c", m, k, kind) for kind in (c, d))
    return Product(name, left, right, given, result, (a, b), (d, c), operation)


def product_of(form: Form) -> Product:
    """What a form of mma.sync computes."""
    return _product(form.modifiers, form.types)


def _mma(x: Lanes, f: Form, active: Value, *sources: Value) -> tuple[Value, ...]:
    product = product_of(f)
    a_end = _count(product.a)
    b_end = a_end + _count(product.b)
    return multiply(x, product, sources[:a_end], sources[a_end:b_end], sources[b_end:])


def _count(fragment: Sequence[Element]) -> int:
    return 1 + max(e.register for e in fragment)


def _mma_row(shape: str, types: tuple[str, ...], meaning: str, head: str = "", tail: str = "") -> Row:
    """`types` are D's, A's, B's and C's, each one or several in brackets that share a register layout."""
    m, _, k = _size(shape)
    d, a, b, c = (kind.strip("()").split("|")[0] for kind in types)
    if shape == "m8n8k4" and a == "f16":
        layouts = ".(row|col).(row|col)"
        counts = [8 // PARTS[d], 2, 2, 8 // PARTS[c]]
    else:
        layouts = ".row.col"
        sums = m * 8 // 32
        counts = [sums // PARTS[d], m * depth(k, a) // 32 // PARTS[a], depth(k, b) // 4 // PARTS[b], sums // PARTS[c]]
    form = f"mma.sync.aligned.{shape}{layouts}{head}.{'.'.join(types)}{tail}"
    return row(f"{form} {operands_of(counts, (d, a, b, c))}", meaning, _mma, kind="warp")


def _mma_rows() -> list[Row]:
    result = []
    for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
        result.append(_mma_row("m8n8k4", (d, "f16", "f16", c), "Four products D = A·B + C, by groups of lanes."))
    for shape in ("m16n8k8", "m16n8k16"):
        for d in ("f32", "f16"):
            result.append(_mma_row(shape, (d, "f16", "f16", d), "D = A·B + C."))
        result.append(_mma_row(shape, ("f32", "bf16", "bf16", "f32"), "D = A·B + C."))
    for shape in ("m16n8k4", "m16n8k8"):
        result.append(_mma_row(shape, ("f32", "tf32", "tf32", "f32"), "D = A·B + C."))
    eight_bits = "(e4m3|e5m2)"
    for shape in ("m16n8k16", "m16n8k32"):
        for d in ("f32", "f16"):
            result.append(_mma_row(shape, (d, eight_bits, eight_bits, d), "D = A·B + C."))
    for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"):
        result.append(_mma_row(shape, ("f64",) * 4, "D = A·B + C by fused multiply-adds.", tail=_ROUNDING))
    integers = {"(s8|u8)": ("m8n8k16", "m16n8k16", "m16n8k32"), "(s4|u4)": ("m8n8k32", "m16n8k32", "m16n8k64")}
    for kind, shapes in integers.items():
        for shape in shapes:
            types = ("s32", kind, kind, "s32")
            result.append(_mma_row(shape, types, "D = A·B + C, wrapping or clamped.", head="{.satfinite}"))
    for shape in ("m8n8k128", "m16n8k128", "m16n8k256"):
        meaning = "D = C + the number of bits set in A ⊕ B or A ∧ B."
        result.append(_mma_row(shape, ("s32", "b1", "b1", "s32"), meaning, tail=".(xor|and).popc"))
    return result


# wmma.mma: a fragment is a row of mma tiles.


@cache
def _tile_product(shape: str, types: tuple[str, ...], operation: str) -> Product:
    tiles = SHAPES[shape]
    d, a, b, c = types
    if tiles.swapped:
        a, b = b, a
    name = ".".join(part for part in ("wmma", shape, d, a, b, c, operation) if part)
    left, right = tile("a", tiles.m, tiles.k, a), tile("b", tiles.m, tiles.k, b)
    given, result = tile("c", tiles.m, tiles.k, c), tile("c", tiles.m, tiles.k, d)
    step = 4 if a == "tf32" else tiles.k  # as measured: two instructions, where mma.sync is one
    return Product(name, left, right, given, result, (a, b), (d, c), operation, step)


def _wmma(x: Lanes, f: Form, active: Value, *sources: Value) -> tuple[Value, ...]:
    """One routine that calls the tile's for each of its tiles."""
    shape = f.pick(*SHAPES)
    tiles = SHAPES[shape]
    types = wmma_types(f.types)
    product = _tile_product(shape, types, f.pick(*_OPERATIONS))
    a_end, c_count = registers_of("a", shape, types[1]), registers_of("c", shape, types[3])
    a, b, c = sources[:a_end], sources[a_end:-c_count], sources[-c_count:]
    if tiles.swapped:
        a, b = b, a
    # Repeated registers of float16 fragments are not looked at.
    a_size, b_size = _count(product.a), _count(product.b)
    a, b = a[: a_size * tiles.a_tiles], b[: b_size * tiles.b_tiles]
    count = tiles.a_tiles * tiles.b_tiles
    c_size = c_count // count
    if count == 1:
        return multiply(x, product, a, b, c)

    def body(inner: Lanes, arguments: Sequence[Value]) -> Sequence[Value]:
        left, right, given = arguments[: len(a)], arguments[len(a) : -c_count], arguments[-c_count:]
        result: list[Value] = []
        for index in range(count):
            first = left[a_size * index :][:a_size] if tiles.a_tiles > 1 else left
            second = right[b_size * index :][:b_size] if tiles.b_tiles > 1 else right
            result += multiply(inner, product, first, second, given[c_size * index :][:c_size])
        return result

    return by_warp(x, f"{product.name}.tiles", body, [*a, *b, *c])


def _wmma_row(shape: str, types: tuple[str, ...], meaning: str, head: str = "", tail: str = "") -> Row:
    d, a, b, c = wmma_types(types)
    roles: tuple[Role, ...] = ("c", "a", "b", "c")
    counts = [registers_of(role, shape, kind) for role, kind in zip(roles, (d, a, b, c), strict=True)]
    layouts = ".row.col" if a in ("s4", "u4", "b1") else ".(row|col).(row|col)"
    form = f"wmma.mma{head}.sync.aligned{layouts}.{shape}.{'.'.join(types)}{tail}"
    return row(
        f"{form} {operands_of(counts, (d, a, b, c))}", f"D = A·B + C of fragments, {meaning}.", _wmma, kind="warp"
    )


def _wmma_rows() -> list[Row]:
    result = []
    for shape in ("m16n16k16", "m32n8k16", "m8n32k16"):
        for d in ("f32", "f16"):
            for c in ("f32", "f16"):
                result.append(_wmma_row(shape, (d, c), f"float16 summed in .{c} to .{d}"))
        result.append(_wmma_row(shape, ("f32", "bf16", "bf16", "f32"), "bfloat16 summed in single precision"))
        for kind in ("s8", "u8"):
            types = ("s32", kind, kind, "s32")
            result.append(_wmma_row(shape, types, "bytes summed in 32 bits", tail="{.satfinite}"))
    result.append(_wmma_row("m16n16k8", ("f32", "tf32", "tf32", "f32"), "tf32 summed in single precision"))
    result.append(_wmma_row("m8n8k4", ("f64",) * 4, "doubles, fused multiply-adds", tail=_ROUNDING))
    for kind in ("s4", "u4"):
        types = ("s32", kind, kind, "s32")
        result.append(_wmma_row("m8n8k32", types, "half bytes summed in 32 bits", tail="{.satfinite}"))
    result.append(_wmma_row("m8n8k128", ("s32", "b1", "b1", "s32"), "single bits counted", head=".(xor|and).popc"))
    return result


# Matrices to and from memory.


def _movmatrix(x: Lanes, f: Form, active: Value, a: Value) -> Value:
    """Row r of the 8 × 8 matrix lies in lanes 4r to 4r + 3, two elements each; the result is its transpose."""
    low, high = halves(x, a)
    parts = []
    for half in range(2):
        lanes = [lane // WARP * WARP + (2 * (lane % 4) + half) * 4 + lane % WARP // 8 for lane in range(x.width)]
        odd = x.lane_constants("i1", [lane % WARP // 4 % 2 for lane in range(x.width)])
        first, second = (x.shuffle(x.splat(v), lanes) for v in (low, high))
        parts.append(x.select(odd, second, first))
    return pack(x, parts[0], parts[1])


def _access_rows() -> list[Row]:
    space = "{.(global|shared|shared::cta)}"
    result = []
    for shape, kinds in {
        "(m16n16k16|m32n8k16|m8n32k16)": "(f16|bf16|s8|u8)", "m16n16k8": "tf32", "m8n8k4": "f64",
    }.items():  # fmt: skip
        form = f"wmma.load.(a|b).sync.aligned.(row|col).{shape}{space}.{kinds} …"
        result.append(row(form, "Loads a fragment of A or B; rows or columns are a stride apart.", kind="memory"))
    for shape, kinds in {"m8n8k32": "(s4|u4)", "m8n8k128": "b1"}.items():
        for role, layout in (("a", "row"), ("b", "col")):
            form = f"wmma.load.{role}.sync.aligned.{layout}.{shape}{space}.{kinds} …"
            result.append(row(form, "Loads a fragment of elements smaller than a byte.", kind="memory"))
    for shape, kinds in {
        "(m16n16k16|m32n8k16|m8n32k16)": "(f16|f32|s32)", "m16n16k8": "f32", "m8n8k4": "f64",
        "(m8n8k32|m8n8k128)": "s32",
    }.items():  # fmt: skip
        form = f"wmma.load.c.sync.aligned.(row|col).{shape}{space}.{kinds} …"
        result.append(row(form, "Loads an accumulator fragment.", kind="memory"))
        form = f"wmma.store.d.sync.aligned.(row|col).{shape}{space}.{kinds} …"
        result.append(row(form, "Stores an accumulator fragment.", kind="memory"))
    shared = "{.(shared|shared::cta)}"
    for opcode, meaning in (
        ("ldmatrix", "Loads 1, 2 or 4 matrices of 8 × 8 halves, whose rows the lanes name."),
        ("stmatrix", "Stores 1, 2 or 4 matrices of 8 × 8 halves to rows that the lanes name."),
    ):
        result.append(row(f"{opcode}.sync.aligned.m8n8.(x1|x2|x4){{.trans}}{shared}.b16 …", meaning, kind="memory"))
    return result


ROWS = (
    *_mma_rows(),
    *_wmma_rows(),
    row("movmatrix.sync.aligned.m8n8.trans.b16 d:b32, a:b32", "An 8 × 8 matrix transposed.", _movmatrix, kind="warp"),
    *_access_rows(),
)
