"""Input vectors of every PTX type: the edges first, then random bits, the same on every machine."""

from __future__ import annotations

import numpy as np

COUNT = 2048  # lanes of a vector; a multiple of every gang width

_INTEGER_EDGES = (0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, -1, -2, -3, -7)
_SINGLE_EDGES = (
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000, 0x3F800000,
    0xBF800000, 0x3F7FFFFF, 0x3F800001, 0x40000000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
    0xFFC12345, 0x7F800001, 0x3F000000, 0x3FC00000, 0x40200000, 0xC0200000, 0x4F000000, 0xCF000000, 0x4F800000,
    0x4B000001, 0x5F000000, 0x7E800000, 0x32800400, 0x0D7FF800,  # the last two multiply to just below 2⁻¹²⁶
)  # fmt: skip
_HALF_EDGES = (
    0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x3C00, 0xBC00, 0x3BFF, 0x3C01, 0x4000, 0x7BFF,
    0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE12, 0x7C01, 0x3800, 0x3E00, 0x4100, 0xC100, 0x3555, 0x5BFF, 0x0002, 0x1400,
)  # fmt: skip
_BRAIN_EDGES = (
    0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x807F, 0x0080, 0x8080, 0x3F80, 0xBF80, 0x3F7F, 0x3F81, 0x4000, 0x7F7F,
    0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFC1, 0x7F81, 0x3F00, 0x3FC0, 0x4020, 0xC020, 0x3EAA, 0x5F00, 0x0002, 0x1F80,
)  # fmt: skip

_CODES = {"e4m3x2": 16, "e5m2x2": 16, "e2m3x2": 16, "e3m2x2": 16, "ue8m0x2": 16, "e2m1x2": 8}
_LAYOUT = {"f16": (16, 5), "bf16": (16, 8), "f32": (32, 8), "f64": (64, 11)}


def _double_edges() -> list[int]:
    edges = [int(np.array(bits, "u4").view("f4").astype("f8").view("u8")) for bits in _SINGLE_EDGES[:16]]
    edges += [1, (1 << 63) + 1, (1 << 52) - 1, 1 << 52, (1 << 52) + 1, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF]
    edges += [0x7FF8000000000000, 0xFFF8000000000123, 0x7FF0000000000001, 0x3FF0000000000001, 0x43E0000000000000]
    edges += [0x41DFFFFFFFC00000, 0xC1E0000000000000, 0x4004000000000000, 0xC004000000000000, 0x0340000000000000]
    return edges


def edges(kind: str) -> np.ndarray:
    """Bit patterns at which the type behaves differently, as unsigned integers."""
    if kind in ("pred", "cc"):
        return np.array([0, 1], "u1")
    if kind == "f32":
        return np.array(_SINGLE_EDGES, "u4")
    if kind == "f64":
        return np.array(_double_edges(), "u8")
    if kind == "f16":
        return np.array(_HALF_EDGES, "u2")
    if kind == "bf16":
        return np.array(_BRAIN_EDGES, "u2")
    if kind in ("f16x2", "bf16x2"):
        part = edges(kind.removesuffix("x2")).astype("u4")
        return part | np.roll(part, 5) << np.uint32(16)
    if kind in _CODES:
        return (np.arange(64) * 4 % 256 | (np.arange(64) * 4 + 3) % 256 << 8).astype(
            "u1" if _CODES[kind] == 8 else "u2"
        )
    if kind == "f32x2":
        part = edges("f32").astype("u8")
        return part | np.roll(part, 7) << np.uint64(32)
    bits = _integer_bits(kind)
    values = [*_INTEGER_EDGES, 1 << (bits - 1), (1 << (bits - 1)) - 1, (1 << (bits - 1)) + 1, 0x5A5A5A5A5A5A5A5A]
    return np.array([value % (1 << bits) for value in values], f"u{bits // 8}")


def _integer_bits(kind: str) -> int:
    if kind in ("u16x2", "s16x2"):
        return 32
    return int(kind[1:])


def random_bits(kind: str, seed: int, count: int) -> np.ndarray:
    """Random values; floating ones spread evenly over exponents near 1, over all exponents, and over all bits."""
    random = np.random.Generator(np.random.PCG64(seed))
    if kind in ("pred", "cc"):
        return random.integers(0, 2, count).astype("u1")
    if kind in _LAYOUT:
        bits, exponent_bits = _LAYOUT[kind]
        fraction_bits = bits - 1 - exponent_bits
        bias = (1 << (exponent_bits - 1)) - 1
        raw = random.integers(0, 1 << 64, count, dtype="u8")
        near = random.integers(bias - 4, bias + 5, count).astype("u8")
        wide = random.integers(0, 2 * bias + 1, count).astype("u8")
        exponent = np.where(random.random(count) < 0.6, near, wide)
        fraction = raw >> np.uint64(64 - fraction_bits)
        sign = raw & np.uint64(1)
        return (sign << np.uint64(bits - 1) | exponent << np.uint64(fraction_bits) | fraction).astype(f"u{bits // 8}")
    if kind in ("f16x2", "bf16x2"):
        part = kind.removesuffix("x2")
        low, high = random_bits(part, seed + 1000, count), random_bits(part, seed + 2000, count)
        return low.astype("u4") | high.astype("u4") << np.uint32(16)
    if kind == "f32x2":
        low, high = random_bits("f32", seed + 1000, count), random_bits("f32", seed + 2000, count)
        return low.astype("u8") | high.astype("u8") << np.uint64(32)
    bits = _CODES[kind] if kind in _CODES else _integer_bits(kind)
    raw = random.integers(0, 1 << 64, count, dtype="u8")
    short = raw >> (raw & np.uint64(63))  # every length equally likely
    return np.where(random.random(count) < 0.5, raw, short).astype(f"u{bits // 8}")


def vector(kind: str, position: int, count: int = COUNT) -> np.ndarray:
    """The vector of source number `position`: every pair of edges of the first two sources, then random bits."""
    if kind == "b128":
        words = np.stack([vector("b64", position), vector("b64", position + 1)], axis=1)
        return np.ascontiguousarray(words).view("V16")[:, 0]
    edge = edges(kind)
    lanes = np.arange(count)
    if position == 0:
        index = lanes % len(edge)
    elif position == 1:
        index = lanes // len(edge) % len(edge)
    else:
        index = np.random.Generator(np.random.PCG64(position)).integers(0, len(edge), count)
    values = edge[index]
    random = random_bits(kind, 17 * position + 3, count)
    start = count * 3 // 4
    values[start:] = random[start:]
    if position >= 2:
        values = np.where(lanes % 3 == 0, random, values)
    return values


def matrix_vector(kind: str, position: int, count: int = COUNT) -> np.ndarray:
    """A register of a matrix operand, a warp at a time: plain numbers, wide exponents, many zeros, rare edges."""
    element = kind.removesuffix("x2")
    if kind != element:
        low, high = matrix_vector(element, 2 * position, count), matrix_vector(element, 2 * position + 1, count)
        return low.astype("u4") | high.astype("u4") << np.uint32(16)
    if kind not in ("f16", "bf16", "tf32", "f32", "f64"):
        return random_bits(kind, 400 + position, count)
    layout = "f32" if kind == "tf32" else kind
    random = np.random.Generator(np.random.PCG64(500 + position))
    bits, exponent_bits = _LAYOUT[layout]
    bias = (1 << (exponent_bits - 1)) - 1
    warp = np.arange(count) // 32 * 64 // (count // 32)
    spread = np.where(warp < 12, 1, np.where(warp < 32, 6, np.where(warp < 44, 14, min(bias, 120))))
    exponent = np.clip(bias + random.integers(-(1 << 20), 1 << 20, count) % (2 * spread + 1) - spread, 0, 2 * bias)
    raw = random.integers(0, 1 << 64, count, dtype="u8")
    fraction = raw >> np.uint64(65 - bits + exponent_bits)
    values = (raw & np.uint64(1)) << np.uint64(bits - 1) | exponent.astype("u8") << np.uint64(bits - 1 - exponent_bits)
    values |= fraction
    values[(warp >= 56) & (random.random(count) < 0.5)] = 0
    special = (warp >= 60) & (random.random(count) < 0.06)
    chosen = edges(layout)[random.integers(0, len(edges(layout)), count)]
    return np.where(special, chosen, values).astype(f"u{bits // 8}")
