"""`warpyard run` as users call it: results, what is shown, and every kind of bad input."""

import json
import re
import uuid
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commandline import SAXPY, Warpyard

LAUNCH = ("n=1000", "a=2", "x=float32[1000]:arange", "y=float32[1000]:full=1")


def arguments(*texts: str) -> list[str]:
    return [part for text in texts for part in ("--arg", text)]


def test_a_run_shows_prints_buffers_occupancy_times_and_saves(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "fresh.cu").write_text(f"{SAXPY}// {uuid.uuid4()}, so that it was not compiled before\n")
    done = warpyard("run", "fresh.cu", *arguments(*LAUNCH), "--save", "y=out.npy")
    assert done.returncode == 0, done.stdout + done.stderr
    out = done.stdout
    assert re.search(r"^saxpy · grid 4 × block 256 · .*emulator", out, re.MULTILINE | re.IGNORECASE)
    assert "\nn is 1000\n" in out
    assert "\ny  float32[1000]  min 1  max 1999  [1, 3, 5, 7, 9, 11, 13, 15, …]\n" in out
    assert re.search(r"^occupancy  \d+ %: .* limited by warps", out, re.MULTILINE)
    assert re.search(r"^time  compile .* run .* \(emulator on the CPU, not GPU time\)", out, re.MULTILINE)
    assert out.endswith("ok\n")
    assert np.array_equal(np.load(tmp_path / "out.npy"), 2 * np.arange(1000, dtype=np.float32) + 1)
    again = warpyard("run", "fresh.cu", *arguments(*LAUNCH))
    assert re.search(r"^time  compiled before · .* run ", again.stdout, re.MULTILINE)


def test_json_holds_request_and_result_and_nothing_else(warpyard: Warpyard) -> None:
    done = warpyard("run", "saxpy.cu", *arguments(*LAUNCH), "--grid", "2", "--block", "512", "--json")
    assert done.returncode == 0, done.stderr
    whole = json.loads(done.stdout)
    assert whole["request"]["steps"][0]["config"]["grid"] == [2]
    assert whole["result"]["verdict"] == "ok"
    assert whole["result"]["printed"] == "n is 1000\n"
    assert [buffer["name"] for buffer in whole["result"]["buffers"]] == ["y"]


def test_source_from_standard_input_with_macros_and_a_template(warpyard: Warpyard) -> None:
    source = "template <typename T> __global__ void put(T *out) { out[threadIdx.x] = VALUE; }"
    done = warpyard(
        *(
            "run",
            "-",
            "-D",
            "VALUE=7",
            "--entry",
            "put<double>",
            "--block",
            "4",
            *arguments("out=float64[4]"),
            "--json",
        ),
        given=source,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (buffer,) = json.loads(done.stdout)["result"]["buffers"]
    assert (buffer["dtype"], buffer["minimum"], buffer["maximum"]) == ("float64", 7.0, 7.0)


def test_an_npy_file_brings_dtype_and_shape(warpyard: Warpyard, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.array([4, 3, 2, 1], np.float32))
    texts = ("n=4", "a=10", "x=@in.npy", "y=float32[4]:1,2,3,4")
    done = warpyard("run", "saxpy.cu", *arguments(*texts), "--save", "y=y.npy")
    assert done.returncode == 0, done.stdout + done.stderr
    assert np.load(tmp_path / "y.npy").tolist() == [41, 32, 23, 14]


def test_compiler_errors_stand_at_their_line(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "bad.cu").write_text(SAXPY.replace("a * x[i]", "a * z[i]"))
    done = warpyard("run", "bad.cu", *arguments(*LAUNCH))
    assert done.returncode == 1
    assert 'bad.cu:8:20: error: identifier "z" is undefined' in done.stderr
    assert "    8 |         y[i] = a * z[i] + y[i];\n      |                    ^" in done.stderr
    assert "compile-error: 1 error in bad.cu" in done.stderr


def test_a_defect_names_line_thread_and_buffer_and_ends_with_1(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "far.cu").write_text(SAXPY.replace("if (i < n)", "if (i <= n)"))
    done = warpyard("run", "far.cu", *arguments(*LAUNCH))
    assert done.returncode == 1
    assert re.search(r"^far\.cu:8:\d+: memory: .*\[out-of-bounds\]$", done.stderr, re.MULTILINE), done.stderr
    assert "  = thread (232, 0, 0) of block (3, 0, 0), warp 7, lane 8" in done.stderr
    assert done.stdout.rstrip().splitlines()[-1].startswith("error: ")


def test_a_run_that_ends_with_a_defect_is_not_called_ok(warpyard: Warpyard, tmp_path: Path) -> None:
    body = "int i = threadIdx.x; __shared__ int s[64]; s[i] = x[i]; x[i] = s[63 - i];"
    (tmp_path / "race.cu").write_text(f"__global__ void k(int *x) {{ {body} }}\n")
    (tmp_path / "want.py").write_text("x = x + 1000\n")
    done = warpyard(
        "run", "race.cu", *arguments("x=int32[64]:arange"), "--block", "64", "--check", "--reference", "want.py"
    )
    assert done.returncode == 1
    assert re.fullmatch(r"finished; \d+ defects? found, 1 check not passed", done.stdout.rstrip().splitlines()[-1])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["saxpy.cu", *arguments("n=1000", "a=2", "x=float32[1000]:range", LAUNCH[3])], "'range' is no way to start"),
        (
            ["saxpy.cu", *arguments("n=1000", "a=2", "x=float31[1000]", LAUNCH[3])],
            "float31 is not a dtype; did you mean",
        ),
        (["saxpy.cu", *arguments("n=1000", "a=2", "x=@none.npy", LAUNCH[3])], "--arg x: none.npy: no such file"),
        (["saxpy.cu", *arguments("n=1000", "a=2", "x=@saxpy.cu", LAUNCH[3])], "saxpy.cu is not an .npy file"),
        (["saxpy.cu", *arguments("n=1000")], "saxpy needs more arguments, for example:\n  --arg a=1024"),
        (["saxpy.cu", *arguments(*LAUNCH, "m=1")], "--arg m: saxpy has no such parameter (it has: n, a, x, y)"),
        (
            ["saxpy.cu", *arguments(*LAUNCH), "--save", "x=x.npy"],
            "--save x: not a buffer that is read back (there are: y)",
        ),
        (["saxpy.cu", *arguments(*LAUNCH), "--save", "y=no/y.npy"], "--save y=no/y.npy: no is no folder"),
        (["saxpy.cu", *arguments(*LAUNCH), "--save", "y"], "--save y: expected NAME=file.npy"),
        (["saxpy.cu", *arguments(*LAUNCH), "--arch", "sm_42"], "--arch: "),
        (["saxpy.cu", *arguments(*LAUNCH), "--std", "c++98"], "--std: "),
        (["saxpy.cu", *arguments(*LAUNCH), "--maxrregcount", "8"], "--maxrregcount: "),
        (["saxpy.cu", *arguments(*LAUNCH), "-D", "2X=1"], "-D: "),
        (["saxpy.cu", *arguments(*LAUNCH), "--entry", "saxpi"], "no kernel is called saxpi; did you mean saxpy?"),
        (["saxpy.cu", *arguments(*LAUNCH), "--device", "tpu"], "--device tpu: expected auto, emulator or gpu"),
        (["saxpy.cu", *arguments(*LAUNCH), "--shared", "-1"], "--shared"),
        (["none.cu"], "none.cu: no such file or directory"),
        (["bytes.cu"], "bytes.cu:2: byte 0xff is not UTF-8"),
        (["empty.cu"], "empty.cu: the source is empty: write a __global__ function"),
        ([], "name a source file (or --example ID)"),
        (["--example", "saxpi"], "no example is called saxpi; did you mean saxpy?"),
        (["saxpy.cu", "--example", "saxpy"], "--example brings its own source, launch and arguments"),
    ],
)
def test_bad_usage_ends_with_2_and_names_what_is_wrong(
    warpyard: Warpyard, tmp_path: Path, given: list[str], said: str
) -> None:
    (tmp_path / "bytes.cu").write_bytes(b"// fine\n// \xff\n")
    (tmp_path / "empty.cu").write_text("\n\n")
    done = warpyard("run", *given)
    assert said in done.stderr
    assert done.returncode == 2
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("source", "extra", "said"),
    [
        ("__device__ int nothing() { return 1; }", (), "error: the source defines no kernel that can be launched"),
        (SAXPY, ("--device", "gpu"), "Use --device emulator"),
    ],
)
def test_what_cannot_work_ends_with_1(
    warpyard: Warpyard, tmp_path: Path, source: str, extra: tuple[str, ...], said: str
) -> None:
    (tmp_path / "kernel.cu").write_text(source)
    done = warpyard("run", "kernel.cu", *arguments(*LAUNCH), *extra)
    assert said in done.stderr
    assert done.returncode == 1


def test_examples_can_be_listed_and_run(warpyard: Warpyard) -> None:
    listed = warpyard("run", "--example", "list")
    assert listed.returncode == 0
    assert re.search(r"^saxpy +y = a·x \+ y", listed.stdout, re.MULTILINE)
    done = warpyard("run", "--example", "histogram")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bins  uint32[256]" in done.stdout


def test_a_file_that_claims_more_than_it_holds_is_refused_in_one_line(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "saxpy.cu").write_text(SAXPY)
    whole = tmp_path / "lie.npy"
    np.save(whole, np.zeros(1, np.float32))
    data = whole.read_bytes()
    whole.write_bytes(data.replace(b"(1,), }            ", b"(1000000000000,), }"))
    done = warpyard("run", "saxpy.cu", *arguments("n=1", "a=1", "x=@lie.npy", "y=float32[1]"))
    assert done.returncode == 2
    assert done.stderr == "warpyard: --arg x: lie.npy is not an .npy file that can be read\n"


def test_a_picture_is_told_apart_from_a_broken_file(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "cat.PNG").write_bytes(b"\x89PNG\r\n\x1a\n")
    done = warpyard("run", "saxpy.cu", *arguments("n=1000", "a=2", "x=@cat.PNG", LAUNCH[3]))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--arg x: cat.PNG: only the page takes pictures; here give an .npy file" in done.stderr


TOGETHER = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *a) {
  a[blockIdx.x] = 10 * cg::this_cluster().num_blocks() + cg::this_cluster().block_rank();
  cg::this_grid().sync();
}"""


def test_cooperative_launches_and_clusters(warpyard: Warpyard, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TOGETHER)
    launch = ("run", "k.cu", *arguments("a=int32[4]"), "--grid", "4", "--block", "32")
    done = warpyard(*launch, "--cooperative", "--cluster", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("k · grid 4 × block 32 · clusters of 2 · cooperative · ")
    assert "[20, 21, 20, 21]" in done.stdout
    plain = warpyard(*launch)
    assert plain.returncode == 1
    assert "--cooperative: warning: k uses the grid's barrier" in plain.stderr
    assert "synchronisation: Thread (0, 0, 0) of block (0, 0, 0) met grid.sync()" in plain.stderr
    uneven = warpyard(*launch, "--cooperative", "--cluster", "3")
    assert uneven.returncode == 1
    assert "--grid: error: the grid has 4 blocks along x, which is no multiple of the cluster's 3" in uneven.stderr
    wrong = warpyard(*launch, "--cluster", "two")
    assert wrong.returncode == 2
    assert "--cluster two: expected one to three whole numbers" in wrong.stderr
    told = warpyard("compile", "k.cu")
    assert "grid.sync(): needs a cooperative launch · clusters, whose size the launch gives" in told.stdout
