"""`warpyard sweep` as users call it: macros, restrictions, files that it writes."""

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.commandline import Warpyard

TILED = """\
static_assert(TILE != 4, "four is not possible");
__global__ void sum(const float *x, float *y, int n)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * TILE;
    for (int k = 0; k < TILE && first + k < n; k++)
        y[first + k] = 2 * x[first + k];
}
"""
LAUNCH = ("-a", "x=float32[4096]:arange", "-a", "y=float32[4096]:zeros", "-a", "n=4096")


def test_macros_and_shapes_are_tried_in_one_job(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text("y = 2 * x\n")
    done = warpyard(
        "sweep", "-", *LAUNCH, "--blocks", "64,128,2048", "--macro", "TILE=1,2,4", "--where", "block_x * TILE <= 4096",
        "--where", "not (TILE == 2 and threads == 64)", "--grid-of", "ceil_div(n, block_x * TILE)",
        "--reference", str(tmp_path / "twice.py"), "--json", str(tmp_path / "out.json"),
        "--kernel-tuner", str(tmp_path / "tune.py"), given=TILED,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    whole = json.loads((tmp_path / "out.json").read_text())
    cells = {(row["block"][0], row["macros"]["TILE"]): row for row in whole["result"]["sweep"]}
    states = {cell: row["state"] for cell, row in cells.items()}
    assert states == {
        (64, "1"): "ran", (128, "1"): "ran", (2048, "1"): "refused",
        (64, "2"): "excluded", (128, "2"): "ran", (2048, "2"): "refused",
        (64, "4"): "refused", (128, "4"): "refused", (2048, "4"): "excluded",
    }  # fmt: skip
    assert [cells[cell]["grid"][0] for cell in ((64, "1"), (128, "1"), (128, "2"))] == [64, 32, 16]
    assert all(cells[cell]["passed"] for cell in ((64, "1"), (128, "1"), (128, "2")))
    assert "four is not possible" in cells[(64, "4")]["diagnostics"][0]["message"]
    assert all(cells[cell]["estimate"]["gpu"] == "H200 SXM" for cell in ((64, "1"), (128, "2")))
    assert whole["result"]["conclusion"]["text"] in done.stdout
    assert "estimate: for the H200 SXM, from a sample of blocks; no measurement" in done.stdout
    assert "2 cells are left out by the restrictions" in done.stdout
    listed = subprocess.run(
        [sys.executable, tmp_path / "tune.py", "--list"], capture_output=True, text=True, check=True
    )
    assert listed.stdout == "7 cells\n"


def test_named_sets_and_a_sample(warpyard: Warpyard) -> None:
    source = "__global__ void k(float *y) { y[threadIdx.x] = 1; }"
    done = warpyard(
        "sweep", "-", "-a", "y=float32[2048]:zeros", "--blocks", "3d", "--random", "3", "--json", "-", given=source
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    assert len(result["sweep"]) == 3
    assert all(row["block"][2] > 1 for row in result["sweep"])


def test_bad_usage_names_the_option(warpyard: Warpyard) -> None:
    for options, words in (
        (("--macro", "TILE"), "--macro TILE: give a name and values"),
        (("--blocks", "big"), "--blocks big: 'big' is no block shape"),
        (("--where", "block_q > 1"), "--where: block_q is not known; there are"),
        (("--grid-of", "n /"), "--grid-of: 'n /' cannot be read"),
        (("--estimate-on", "Voodoo"), "--estimate-on: no GPU is called Voodoo"),
    ):
        done = warpyard(
            "sweep", "saxpy.cu", "-a", "n=64", "-a", "a=1", "-a", "x=float32[64]", "-a", "y=float32[64]", *options
        )
        assert done.returncode == 2, options
        assert words in done.stderr
