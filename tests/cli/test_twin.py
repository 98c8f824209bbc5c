"""`run --twin`: refused without a GPU before anything runs, and how differences are told."""

import shutil

import pytest

from cli.twin import told
from protocol.comparison import BufferDifference
from tests.cli.commandline import Warpyard

LAUNCH = ("--arg", "n=1000", "--arg", "a=2", "--arg", "x=float32[1000]:arange", "--arg", "y=float32[1000]:zeros")


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there is a GPU: tests/worker runs twins on it")
def test_without_a_gpu_nothing_is_run(warpyard: Warpyard) -> None:
    done = warpyard("run", "saxpy.cu", *LAUNCH, "--twin")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "--device gpu: " in done.stderr


def test_differences_in_words() -> None:
    assert told(BufferDifference(name="y", equal=True)) == "the same to the bit"
    found = BufferDifference(
        name="y", elements=2000, differing=3, beyond=1, index=(1, 7), first=1.0, second=1.5, largest_absolute=0.5,
        largest_ulps=4194304,
    )  # fmt: skip
    assert told(found) == (
        "3 of 2,000 elements differ, first [1, 7]: 1.0 and 1.5; at most by 0.5, 4,194,304 units in the last place; "
        "1 beyond the tolerance"
    )
