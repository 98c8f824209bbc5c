"""`warpyard export`: what is written, and bad input."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commandline import Warpyard

LAUNCH = ("--arg", "n=4", "--arg", "a=10", "--arg", "x=@in.npy", "--arg", "y=float32[4]:arange=1")


def test_a_script_and_the_files_that_it_reads_are_written(
    warpyard: Warpyard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.array([4, 3, 2, 1], np.float32)
    np.save(tmp_path / "in.npy", x)
    (tmp_path / "out").mkdir()
    done = warpyard("export", "saxpy.cu", *LAUNCH, "--block", "64", "-o", "out/saxpy.py")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.splitlines() == ["wrote out/saxpy.py", "wrote out/x.npy"]
    monkeypatch.chdir(tmp_path / "out")
    script = runpy.run_path("saxpy.py")
    assert {name: array.tolist() for name, array in script["initial_arrays"]().items()} == {
        "x": x.tolist(),
        "y": [1, 2, 3, 4],
    }
    assert 'kernels["saxpy"]((1, 1, 1), (64, 1, 1), (' in Path("saxpy.py").read_text()


def test_a_program_goes_to_standard_output_with_the_options_given(warpyard: Warpyard) -> None:
    done = warpyard(
        "export", "saxpy.cu", "--arg", "n=4", "--arg", "a=10", "--arg", "x=float32[4]:ones", "--format", "cu"
    )
    assert done.returncode == 2
    launch = ("--arg", "n=4", "--arg", "a=10", "--arg", "x=float32[4]:full=1", "--arg", "y=float32[4]")
    done = warpyard(
        *("export", "saxpy.cu", *launch, "--format", "cu", "--arch", "sm_80", "--no-fmad", "--std", "c++20")
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("// saxpy.cu: CUDA kernels with a main()")
    assert "nvcc -std=c++20 -arch=sm_80 -fmad=false " in done.stdout


def test_an_example_is_exported(warpyard: Warpyard) -> None:
    done = warpyard("export", "--example", "heat", "--format", "cu")
    assert done.returncode == 0, done.stderr
    assert "std::swap(d_u, d_v);" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "name a source file, or --example ID"),
        (("saxpy.cu", "--example", "heat"), 2, "name a source file, or --example ID"),
        (("saxpy.cu", "--format", "ptx"), 2, "--format ptx: expected cupy or cu"),
        (("saxpy.cu", "--arg", "n=4"), 2, "saxpy needs more arguments"),
        (
            ("saxpy.cu", *LAUNCH[:4], "--arg", "x=float32[4]", "--arg", "y=float32[4]:formula=x $"),
            1,
            "is not a formula",
        ),
        (("--example", "heat", "-o", "no/where.py"), 1, "--output no/where.py: no such file or directory"),
        (("bad.cu",), 1, "bad.cu:1:"),
    ],
)
def test_bad_input_is_named(
    warpyard: Warpyard, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (tmp_path / "bad.cu").write_text("__global__ void k() { x; }\n")
    done = warpyard("export", *arguments)
    assert (done.returncode, done.stdout) == (code, ""), done.stdout
    assert message in done.stderr
    assert "Traceback" not in done.stderr
