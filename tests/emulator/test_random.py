"""Random control flow gives what an H200 gave, lane by lane."""

from __future__ import annotations

import hashlib
import json
import random

import numpy as np
import pytest
from launching import DATA, compiled, run

EXPECTED: dict[str, dict[str, str]] = json.loads((DATA / "ptx" / "random_h200.json").read_text())
GRIDS = {"64x1x1": 3, "16x8x1": 2}


def inputs() -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    generator = random.Random(5)
    values = [
        generator.choice([generator.randrange(-20, 300), generator.randrange(-(2**31), 2**31)]) for _ in range(256)
    ]
    return np.array(values, np.int32)


@pytest.mark.parametrize("shape", GRIDS)
@pytest.mark.parametrize("name", EXPECTED)
def test_random_kernels(name: str, shape: str) -> None:
    x, y, z = (int(extent) for extent in shape.split("x"))
    grid = GRIDS[shape]
    result = run(compiled("random", name, (x, y, z)), inputs(), np.zeros(x * y * grid * 4, np.int32), grid=(grid, 1, 1))
    assert result.outcome.fault is None
    assert hashlib.sha256(result.arrays[1].tobytes()).hexdigest() == EXPECTED[name][shape]
