"""Mutated PTX ends in code or in problems, never in an exception, a hang or a crash."""

from __future__ import annotations

import pytest
from fuzz import fuzz


@pytest.mark.parametrize(("count", "seed"), [(1500, 11), pytest.param(1_000_000, 1, marks=pytest.mark.long)])
def test_mutants_never_raise(count: int, seed: int) -> None:
    counts, failures = fuzz(count, seed)
    assert failures == []
    assert min(counts["syntax"], counts["refused"], counts["accepted"]) > count // 30
