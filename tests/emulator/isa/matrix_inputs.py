"""Matrices for the tensor core's tests, by element kind and by what they are meant to tell apart."""

from __future__ import annotations

import zlib

import numpy as np

WARPS = 64
# What each family tells apart: ordinary rounding; alignment over wide ranges; what is left where terms cancel;
# subnormals, infinities, NaNs and zeros; and which products are summed together, by few products of known distance.
FAMILIES = ("near", "wide", "cancel", "edges", "sparse")
BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8,
    "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 32, "s32": 32,
}  # fmt: skip
_EXPONENT_BITS = {"f16": 5, "bf16": 8, "tf32": 8, "f32": 8, "f64": 11, "e4m3": 4, "e5m2": 5}
_EDGES = {
    "e4m3": (0, 0x80, 0x01, 0x81, 0x07, 0x08, 0x38, 0xB8, 0x3F, 0x7E, 0xFE, 0x7F, 0xFF, 0x77),
    "e5m2": (0, 0x80, 0x01, 0x81, 0x03, 0x04, 0x3C, 0xBC, 0x7B, 0xFB, 0x7C, 0xFC, 0x7D, 0xFE),
    "f16": (0, 0x8000, 1, 0x8001, 0x03FF, 0x0400, 0x8400, 0x3C00, 0x3BFF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E01),
    "bf16": (0, 0x8000, 1, 0x8001, 0x007F, 0x0080, 0x8080, 0x3F80, 0x3F7F, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC1),
    "f32": (
        0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
        0xFF800000, 0x7FC00001, 0x7FA00000, 0x00802000,
    ),
    "f64": (
        0, 1 << 63, 1, (1 << 63) + 1, (1 << 52) - 1, 1 << 52, 0x3FF << 52, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF,
        0x7FF << 52, 0xFFF << 52, 0x7FF8000000000123, 0x7FF0000000000001, 0xFFF8000000000000,
    ),
}  # fmt: skip
_EDGES["tf32"] = _EDGES["f32"]


def _unsigned(kind: str) -> type[np.unsignedinteger]:
    return {8: np.uint8, 4: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[BITS[kind]]


def _floats(random: np.random.Generator, kind: str, shape: tuple[int, ...], spread: int) -> np.ndarray:
    """Finite numbers whose exponents lie within `spread` of 0."""
    bits, exponent_bits = BITS[kind], _EXPONENT_BITS[kind]
    fraction_bits = bits - 1 - exponent_bits
    bias = (1 << (exponent_bits - 1)) - 1
    field = np.clip(bias + random.integers(-spread, spread + 1, shape), 0, 2 * bias).astype("u8")
    raw = random.integers(0, 1 << 64, shape, dtype="u8")
    values = (raw & np.uint64(1)) << np.uint64(bits - 1) | field << np.uint64(fraction_bits)
    return (values | raw >> np.uint64(64 - fraction_bits)).astype(_unsigned(kind))


def _integers(random: np.random.Generator, kind: str, shape: tuple[int, ...], family: str) -> np.ndarray:
    bits = BITS[kind]
    raw = random.integers(0, 1 << bits, shape, dtype="u8")
    if family == "sparse":
        raw = np.where(random.random(shape) < 0.8, 0, raw)
    if family in ("wide", "edges") or (kind == "s32" and family == "cancel"):
        ends = np.array([1 << (bits - 1), (1 << (bits - 1)) - 1, (1 << bits) - 1, 0], "u8")
        ends = ends[random.integers(0, 3 if family == "wide" else 4, shape)]
        raw = np.where(random.random(shape) < 0.9, ends, raw)
    return raw.astype(_unsigned(kind))


def _spread(kind: str, family: str) -> int:
    most = (1 << (_EXPONENT_BITS[kind] - 1)) - 1
    return {"near": 1, "wide": min(most, 14), "cancel": 2, "edges": 6, "sparse": min(most, 10)}[family]


def _matrix(random: np.random.Generator, kind: str, shape: tuple[int, ...], family: str) -> np.ndarray:
    if kind not in _EXPONENT_BITS:
        return _integers(random, kind, shape, family)
    values = _floats(random, kind, shape, _spread(kind, family))
    if family == "edges":
        edges = np.array(_EDGES[kind], _unsigned(kind))
        # The first half without infinities and NaNs, which hide everything else in their row.
        finite = edges[: 9 if kind not in ("e4m3",) else 11]
        warp = np.arange(WARPS).reshape(-1, *[1] * (len(shape) - 1))
        chosen = np.where(
            warp < WARPS // 2,
            finite[random.integers(0, len(finite), shape)],
            edges[random.integers(0, len(edges), shape)],
        )
        values = np.where(random.random(shape) < np.where(warp < WARPS // 2, 0.5, 0.04), chosen, values)
    return values


def matrices(
    kinds: tuple[str, str, str],
    a_shape: tuple[int, int],
    b_shape: tuple[int, int],
    c_shape: tuple[int, int],
    family: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The element bits of A, B and C of every warp: [warps, rows, columns] of the given shapes."""
    seed = zlib.crc32(repr((kinds, a_shape, b_shape, c_shape, family)).encode())
    random = np.random.Generator(np.random.PCG64(seed))
    a = _matrix(random, kinds[0], (WARPS, *a_shape), family)
    b = _matrix(random, kinds[1], (WARPS, *b_shape), family)
    c = _matrix(random, kinds[2], (WARPS, *c_shape), family)
    if kinds[0] not in _EXPONENT_BITS:
        return a, b, c
    if family == "cancel":
        # Every second product is the negated one before it, save for a last bit here and there.
        a[:, :, 1::2] = a[:, :, ::2] ^ a.dtype.type(1 << (BITS[kinds[0]] - 1))
        if b.shape[1] == a.shape[2]:
            b[:, 1::2, :] = b[:, ::2, :]
        else:
            b[:] = b[:, :1, :]  # a sparse A: whichever rows it has
        a[:, :, 1::2] ^= (random.random(a[:, :, 1::2].shape) < 0.3).astype(a.dtype)
        order = random.permutation(a.shape[2])
        a = a[:, :, order]
        if b.shape[1] == a.shape[2]:
            b = b[:, order, :]
        c = np.where(random.random(c.shape) < 0.5, 0, c).astype(c.dtype)
    if family == "sparse":
        a = np.where(random.random(a.shape) < 0.75, 0, a).astype(a.dtype)
        # In every other warp large terms that cancel, between which the small ones survive or do not.
        large = _floats(random, kinds[0], (WARPS // 2, a.shape[1], 1), 0)
        large = large & ~a.dtype.type(1 << (BITS[kinds[0]] - 1))
        places = random.integers(0, a.shape[2], (WARPS // 2, a.shape[1], 2))
        np.put_along_axis(a[::2], places[:, :, :1], large, axis=2)
        np.put_along_axis(a[::2], places[:, :, 1:], large | a.dtype.type(1 << (BITS[kinds[0]] - 1)), axis=2)
        one = {"f16": 0x5000, "bf16": 0x4500, "tf32": 0x45000000, "f64": 0x40A << 52, "e4m3": 0x70, "e5m2": 0x6C}
        b[::4] = b.dtype.type(one[kinds[1]])
        c = np.where(random.random(c.shape) < 0.5, 0, c).astype(c.dtype)
    return a, b, c
