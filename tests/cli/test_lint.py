"""`lint`, and `run --lint`, as users call them."""

import json

from tests.cli.commandline import Warpyard

BARE = """__global__ void twice(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i];
}
"""
GIVEN = ("-a", "n=1000", "-a", "x=float32[1000]:random", "-a", "y=float32[1000]")


def test_a_launch_with_a_fault_is_told_with_its_fix(warpyard: Warpyard) -> None:
    said = warpyard("lint", "-", *GIVEN, "--block", "256", given=BARE)
    assert said.returncode == 1
    assert "<stdin>:4:5: warning: thread 232 of block 3 reads x[1,000], and x has 1,000 elements" in said.stderr
    assert "= fix: Guard with if (i < n)" in said.stderr
    assert said.stdout == "<stdin>: 1 warning, 0 notes\n"


def test_findings_are_data(warpyard: Warpyard) -> None:
    said = warpyard("lint", "-", *GIVEN, "--block", "100", "--grid", "10", "--json", given=BARE)
    assert said.returncode == 1
    (found,) = json.loads(said.stdout)["findings"]
    assert (found["code"], found["origin"], found["severity"]) == ("partial-warp", "lint", "warning")
    assert found["fix"]["field"] == "steps.0.config"
    assert (found["fix"]["value"]["block"], found["fix"]["value"]["grid"]) == ([128], [8])


def test_a_right_launch_ends_with_0(warpyard: Warpyard) -> None:
    said = warpyard("lint", "--example", "vector-add")
    assert (said.returncode, said.stdout, said.stderr) == (0, "vector-add.cu: nothing to mend was found\n", "")


def test_a_source_that_does_not_compile_is_no_success(warpyard: Warpyard) -> None:
    said = warpyard("lint", "-", given="__global__ void k( {}")
    assert said.returncode == 1
    assert "error" in said.stderr


def test_run_tells_findings_only_where_it_is_asked(warpyard: Warpyard) -> None:
    assert "missing-guard" not in warpyard("run", "-", *GIVEN, "--block", "256", given=BARE).stderr
    assert "missing-guard" in warpyard("run", "-", *GIVEN, "--block", "256", "--lint", given=BARE).stderr
