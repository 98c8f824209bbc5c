"""Rows of the tensor core: products of small matrices that a warp holds in its registers."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.isa.form import Form, Row, row
from emulator.isa.fragments import SHAPES, Role, registers_of
from emulator.isa.half import halves, pack
from emulator.isa.lanes import Lanes, Value
from emulator.isa.tensor import double_tile, tile
from emulator.isa.warps import WARP


def _vector(name: str, count: int, kind: str) -> str:
    return "{" + ", ".join(f"{name}{index}:{kind}" for index in range(count)) + "}"


def _accumulate(
    x: Lanes, kinds: tuple[str, str], a: Sequence[Value], b: Sequence[Value], c: Sequence[Value], saturate: bool
) -> list[Value]:
    """One tile; a float16 accumulator has two registers of two values."""
    half = len(c) == 2
    values = [part for register in c for part in halves(x, register)] if half else c
    d = tile(x, kinds, a, b, values, half, saturate)
    return [pack(x, d[0], d[1]), pack(x, d[2], d[3])] if half else list(d)


def _operand_kinds(f: Form) -> tuple[str, str]:
    """The element types of A and B: the second and third of four types, or float16 where only two are given."""
    names = [part for part in f.modifiers if part in ("f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s32")]
    return (names[1], names[2]) if len(names) == 4 else ("f16", "f16")


def _mma(x: Lanes, f: Form, active: Value, *sources: Value) -> tuple[Value, ...]:
    count = len(f.destinations)
    c = sources[-count:]
    if f.has("f64"):
        return tuple(double_tile(x, sources[0], sources[1], c))
    operands = sources[:-count]
    a_count = 2 * len(operands) // 3
    return tuple(_accumulate(x, _operand_kinds(f), operands[:a_count], operands[a_count:], c, f.has("satfinite")))


def _wmma(x: Lanes, f: Form, active: Value, *sources: Value) -> tuple[Value, ...]:
    kinds = _operand_kinds(f)
    if f.has("f64"):
        return tuple(double_tile(x, sources[0], sources[1], sources[2:]))
    shape = f.pick(*SHAPES)
    tiles = SHAPES[shape]
    split = registers_of("a", shape, kinds[0])
    c_count = len(f.destinations)
    a, b, c = sources[:split], sources[split:-c_count], sources[-c_count:]
    if tiles.swapped:
        a, b, kinds = b, a, (kinds[1], kinds[0])
    # Repeated registers of float16 fragments are not looked at.
    parts = {"f16": 2, "bf16": 2, "tf32": 1}.get(kinds[0], 4)
    a_size, b_size = 2 * tiles.k // (4 * parts), tiles.k // (4 * parts)
    result: list[Value] = []
    for index in range(2):
        first = a[a_size * index :][:a_size] if tiles.a_tiles == 2 else a[:a_size]
        second = b[b_size * index :][:b_size] if tiles.b_tiles == 2 else b[:b_size]
        half = c_count // 2
        given = c[half * index :][:half]
        result += _accumulate(x, kinds, first, second, given, f.has("satfinite"))
    return tuple(result)


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


def _mma_row(head: str, counts: tuple[int, int, int], operand: str, accumulator: str, meaning: str) -> Row:
    a, b, c = counts
    operands = ", ".join(
        [_vector("d", c, accumulator), _vector("a", a, operand), _vector("b", b, operand), _vector("c", c, accumulator)]
    )
    return row(f"{head} {operands}", meaning, _mma, kind="warp")


def _wmma_row(shape: str, types: str, kind: str, accumulator: str, meaning: str) -> Row:
    def count(role: Role, of: str) -> int:
        return registers_of(role, shape, of)

    register = {"f16": "f16x2", "bf16": "bf16x2", "tf32": "tf32", "f64": "f64"}.get(kind, "b32")
    c = count("c", "f16" if accumulator == "f16x2" else "f32")
    operands = ", ".join(
        [
            _vector("d", c, accumulator),
            _vector("a", count("a", kind), register),
            _vector("b", count("b", kind), register),
            _vector("c", c, accumulator),
        ]
    )
    return row(
        f"wmma.mma.sync.aligned.(row|col).(row|col).{shape}{types} {operands}",
        f"D = A·B + C of fragments, {meaning}.",
        _wmma,
        kind="warp",
    )


def _rows() -> tuple[Row, ...]:
    start = "mma.sync.aligned"
    result = [
        _mma_row(f"{start}.m16n8k8.row.col.f32.f16.f16.f32", (2, 1, 4), "f16x2", "f32", "D = A·B + C."),
        _mma_row(f"{start}.m16n8k16.row.col.f32.f16.f16.f32", (4, 2, 4), "f16x2", "f32", "D = A·B + C."),
        _mma_row(f"{start}.m16n8k8.row.col.f16.f16.f16.f16", (2, 1, 2), "f16x2", "f16x2", "D = A·B + C."),
        _mma_row(f"{start}.m16n8k16.row.col.f16.f16.f16.f16", (4, 2, 2), "f16x2", "f16x2", "D = A·B + C."),
        _mma_row(f"{start}.m16n8k8.row.col.f32.bf16.bf16.f32", (2, 1, 4), "bf16x2", "f32", "D = A·B + C."),
        _mma_row(f"{start}.m16n8k16.row.col.f32.bf16.bf16.f32", (4, 2, 4), "bf16x2", "f32", "D = A·B + C."),
        _mma_row(f"{start}.m16n8k4.row.col.f32.tf32.tf32.f32", (2, 1, 4), "tf32", "f32", "D = A·B + C."),
        _mma_row(f"{start}.m16n8k8.row.col.f32.tf32.tf32.f32", (4, 2, 4), "tf32", "f32", "D = A·B + C."),
        _mma_row(f"{start}.m8n8k4.row.col.f64.f64.f64.f64{{.rn}}", (1, 1, 2), "f64", "f64", "D = A·B + C."),
    ]
    for shape, counts in (("m16n8k16", (2, 1, 4)), ("m16n8k32", (4, 2, 4))):
        for saturation in ("", ".satfinite"):
            head = f"{start}.{shape}.row.col{saturation}.s32.(s8|u8).(s8|u8).s32"
            meaning = "D = A·B + C, clamped to s32." if saturation else "D = A·B + C, wrapping."
            result.append(_mma_row(head, counts, "b32", "s32", meaning))
    for shape in ("m16n16k16", "m32n8k16", "m8n32k16"):
        result.append(_wmma_row(shape, ".f32.f32", "f16", "f32", "float16 summed in single precision"))
        result.append(_wmma_row(shape, ".f16.f16", "f16", "f16x2", "float16 summed in float16"))
        result.append(_wmma_row(shape, ".f32.bf16.bf16.f32", "bf16", "f32", "bfloat16 summed in single precision"))
        for kind in ("s8", "u8"):
            types = f".s32.{kind}.{kind}.s32{{.satfinite}}"
            result.append(_wmma_row(shape, types, kind, "s32", "bytes summed in 32 bits"))
    result.append(_wmma_row("m16n16k8", ".f32.tf32.tf32.f32", "tf32", "f32", "tf32 summed in single precision"))
    result.append(_wmma_row("m8n8k4", ".f64.f64.f64.f64{.rn}", "f64", "f64", "doubles, fused multiply-adds"))
    result.append(
        row(
            "movmatrix.sync.aligned.m8n8.trans.b16 d:b32, a:b32", "An 8 × 8 matrix transposed.", _movmatrix, kind="warp"
        )
    )
    return tuple(result)


ROWS = _rows()
