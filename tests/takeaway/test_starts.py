"""Exported programs start from the numbers that Warpyard starts from."""

import re
import shutil
import subprocess
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protocol.run import RunRequest
from takeaway import export
from tests.takeaway.starts import ENTRY, expected, requests, same

REQUESTS = requests()
NVCC = shutil.which("nvcc")


def script_of(text: str) -> types.ModuleType:
    module = types.ModuleType("exported")
    exec(compile(text, "exported.py", "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("request_", REQUESTS, ids=range(len(REQUESTS)))
def test_the_script_makes_the_engines_arrays(request_: RunRequest) -> None:
    arrays = script_of(export(request_, [ENTRY], "cupy").text).initial_arrays()
    assert list(arrays) == [buffer.name for buffer in request_.buffers]
    for buffer in request_.buffers:
        want = expected(buffer)
        if want is None:
            assert arrays[buffer.name] is None
        else:
            same(arrays[buffer.name], want, f"{buffer.name} {buffer.init}")


@pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")
@pytest.mark.parametrize("request_", REQUESTS, ids=range(len(REQUESTS)))
def test_the_program_makes_the_engines_arrays(request_: RunRequest, tmp_path: Path) -> None:
    for buffer, array in script_of(export(request_, [ENTRY], "cupy").text).initial_arrays().items():
        if array is not None:
            np.save(tmp_path / f"{buffer}.npy", array)
    program = export(request_, [ENTRY], "cu")
    build(program.text, tmp_path)
    (tmp_path / "out").mkdir()
    subprocess.run([tmp_path / "program", "--initial", "out"], cwd=tmp_path, check=True)
    for buffer in request_.buffers:
        want, path = expected(buffer), tmp_path / "out" / f"{buffer.name}.npy"
        if want is None:
            assert not path.exists()
            continue
        got: Any = np.load(path)
        last_place = re.search(rf"^// {buffer.name} is computed with", program.text, re.MULTILINE)
        if last_place:
            np.testing.assert_allclose(got, want, 4 * np.finfo(got.dtype).eps, err_msg=buffer.name)
        else:
            same(got, want, f"{buffer.name} {buffer.init}")


def build(text: str, folder: Path) -> None:
    """Compiles as the file's own first lines say."""
    flags = re.search(r"^// +nvcc (.*) -o \S+ \S+\.cu$", text, re.MULTILINE)
    assert flags and NVCC
    (folder / "program.cu").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [NVCC, *flags[1].split(), "-o", "program", "program.cu"], cwd=folder, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_read_from_files_is_said() -> None:
    """C++ leaves to a file what it cannot compute exactly, and the file's head says so."""
    told = set()
    for request_ in REQUESTS:
        text = export(request_, [ENTRY], "cu").text
        head = text[: text.index("#include")]
        told |= set(re.findall(r"^// (\w+) is read from", head, re.MULTILINE))
        assert set(re.findall(r"host_side::load_npy\(buffers", text)) == set() or "is read from" in head
        for buffer in request_.buffers:
            loads = f"// From {buffer.name}.npy" in text
            assert loads == (f"// {buffer.name} is read from" in head)
    assert told == {"b11_complex64", "b11_complex128", "f23", "f24", "f25"}
