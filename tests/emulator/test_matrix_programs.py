"""Programs of tensor cores, as nvcc's dialect writes them, multiply matrices; what goes wrong is a fault by name.

The matrices hold small integers, whose products every format sums exactly; rounding is test_matrix_hardware's part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from launching import Run, compiled, int32, module, run

from emulator import CompileProblems, Options, compile_entry, parse

Array = np.ndarray[Any, Any]


def integers(low: int, high: int, *shape: int) -> Array:
    return np.random.default_rng(low + 7 * high + sum(shape)).integers(low, high, shape)


def brain(values: Array) -> Array:
    """The bits of bfloat16 numbers."""
    return (values.astype("f4").view("u4") >> 16).astype("u2")


def small_floats(values: Array, fraction_bits: int) -> Array:
    """The bits of float8 numbers with so many fraction bits, for integers that they hold exactly."""
    exponent_bits = 7 - fraction_bits
    bias = (1 << (exponent_bits - 1)) - 1
    fraction, exponent = np.frexp(np.abs(values).astype("f8"))
    field = np.where(values == 0, 0, exponent - 1 + bias)
    bits = np.where(values == 0, 0, (fraction * 2 - 1) * (1 << fraction_bits)).astype("i4") | field << fraction_bits
    return (bits | (values < 0) << 7).astype("u1")


def nibbles(values: Array) -> Array:
    """Eight numbers of four bits a word, along rows."""
    parts = (values & 15).reshape(len(values), -1, 8).astype("u4")
    return (parts << (4 * np.arange(8, dtype="u4"))).sum(axis=2, dtype="u4")


def bits(values: Array) -> Array:
    """32 numbers of one bit a word, along rows."""
    parts = values.reshape(len(values), -1, 32).astype("u4")
    return (parts << np.arange(32, dtype="u4")).sum(axis=2, dtype="u4")


@dataclass(frozen=True)
class Gemm:
    """One kernel: its tile, how A and B are laid in memory, and the type of the result."""

    tile: tuple[int, int]
    a: Callable[[Array], Array]
    b: Callable[[Array], Array]
    result: str
    size: tuple[int, int, int] = (64, 64, 64)
    low: tuple[int, int] = (-4, -4)
    high: int = 5
    threads: int = 32


def half(values: Array) -> Array:
    return values.astype("f2")


def transposed(kind: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda values: kind(np.ascontiguousarray(values.T))


def as_type(kind: str) -> Callable[[Array], Array]:
    return lambda values: values.astype(kind)


GEMMS = {
    "half_float": Gemm((16, 16), half, half, "f4"),
    "half_half": Gemm((32, 8), transposed(half), half, "f2"),
    "bfloat": Gemm((8, 32), brain, transposed(brain), "f4"),
    "tf32": Gemm((16, 16), as_type("f4"), as_type("f4"), "f4"),
    "bytes": Gemm((16, 16), as_type("i1"), transposed(as_type("i1")), "i4", low=(-128, -128), high=128),
    "unsigned_bytes": Gemm((32, 8), transposed(as_type("u1")), transposed(as_type("u1")), "i4", low=(0, 0), high=256),
    "doubles": Gemm((8, 8), as_type("f8"), as_type("f8"), "f8", (16, 24, 36), low=(-9999, -9999), high=9999),
    "nibbles": Gemm((8, 8), nibbles, transposed(nibbles), "i4", (16, 24, 96), low=(-8, -8), high=8),
    "pipelined": Gemm((64, 64), half, half, "f4", (128, 64, 160), threads=128),
    "brain_stored": Gemm((16, 16), brain, transposed(brain), "u2", (32, 32, 48), low=(-2, -2), high=3),
    "mixed_bytes": Gemm((16, 8), as_type("i1"), transposed(as_type("u1")), "i4", (32, 24, 96), (-128, 0), 128),
    "float8": Gemm((16, 8), lambda v: small_floats(v, 3), transposed(lambda v: small_floats(v, 2)), "f4", (32, 24, 96)),
    "wide_doubles": Gemm((16, 8), as_type("f8"), as_type("f8"), "f8", (32, 24, 40), low=(-9999, -9999), high=9999),
}


@pytest.mark.parametrize("name", GEMMS)
def test_matrices_are_multiplied(name: str) -> None:
    gemm = GEMMS[name]
    m, n, k = gemm.size
    a, b = integers(gemm.low[0], gemm.high, m, k), integers(gemm.low[1], gemm.high, k, n)
    entry = compiled("matrix", name, (gemm.threads, 1, 1))
    grid = (n // gemm.tile[1], m // gemm.tile[0], 1)
    result = run(
        entry, gemm.a(a).reshape(-1), gemm.b(b).reshape(-1), np.zeros(m * n, gemm.result), int32(n), int32(k), grid=grid
    )
    assert result.outcome.fault is None, result.outcome.fault
    wanted = brain(a @ b) if name == "brain_stored" else (a @ b).astype(gemm.result)
    assert result.arrays[2].reshape(m, n).tolist() == wanted.tolist()


def test_bits_are_counted() -> None:
    m, n, k = 16, 24, 256
    a, b = integers(0, 2, m, k), integers(0, 2, n, k)
    entry = compiled("matrix", "bits", (32, 1, 1))
    result = run(
        entry, bits(a).reshape(-1), bits(b).reshape(-1), np.zeros(m * n, "i4"), int32(n), int32(k), grid=(3, 2, 1)
    )
    both, differ = a @ b.T, (a[:, None, :] ^ b[None, :, :]).sum(axis=2)
    assert result.arrays[2].reshape(m, n).tolist() == (both + 1000 * differ).tolist()


@pytest.mark.parametrize("instruments", [(), ("counters",), ("checks",)], ids=lambda names: "".join(names) or "bare")
def test_tiles_in_shared_memory(instruments: tuple[str, ...]) -> None:
    """Fragments change element by element between load and store; no check finds anything."""
    m = n = k = 64
    a, b, c = integers(-4, 5, m, k), integers(-4, 5, k, n), integers(-99, 99, m, n)
    entry = compiled("matrix", "tiled", (128, 1, 1))
    if instruments:
        entry = compile_entry(module("matrix"), "tiled", (128, 1, 1), Options(instruments=instruments))
    given = [half(a).reshape(-1), half(b).reshape(-1), c.astype("f4").reshape(-1), np.zeros(m * n, "f4")]
    result = run(entry, *given, int32(n), int32(k), grid=(2, 2, 1))
    assert result.outcome.fault is None and not result.outcome.findings
    assert result.arrays[3].reshape(m, n).tolist() == np.maximum(2 * (a @ b) + c, 0).tolist()


def test_quads_multiply_four_pairs() -> None:
    a, b, c = integers(-4, 5, 4, 8, 4), integers(-4, 5, 4, 4, 8), integers(-9, 9, 4, 8, 8)
    columns = np.ascontiguousarray(b.transpose(0, 2, 1))
    entry = compiled("matrix", "quads", (32, 1, 1))
    given = [half(a), half(columns), c.astype("f4"), np.zeros(256, "f4")]
    result = run(entry, *[array.reshape(-1) for array in given])
    assert result.arrays[3].reshape(4, 8, 8).tolist() == (a @ b + c).tolist()


def test_movmatrix_transposes() -> None:
    given = np.arange(64, dtype="u2")
    result = run(compiled("matrix", "turned", (32, 1, 1)), given.view("u4"), np.zeros(32, "u4"))
    assert result.arrays[1].view("u2").reshape(8, 8).tolist() == given.reshape(8, 8).T.tolist()


def test_thirty_two_products_in_a_line() -> None:
    """Every register of A changes its sign eight times."""
    words = half(integers(-3, 4, 384)).view("u4")
    result = run(compiled("matrix", "straight", (32, 1, 1)), words, np.zeros(128, "f4"))
    lanes = words.view("f2").astype("f8").reshape(6, 32, 2)
    a, b = np.zeros((16, 16)), np.zeros((16, 8))
    for lane in range(32):
        g, t = divmod(lane, 4)
        for i in range(4):
            a[g + i % 2 * 8, i // 2 * 8 + 2 * t :][:2] = lanes[i, lane]
        for i in range(2):
            b[i * 8 + 2 * t :][:2, g] = lanes[4 + i, lane]
    signs = np.ones((16, 16))
    total = np.zeros((16, 8))
    for i in range(32):
        total += (signs * a) @ b
        rows, columns = slice(i % 2 * 8, i % 2 * 8 + 8), slice(i % 4 // 2 * 8, i % 4 // 2 * 8 + 8)
        signs[rows, columns] *= -1
    got = result.arrays[1].reshape(32, 2, 2)
    for lane in range(32):
        g, t = divmod(lane, 4)
        assert got[lane, 0].tolist() == total[g, 2 * t :][:2].tolist()
        assert got[lane, 1].tolist() == total[g + 8, 2 * t :][:2].tolist()


@pytest.mark.parametrize("shared", [0, 1])
def test_generic_pointers_lead_to_shared_and_to_global_memory(shared: int) -> None:
    a = integers(-4, 5, 16, 16)
    result = run(compiled("matrix", "either", (32, 1, 1)), half(a).reshape(-1), np.zeros(256, "f4"), int32(shared))
    assert result.outcome.fault is None
    assert result.arrays[1].reshape(16, 16).tolist() == (a @ a.T * (4 if shared else 1)).tolist()


def test_rows_at_generic_addresses() -> None:
    given = np.arange(64, dtype="u2") * 257
    result = run(compiled("matrix", "generic_rows", (32, 1, 1)), given.view("u4"), np.zeros(32, "u4"))
    assert result.outcome.fault is None
    assert result.arrays[1].view("u2").reshape(8, 8).tolist() == given.reshape(8, 8).T.tolist()


@pytest.mark.parametrize(
    ("name", "dtype", "size"),
    [("floats_through", "f4", 16), ("doubles_through", "f8", 8), ("integers_through", "i4", 8)],
)
def test_accumulators_go_through_fragments(name: str, dtype: str, size: int) -> None:
    given = np.arange(size * size, dtype=dtype)
    result = run(compiled("matrix", name, (32, 1, 1)), given, np.zeros(size * size, dtype))
    assert result.outcome.fault is None
    assert result.arrays[1].reshape(size, size).tolist() == given.reshape(size, size).T.tolist()


@pytest.mark.parametrize("apart", [0, 2, 32])
def test_lanes_with_pointers_of_their_own_load_from_there(apart: int) -> None:
    """Lane l has the first element of row l / 4, columns 2·(l % 4) on."""
    a = np.arange(31 * 32 + 256) % 2048
    result = run(compiled("matrix", "own_pointers", (32, 1, 1)), half(a), np.zeros(32, "f4"), int32(apart))
    assert result.outcome.fault is None
    assert result.arrays[1].tolist() == [a[lane * apart + lane // 4 * 16 + lane % 4 * 2] for lane in range(32)]


# Faults.


def short(elements: int, stride: int) -> Run:
    entry = compiled("matrix", "short_matrix", (32, 1, 1))
    return run(entry, np.ones(elements, "f2"), np.zeros(32, "f4"), int32(stride))


@pytest.mark.parametrize(("elements", "stride"), [(256, 16), (15 * 24 + 16, 24), (16, 0)])
def test_a_matrix_that_just_fits_is_loaded(elements: int, stride: int) -> None:
    assert short(elements, stride).outcome.fault is None


@pytest.mark.parametrize(("elements", "stride"), [(254, 16), (255, 16), (15 * 24 + 14, 24), (256, -16)])
def test_a_matrix_that_ends_too_early_is_a_fault(elements: int, stride: int) -> None:
    """The last two elements of row 15 are lane 31's; with a negative stride row 1 is the first outside, lane 4's."""
    fault = short(elements, stride).outcome.fault
    assert fault is not None and fault.kind == "out-of-bounds" and fault.access == "read"
    assert fault.lane == (4 if stride < 0 else 31) and fault.source is not None


def test_a_result_is_stored_up_to_the_fault_s_element() -> None:
    entry = compiled("matrix", "short_result", (32, 1, 1))
    assert run(entry, np.zeros(15 * 20 + 16, "f4"), int32(20)).outcome.fault is None
    result = run(entry, np.zeros(15 * 20 + 15, "f4"), int32(20))
    fault = result.outcome.fault
    assert fault is not None and fault.kind == "out-of-bounds" and fault.access == "write" and fault.lane == 31
    assert set(np.flatnonzero(result.arrays[0]) % 20) <= set(range(16))


def test_lines_that_are_no_words_apart_are_misaligned() -> None:
    fault = short(1000, 17).outcome.fault
    assert fault is not None and fault.kind == "misaligned"


@pytest.mark.parametrize(
    ("lane", "offset", "kind"),
    [(5, 8, "misaligned"), (30, 2, "misaligned"), (0, -16, "out-of-bounds"), (17, 4096, "out-of-bounds")],
)
def test_ldmatrix_names_the_lane_whose_row_is_bad(lane: int, offset: int, kind: str) -> None:
    result = run(compiled("matrix", "bad_row", (32, 1, 1)), np.zeros(32, "u4"), int32(lane), int32(offset))
    fault = result.outcome.fault
    assert fault is not None and fault.kind == kind and fault.lane == lane
    assert fault.source is not None and fault.source.file.endswith("matrix.cu")


def test_the_check_finds_warps_that_are_not_whole() -> None:
    """wmma, mma and ldmatrix are for all 32 lanes; the hardware says nothing and computes anything."""
    entry = compile_entry(module("matrix"), "brain_stored", (16, 1, 1), Options(instruments=("checks",)))
    given = [np.zeros(256, "u2") for _ in range(3)]
    found = run(entry, *given, int32(16), int32(16)).outcome.findings
    absent = {finding.form.split(".")[0] for finding in found if finding.kind == "absent-lanes" and finding.form}
    assert absent == {"mma", "ldmatrix", "stmatrix"}
    assert {f.message for f in found if f.kind == "absent-lanes"} == {
        "all 32 threads of the warp have to take part, and some do not"
    }


REFUSED = {
    "mma.sp.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m3.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
    "{%r4,%r5,%r6,%r7}, {%f0,%f1,%f2,%f3}, %r8, 0;": "mma.(sp|sp::ordered_metadata)",
    "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m3.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
    "{%f0,%f1,%f2,%f3};": "mma.sync",
    "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
    "{%f0,%f1,%f2,%f3};": "m16n8k16.row.col.f32",
    "wgmma.fence.sync.aligned;": "mma.sync",
    "tcgen05.fence::after_thread_sync;": "mma.sync",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0,%r1}, [%r2];": "m8n8.(x1|x2|x4)",
    "wmma.load.a.sync.aligned.row.m16n16k16.local.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%r8];": "(global|shared",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_row_is_refused_by_name(text: str) -> None:
    source = (
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<9>; .reg .f32 %f<4>;\n"
        f"{text}\nret; }}"
    )
    parsed, problems = parse(source)
    with pytest.raises(CompileProblems) as caught:
        compile_entry(parsed, "k", (32, 1, 1))
    (problem,) = [*problems, *caught.value.problems]
    form = text.split()[0].strip(";")
    assert problem.message == f"{form} is not supported" or form.split(".")[0] in problem.message
    assert problem.ptx_line == 6
    assert problem.help is not None and REFUSED[text] in problem.help


@pytest.mark.parametrize("selector", ["2", "%r8", "-1"])
def test_the_selector_of_a_sparse_product_is_a_small_constant(selector: str) -> None:
    source = (
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<9>; .reg .f32 %f<4>;\n"
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
        "{%r4,%r5,%r6,%r7}, {%f0,%f1,%f2,%f3}, %r8, " + selector + ";\nret; }"
    )
    parsed, _ = parse(source)
    with pytest.raises(CompileProblems) as caught:
        compile_entry(parsed, "k", (32, 1, 1))
    (problem,) = caught.value.problems
    assert problem.message.endswith("must be a constant from 0 to 1") and problem.ptx_line == 6
