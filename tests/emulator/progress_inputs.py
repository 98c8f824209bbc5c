"""The input of the kernels of progress.cu."""

from __future__ import annotations

import numpy as np

IN = np.random.default_rng(23).integers(0, 1000, 256).astype(np.int32)
X = [int(value) for value in IN]


def wrap(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)
