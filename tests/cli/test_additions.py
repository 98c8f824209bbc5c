"""`warpyard run` with block shapes to try, with a NumPy reference, and with a film."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from cli.additions import ONE_AXIS, TWO_AXES
from cli.sweep_table import best_of, sweep_lines
from cli.terminal import output
from protocol.diagnostics import Diagnostic
from protocol.sweep import Swept
from tests.cli.commandline import Warpyard

LAUNCH = [
    part for text in ("n=1000", "a=2", "x=float32[1000]:arange", "y=float32[1000]:full=1") for part in ("--arg", text)
]


def test_sizes_make_a_table(warpyard: Warpyard) -> None:
    done = warpyard("run", "saxpy.cu", *LAUNCH, "--try-sizes", "32,256,2048,16x2")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^(32|256|2048|16x2) +([\d,]+) .*$", done.stdout, re.MULTILINE)
    assert rows == [("32", "32"), ("256", "256"), ("2048", "2,048"), ("16x2", "32")]
    assert re.search(r"^block +threads +occupancy +limited by +waves +registers +CPU time$", done.stdout, re.MULTILINE)
    assert re.search(r"^256 +256 +100 % +warps +[\d.]+ +\d+ +[\d.]+ [mµ]s", done.stdout, re.MULTILINE)
    assert re.search(r"^2048 +2,048 +\d+ +not possible$", done.stdout, re.MULTILINE)
    assert done.stdout.count("  best\n") == 1
    assert re.search(r"^times: PTX emulator \(.*\), wall time of the CPU, not GPU time", done.stdout, re.MULTILINE)


def test_sizes_and_a_reference_in_json(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text("y = a * x + y\n")
    done = warpyard("run", "saxpy.cu", *LAUNCH, "--try-sizes", "64,128", "--reference", "reference.py", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    whole = json.loads(done.stdout)
    assert whole["request"]["sweep"]["blocks"] == [[64], [128]]
    assert [(row["block"][0], row["state"]) for row in whole["result"]["sweep"]] == [(64, "ran"), (128, "ran")]
    (check,) = whole["result"]["checks"]
    assert (check["buffer"], check["passed"], check["compared"]) == ("y", True, True)


@pytest.mark.parametrize(
    ("reference", "options", "out", "err"),
    [
        ("y = a * x + y", [], "check passed  y", ""),
        ("y = a * x + y\ny[5] = 0", [], "check failed  y[5] is 11.0, expected 0.0; 1 of 1,000", ""),
        ("y = a * x + y\ny[5] = 0", [], "differ; thread (5, 0, 0) of block (0, 0, 0)", ""),
        ("y = a * x + y + 0.5", ["--rtol", "0", "--atol", "0.5"], "check passed  y", ""),
        ("y = a * x + y + 0.5", ["--rtol", "0", "--atol", "0.4"], "1,000 of 1,000 elements differ", ""),
        ("x = 1\ny = q", [], "was not compared", "reference:2:1: error: NameError: name 'q' is not defined"),
        ("x = 1\ny = q", [], "was not compared", "    2 | y = q\n      | ^~~~~"),
        ("y = (", [], "was not compared", "reference:1:5: error: the reference is not Python: '(' was never closed"),
    ],
)
def test_a_reference_is_compared(
    warpyard: Warpyard, tmp_path: Path, reference: str, options: list[str], out: str, err: str
) -> None:
    (tmp_path / "reference.py").write_text(reference)
    done = warpyard("run", "saxpy.cu", *LAUNCH, "--reference", "reference.py", *options)
    assert done.returncode == (0 if "passed" in out else 1)
    assert out in done.stdout
    assert err in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--try-sizes", "32,wide"], "--try-sizes 32,wide: 'wide' is no block shape: give 32,64,128 or 16x16"),
        (["--try-sizes", "32,1x1x1x1"], "'1x1x1x1' is no block shape"),
        (["--try-sizes", "32,32x1"], "--try-sizes: the shape 32 × 1 × 1 is there twice"),
        (["--try-sizes", ",".join(map(str, range(257)))], "--try-sizes: Tuple should have at most 256 items"),
        (["--reference", "none.py"], "--reference none.py: no such file"),
        (["--reference", "bytes.py"], "--reference bytes.py: byte 0xff is not UTF-8"),
        (["--reference", "other.py"], "--reference assigns to none of the buffers that are read back (y)"),
        (["--reference", "empty.py"], "--reference assigns to none"),
        (["--rtol", "1"], "--rtol and --atol go with --reference"),
        (["--reference", "other.py", "--rtol", "-1"], "--rtol"),
    ],
)
def test_bad_additions_are_refused(warpyard: Warpyard, tmp_path: Path, given: list[str], said: str) -> None:
    (tmp_path / "bytes.py").write_bytes(b"y = 1 # \xff")
    (tmp_path / "other.py").write_text("z = 1\n")
    (tmp_path / "empty.py").write_text("")
    done = warpyard("run", "saxpy.cu", *LAUNCH, *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_all_is_every_size_of_a_block() -> None:
    assert tuple((32 * warps,) for warps in range(1, 33)) == ONE_AXIS
    assert {x * y for x, y in TWO_AXES} == {32, 64, 128, 256, 512, 1024}
    assert len(TWO_AXES) <= 32


def test_the_fastest_with_the_same_results_is_best() -> None:
    def shape(index: int, seconds: float | None, same: bool | None = True, **fields: object) -> Swept:
        block = (32 << index, 1, 1)
        swept = Swept(index=index, step="steps.0", block=block, grid=(1, 1, 1), state="ran", registers=8)
        return swept.model_copy(update={"seconds": seconds, "same_as_first": same, **fields})

    told = Diagnostic(severity="error", message="far out")
    shapes = [
        shape(0, 2e-3, None),
        shape(1, 5e-5),
        shape(2, 1e-6, same=False, differs_at="y[3]"),
        shape(3, None, None, state="failed", diagnostics=(told,)),
        shape(4, None, None, state="not-run"),
    ]
    assert best_of(shapes) is shapes[1]
    assert best_of(shapes[3:]) is None
    lines = [" ".join(line.split()) for line in sweep_lines(output(), shapes)]
    assert lines == [
        "block threads occupancy limited by waves registers CPU time",
        "32 32 8 2.000 ms",
        "64 64 8 50.00 µs best",
        "128 128 8 1.00 µs results differ (y[3]): the kernel depends on its block",
        "256 256 8 defect",
        "512 512 8 not run",
        "times: , wall time of the CPU, not GPU time; medians",
        "far out",
    ]


def test_a_film_is_told_and_kept(warpyard: Warpyard, tmp_path: Path) -> None:
    options = ("--film", "u", "--film-every", "100", "--save-film", "film.npy", "--save", "u=u.npy")
    done = warpyard("run", "--example", "heat", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^film of u  float32\[5,256,256\]  rounds 0 to 400  min \S+  max 100$", done.stdout, re.MULTILINE)
    assert re.search(r"^time  .* run .* · film [\d.]+ m?s · transfer ", done.stdout, re.MULTILINE)
    film = np.load(tmp_path / "film.npy")
    assert (film.shape, film.dtype) == ((5, 256, 256), np.float32)
    np.testing.assert_array_equal(film[-1], np.load(tmp_path / "u.npy"))
    peaks = film.max(axis=(1, 2))
    assert peaks[0] == 100 and (np.diff(peaks) < 0).all()


def test_an_example_brings_its_film(warpyard: Warpyard, tmp_path: Path) -> None:
    done = warpyard("run", "--example", "life", "--film-every", "50", "--save-film", "life.npy", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    whole = json.loads(done.stdout)
    assert whole["request"]["film"] == {"buffer": "cells", "every": 50, "step": None}
    assert [frame["round"] for frame in whole["result"]["film"]] == [0, 50, 100]
    assert np.load(tmp_path / "life.npy").shape == (3, 128, 128)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--example", "heat", "--film", "u", "--film-every", "1"], "--film-every: 400 rounds make 401 frames"),
        (["--example", "heat", "--film", "q"], "--film: no buffer is called q"),
        (["--example", "heat", "--film-every", "0"], "--film-every"),
        (["--example", "saxpy", "--film", "y"], "--film: nothing is repeated"),
        (["--example", "saxpy", "--film-every", "2"], "--film-every goes with --film NAME"),
        (["--example", "saxpy", "--save-film", "f.npy"], "--save-film: there is no film to keep"),
        (["--example", "heat", "--save-film", "f.png"], "--save-film f.png: expected file.npy"),
        (["--example", "heat", "--save-film", "no/f.npy"], "--save-film no/f.npy: no is no folder"),
    ],
)
def test_a_film_that_cannot_be_is_refused(warpyard: Warpyard, given: list[str], said: str) -> None:
    done = warpyard("run", *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_an_example_keeps_its_instruments_beside_what_is_added(warpyard: Warpyard) -> None:
    done = warpyard("run", "--example", "race", "--count", "--json")
    assert json.loads(done.stdout)["request"]["instruments"] == ["checks", "counters"]


def test_shapes_that_fail_alike_are_told_once(warpyard: Warpyard, tmp_path: Path) -> None:
    bounded = "__global__ void __launch_bounds__(64) k(int *x) { x[threadIdx.x] = 1; }"
    (tmp_path / "bounded.cu").write_text(bounded)
    done = warpyard("run", "bounded.cu", "--arg", "x=int32[64]", "--grid", "1", "--try-sizes", "64,128,256,1024")
    told = [line for line in done.stdout.splitlines() if "compiled for at most" in line]
    assert told == [
        "  a block of 128 × 1 × 1 has 128 threads, but k is compiled for at most 64 (2 more shapes likewise)"
    ], done.stdout


def test_baselines_run_in_the_sandbox_and_stand_beside_an_estimate(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("y = a * x + y\n")
    (tmp_path / "numba.py").write_text(
        "from numba import njit, prange\n@njit(parallel=True)\ndef baseline(a, x, y):\n"
        "    for i in prange(y.size):\n        y[i] = a * x[i] + y[i]\n"
    )
    (tmp_path / "endless.py").write_text("while True:\n    pass\n")
    options = ("--estimate", "--baseline", "numpy.py", "--baseline", "numba.py", "--baseline", "endless.py")
    done = warpyard("run", "saxpy.cu", *LAUNCH, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("numpy", "numba"):
        assert re.search(
            rf"^baseline {name}  .* \(median of \d+, \d+ processors?; with its first start .*\); the launches alone "
            r"are .* on the GPU \(estimated for the H200 SXM, not measured\)$",
            done.stdout,
            re.MULTILINE,
        )
    assert (
        "baseline:1:1: error: the baseline was stopped" in done.stderr
        or "baseline:2:5: error: the baseline was" in done.stderr
    )
