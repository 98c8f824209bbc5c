"""compile, conformance, doctor, test and lock as users call them."""

import json
import re
import shutil
from pathlib import Path

from tests.cli.commandline import ROOT, SAXPY, Warpyard


def test_compile_tells_parameters_resources_and_occupancy(warpyard: Warpyard) -> None:
    done = warpyard("compile", "saxpy.cu", "--block", "256")
    assert done.returncode == 0, done.stderr
    assert "saxpy(int n, float a, const float *x, float *y)  (line 2)" in done.stdout
    assert re.search(r"^  \d+ registers a thread · 0 B static shared a block", done.stdout, re.MULTILINE)
    assert re.search(r"^  occupancy  100 %: 8 blocks, 64 of 64 warps an SM on sm_90", done.stdout, re.MULTILINE)
    assert re.search(r"^NVRTC 13\.\d+ for sm_90: ", done.stdout, re.MULTILINE)


def test_compile_prints_ptx(warpyard: Warpyard) -> None:
    done = warpyard("compile", "saxpy.cu", "--ptx", "--arch", "sm_80")
    assert done.returncode == 0, done.stderr
    assert ".target sm_80" in done.stdout
    assert ".entry " in done.stdout


def test_compile_as_json(warpyard: Warpyard) -> None:
    report = json.loads(warpyard("compile", "saxpy.cu", "--json").stdout)
    assert report["verdict"] == "ok"
    assert [parameter["name"] for parameter in report["entries"][0]["parameters"]] == ["n", "a", "x", "y"]


def test_compile_ends_with_1_on_an_error_and_2_on_bad_usage(warpyard: Warpyard) -> None:
    done = warpyard("compile", "-", given="__global__ void k( {}")
    assert done.returncode == 1
    assert re.search(r"^<stdin>:1:\d+: error: ", done.stderr, re.MULTILINE)
    done = warpyard("compile", "saxpy.cu", "--block", "a")
    assert done.returncode == 2
    assert "--block a: expected one to three whole numbers" in done.stderr


def test_conformance_counts_each_case_once(warpyard: Warpyard, tmp_path: Path) -> None:
    done = warpyard("conformance", str(ROOT / "tests/data/truth"), "--only", "oob_", "--json", "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert set(report["cases"]) == {"oob_read", "oob_write", "oob_negative", "oob_far", "oob_shared"}
    assert report["defects"] == {"found": 5, "missed": 0}, done.stdout
    assert sum(report["outputs"].values()) == 0
    assert done.stdout.endswith("defects: 5 found, 0 missed\n")
    assert done.returncode == 0


def truth(folder: Path, source: str, sha256: str, **row: object) -> None:
    """A folder in the truth format with one case: saxpy over eight elements."""
    (folder / "kernels").mkdir(parents=True)
    (folder / "kernels" / "k.cu").write_text(source)
    case = {
        "name": "one",
        "file": "k.cu",
        "entry": "saxpy",
        "grid": [1],
        "block": [8],
        "dynamic_shared_bytes": 0,
        "arguments": [
            {"scalar": "int32", "value": 8},
            {"scalar": "float32", "value": 2},
            {"buffer": "float32", "shape": [8], "init": {"arange": True}, "role": "in"},
            {"buffer": "float32", "shape": [8], "init": {"full": 1}, "role": "inout"},
        ],
        **row,
    }
    (folder / "cases.json").write_text(json.dumps([case]))
    (folder / "outputs_sm_90.json").write_text(
        json.dumps({"one.3": {"dtype": "float32", "shape": [8], "sha256": sha256}})
    )
    shutil.copy(ROOT / "tests/data/truth/outputs_sm_90.npz", folder / "outputs_sm_90.npz")


def test_conformance_tells_right_from_wrong(warpyard: Warpyard, tmp_path: Path) -> None:
    import hashlib

    import numpy as np

    digest = hashlib.sha256((2 * np.arange(8, dtype=np.float32) + 1).tobytes()).hexdigest()
    truth(tmp_path / "right", SAXPY, digest)
    truth(tmp_path / "wrong", SAXPY.replace("a * x[i]", "a + x[i]"), digest)
    truth(tmp_path / "broken", SAXPY.replace("a * x[i]", "a + z[i]"), digest)
    truth(tmp_path / "missed", SAXPY, digest, defect="memcheck", lines=[8])
    for name, counts, code in (
        ("right", "outputs: 1 exact, 0 tolerance, 0 different, 0 unsupported, 0 failed", 0),
        ("wrong", "outputs: 0 exact, 0 tolerance, 1 different, 0 unsupported, 0 failed", 1),
        ("broken", "outputs: 0 exact, 0 tolerance, 0 different, 0 unsupported, 1 failed", 1),
        ("missed", "defects: 0 found, 1 missed", 1),
    ):
        done = warpyard("conformance", name)
        assert counts in done.stdout, name
        assert done.returncode == code, name


def test_conformance_refuses_what_is_no_truth(warpyard: Warpyard, tmp_path: Path) -> None:
    assert "cases.json: no such file" in warpyard("conformance", "nowhere").stderr
    truth(tmp_path / "odd", SAXPY, "0" * 64, arguments=[{"buffer": "float32", "shape": [8], "init": {"gauss": 1}}])
    done = warpyard("conformance", "odd")
    assert done.returncode == 2
    assert 'one: unknown init {"gauss": 1}' in done.stderr
    done = warpyard("conformance", str(ROOT / "tests/data/truth"), "--device", "gpu")
    assert done.returncode == 1
    assert "Use --device emulator" in done.stderr


def test_doctor_runs_a_kernel(warpyard: Warpyard, tmp_path: Path) -> None:
    done = warpyard("doctor", "--data", "elsewhere")
    assert done.returncode == 0, done.stdout
    assert f"SQLite in {tmp_path / 'elsewhere'}" in done.stdout
    for what in ("Python", "isolation", "compiler", "emulator", "Numba", "GPU", "Redis", "database", "Chromium"):
        assert re.search(rf"^(ok|note) +{what} ", done.stdout, re.MULTILINE), what
    assert done.stdout.endswith("Kernels can be run here.\n")


def test_an_unknown_command_and_none(warpyard: Warpyard) -> None:
    done = warpyard("sevre")
    assert done.returncode == 2
    assert "No such command 'sevre'" in done.stderr
    assert "serve" in warpyard("--help").stdout
    assert re.fullmatch(r"warpyard \d+\.\d+\.\d+ \(NVRTC 13\.[\d.]+\)\n", warpyard("--version").stdout)
