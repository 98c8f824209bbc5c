"""What the installed compiler makes of the repository's sources, for each architecture, the emulator takes whole."""

from __future__ import annotations

from functools import cache

import pytest
from dialects import ARCHITECTURES, sources, take

from engine.languages.nvrtc import Nvrtc, include_folders

# Files that begin with a later architecture: clusters with sm_90, redux and bfloat16 with sm_80.
_OF_90 = {"bulk.cu", "cluster-histogram.cu", "cooperation.cu"}
_OF_80 = {"matrix.cu", "progress.cu", "warp.cu"}
_FOREIGN = dict.fromkeys(("sm_80", "sm_86", "sm_89"), _OF_90) | {"sm_75": _OF_90 | _OF_80}
_QUICK = ("features.cu", "softmax.cu")


@cache
def _compiler() -> Nvrtc:
    return Nvrtc()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)], ids=["some", "all"])
def test_everything_is_taken(architecture: str, whole: bool) -> None:
    files = [path for path in sources() if whole or path.name in _QUICK]
    taken = take(_compiler(), include_folders(), architecture, files)
    assert taken.refused == []
    assert taken.kernels >= (150 if whole else 15)
    assert taken.foreign.keys() == (_FOREIGN.get(architecture, set()) if whole else set())
