"""Fragments of wmma: every element has its place, and their product is the matrices' product."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from emulator.isa import Form
from emulator.isa.fragments import SHAPES, Role, fragment, registers_of
from emulator.isa.table import find

from .gang import Job, run

SIZES = {
    "m16n16k16": (16, 16, 16),
    "m32n8k16": (32, 8, 16),
    "m8n32k16": (8, 32, 16),
    "m16n16k8": (16, 16, 8),
    "m8n8k4": (8, 8, 4),
    "m8n8k32": (8, 8, 32),
    "m8n8k128": (8, 8, 4),  # in words
}
SPECIAL = {"m16n16k8": ("tf32",), "m8n8k4": ("f64",), "m8n8k32": ("s4", "u4"), "m8n8k128": ("b1",)}
KINDS = dict.fromkeys(SHAPES, ("f16", "bf16", "s8", "u8")) | SPECIAL
ALL = [(shape, kind) for shape, kinds in KINDS.items() for kind in kinds]
SUMMED = [(shape, kind) for shape, kind in ALL if kind != "b1"]
# Registers of a, b and of a single precision accumulator, as the manual's tables have them.
REGISTERS = {
    ("m16n16k16", "f16"): (8, 8, 8), ("m32n8k16", "f16"): (8, 8, 8), ("m8n32k16", "f16"): (8, 8, 8),
    ("m16n16k16", "bf16"): (4, 4, 8), ("m32n8k16", "bf16"): (8, 2, 8), ("m8n32k16", "bf16"): (2, 8, 8),
    ("m16n16k16", "s8"): (2, 2, 8), ("m32n8k16", "s8"): (4, 1, 8), ("m8n32k16", "s8"): (1, 4, 8),
    ("m16n16k16", "u8"): (2, 2, 8), ("m32n8k16", "u8"): (4, 1, 8), ("m8n32k16", "u8"): (1, 4, 8),
    ("m16n16k8", "tf32"): (4, 4, 8), ("m8n8k4", "f64"): (1, 1, 2),
    ("m8n8k32", "s4"): (1, 1, 2), ("m8n8k32", "u4"): (1, 1, 2), ("m8n8k128", "b1"): (1, 1, 2),
}  # fmt: skip


def _extent(shape: str, role: Role) -> tuple[int, int]:
    m, n, k = SIZES[shape]
    return {"a": (m, k), "b": (k, n), "c": (m, n)}[role]


@pytest.mark.parametrize(("shape", "kind"), ALL)
def test_fragments_cover_their_matrices(shape: str, kind: str) -> None:
    for role, count in zip(get_args(Role), REGISTERS[shape, kind], strict=True):
        of = "f32" if role == "c" else kind
        assert registers_of(role, shape, of) == count
        rows, columns = _extent(shape, role)
        times = np.zeros((rows, columns), int)
        for element in fragment(role, shape, of):
            np.add.at(times, (element.rows, element.columns), 1)
        assert times.min() == times.max() >= 1
        assert times.max() == 1 or kind == "f16"


def _packed(matrix: np.ndarray, role: Role, shape: str, kind: str) -> list[np.ndarray]:
    """The registers that hold a matrix of element bits."""
    bits = {"f16": 16, "bf16": 16, "s8": 8, "u8": 8, "s4": 4, "u4": 4}.get(kind, 0)
    wide = np.uint64 if kind == "f64" else np.uint32
    found = [np.zeros(32, wide) for _ in range(registers_of(role, shape, kind))]
    for element in fragment(role, shape, kind):
        found[element.register] |= matrix[element.rows, element.columns].astype(wide) << wide(bits * element.part)
    return found


def _bits(values: np.ndarray, kind: str) -> np.ndarray:
    if kind in ("bf16", "tf32"):
        single = values.astype("f4").view("u4")
        return single >> 16 if kind == "bf16" else single
    if kind in ("s8", "u8", "s4", "u4", "s32"):
        return values.astype("i8").astype("u8") & ((1 << int(kind[1:])) - 1)
    return values.astype({"f16": "f2", "f32": "f4", "f64": "f8"}[kind]).view(
        {"f16": "u2", "f32": "u4", "f64": "u8"}[kind]
    )


def _accumulators(kind: str) -> list[str]:
    return {"f16": ["f32", "f16"], "f64": ["f64"]}.get(kind, ["s32"] if kind[0] in "su" else ["f32"])


@pytest.mark.parametrize(
    ("shape", "kind", "accumulator", "width"),
    [(s, k, a, 32) for s, k in SUMMED for a in _accumulators(k)] + [("m16n16k16", "bf16", "f32", 64)],
)
def test_wmma_multiplies_matrices(shape: str, kind: str, accumulator: str, width: int) -> None:
    """Small integers, which every format holds and sums exactly."""
    random = np.random.default_rng(3)
    low = 0 if kind[0] == "u" else -4
    a, b, c = (random.integers(low, 5, _extent(shape, role)) for role in get_args(Role))
    types = ("f32", "f32") if (kind, accumulator) == ("f16", "f32") else ("f16", "f16")
    types = types if kind == "f16" else (accumulator, kind, kind, accumulator)
    registers = [
        *_packed(_bits(a, kind), "a", shape, kind),
        *_packed(_bits(b, kind), "b", shape, kind),
        *_packed(_bits(c, accumulator), "c", shape, accumulator),
    ]
    counts = [registers_of("c", shape, accumulator), registers_of("a", shape, kind), registers_of("b", shape, kind)]
    form = find("wmma", ("mma", "sync", "aligned", "row", "col", shape, *types), (*counts, counts[0]))
    assert isinstance(form, Form), form
    repeated = [np.tile(register, width // 32) for register in registers]
    results = run([Job(form, width=width)], [repeated])[0]
    wanted = _packed(_bits(a @ b + c, accumulator), "c", shape, accumulator)
    for got, want in zip(results, wanted, strict=True):
        assert got.tobytes() == np.tile(want, width // 32).astype(got.dtype).tobytes()
