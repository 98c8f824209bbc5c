"""`warpyard run` and `compile` of PTX, of Python with Numba and of Python with CuPy's kernels."""

from pathlib import Path

from tests.cli.commandline import ROOT, Warpyard
from tests.cli.test_run import arguments
from tests.sandbox.test_languages import NUMBA, PTX

ARGUMENTS = [*arguments("x=float32[64]:arange", "y=float32[64]:full=1"), "--block", "64"]
CUPY = """import cupy as cp
add = cp.RawKernel(r'''
extern "C" __global__ void add(const float *x, float *y) { y[threadIdx.x] += x[threadIdx.x]; }
''', 'add', options=('-std=c++14',))
add((1,), (64,), (x, y))
square = cp.ElementwiseKernel('T x', 'T z', 'z = x * x', 'square')
"""


def test_the_ending_of_a_file_chooses_the_language(warpyard: Warpyard, tmp_path: Path) -> None:
    for name, text in (("add.ptx", PTX), ("add.py", NUMBA)):
        (tmp_path / name).write_text(text)
        done = warpyard("run", name, *ARGUMENTS)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "\ny  float32[64]  min 1  max 64  [1, 2, 3, 4, 5, 6, 7, 8, …]\n" in done.stdout
        assert "\nx  float32" not in done.stdout, "what is only read is an input"


def test_faults_stand_at_lines_of_the_file(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "bad.ptx").write_text(PTX.replace("%tid.x", "%tix.x"))
    done = warpyard("run", "bad.ptx", *ARGUMENTS)
    assert (done.returncode, "bad.ptx:11:18: error: Unknown symbol '%tix'" in done.stderr) == (1, True)
    (tmp_path / "bad.py").write_text(NUMBA.replace("y[i] += x[i]", "y[i] += foo(x[i])"))
    done = warpyard("run", "bad.py", *ARGUMENTS)
    assert (done.returncode, "bad.py:6:13: error: foo is not defined" in done.stderr) == (1, True)


def test_a_language_can_be_named(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "kernel.txt").write_text(PTX)
    done = warpyard("compile", "kernel.txt", "--language", "ptx")
    assert done.returncode == 0, done.stderr
    assert "PTX assembler 13.0 for sm_90" in done.stdout
    done = warpyard("compile", "kernel.txt", "--language", "fortran")
    assert (done.returncode, "--language: " in done.stderr) == (2, True)


def test_kernels_of_cupy_are_found_in_a_script(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(CUPY)
    done = warpyard("run", "script.py", "--entry", "add", *ARGUMENTS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("add · grid 1 × block 64 · ")
    assert "\ny  float32[64]  min 1  max 64  [1, 2, 3, 4, 5, 6, 7, 8, …]\n" in done.stdout
    done = warpyard("run", "script.py", "--entry", "square")
    assert done.returncode == 0, done.stderr
    assert "\nz  float32[1024]  min 0  max 1046529  [0, 1, 4, 9, 16, 25, 36, 49, …]\n" in done.stdout
    done = warpyard("run", "script.py")
    assert (done.returncode, "choose one with --entry (add, square)" in done.stderr) == (2, True)
    (tmp_path / "none.py").write_text("import cupy as cp\nk = cp.RawKernel(text, 'k')\n")
    done = warpyard("run", "none.py")
    assert (done.returncode, "none.py:2:18: error: RawKernel: the value of text is not known" in done.stderr) == (
        1,
        True,
    )


def test_an_example_in_python_runs(warpyard: Warpyard) -> None:
    assert (ROOT / "examples" / "saxpy-numba.py").exists()
    done = warpyard("run", "--example", "saxpy-numba")
    assert done.returncode == 0, done.stderr


def test_a_script_with_its_launch_runs_as_it_is(warpyard: Warpyard, tmp_path: Path) -> None:
    host = "import numpy as np\nx = cuda.to_device(np.arange(64, dtype=np.float32))\ny = np.ones(64, np.float32)\n"
    (tmp_path / "script.py").write_text(f"{NUMBA}\n{host}add[2, 32](x, y)\nprint(y)\n")
    done = warpyard("run", "script.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("add · grid 2 × block 32 · ")
    assert "\ny  float32[64]  min 1  max 64  [1, 2, 3, 4, 5, 6, 7, 8, …]\n" in done.stdout
    assert "host code is left out (lines 9, 11)" in done.stderr
    assert "role" not in done.stderr, "what is only read is an input"
