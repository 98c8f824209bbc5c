"""`run --twin`: refused without a GPU before anything runs, and how agreement and differences are told."""

from pathlib import Path

import pytest

from cli.application import main
from cli.twin import told
from protocol.comparison import BufferDifference
from tests.cli.commandline import SAXPY, Warpyard

LAUNCH = ("--arg", "n=1000", "--arg", "a=2", "--arg", "x=float32[1000]:arange", "--arg", "y=float32[1000]:zeros")


def test_without_a_gpu_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "saxpy.cu").write_text(SAXPY)
    monkeypatch.setattr("sandbox.gpus.CONTROL", ("/dev/no-nvidiactl",))
    monkeypatch.setattr("sys.argv", ["warpyard", "run", str(tmp_path / "saxpy.cu"), *LAUNCH, "--twin"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (1, "")
    assert "--device gpu: there is no NVIDIA GPU" in said.err


@pytest.mark.gpu
def test_the_emulator_and_the_gpu_agree(warpyard: Warpyard) -> None:
    done = warpyard("run", "saxpy.cu", *LAUNCH, "--twin")
    assert done.returncode == 0, done.stderr
    assert "twin  y  the same to the bit" in done.stdout


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
