"""Exported programs make the run's launches: written down, compiled by nvcc, and, where there is a GPU, run."""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.launching.arguments import argument_bytes
from engine.launching.plan import plan
from protocol.launch import Launch, walk
from protocol.run import RunRequest
from store.examples import load_examples
from takeaway import Format, NotExportable, export
from tests.takeaway.cupy_stand_in import Array, stand_in
from tests.takeaway.launches import BODIES, Ran, body, ran
from tests.takeaway.test_starts import NVCC, build

EXAMPLES = {
    item.id: item
    for item in load_examples(Path(__file__).resolve().parents[2] / "examples")
    if item.payload.request.source.language == "cuda-c++"
}
CASES = (*BODIES, *EXAMPLES)
FAULTY = {"out-of-bounds", "race"}
"""Examples that a GPU ends in ways of its own."""


@cache
def case(name: str) -> Ran:
    if name in BODIES:
        return ran(body(name))
    return ran(EXAMPLES[name].payload.request, dict(EXAMPLES[name].files))


def exported(name: str, form: Format) -> str:
    return export(case(name).request, case(name).kernel.entries, form, name).text


def lay_files(name: str, folder: Path) -> None:
    """What the program reads beside itself."""
    files = dict(EXAMPLES[name].files) if name in EXAMPLES else {}
    for file, digest in export(case(name).request, case(name).kernel.entries, "cu").uploads.items():
        (folder / file).write_bytes(files[digest].read_bytes())


def value_bytes(item: Any) -> bytes | None:
    """Of an argument as CuPy would pass it; None for an array on the GPU."""
    if isinstance(item, Array):
        return None
    return bytes(8) if item is None else bytes(item.tobytes())


@pytest.mark.parametrize("name", BODIES)
def test_the_script_launches_what_the_engine_launches(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cupy, noted = stand_in()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(sys, "argv", ["exported.py", "--save", str(tmp_path), "--rounds", "0"])
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(exported(name, "cupy"), "exported.py", "exec"), space)

    request, kernel = case(name).request, case(name).kernel
    assert space["SOURCE"] == request.source.text
    planned = plan(request, kernel).launches
    order = [path for path, step in walk(request.steps) if isinstance(step, Launch)]
    if name == "steps":
        one, two, *rest = order
        order = [one, two, two] * 3 + rest
    assert len(noted.calls) == len(order) == space["LAUNCHES"]
    for call, path in zip(noted.calls, order, strict=True):
        launch = planned[path]
        assert call.kernel in (launch.entry.display, launch.entry.name)
        assert (call.grid, call.block, call.shared) == (launch.grid, launch.block, launch.dynamic_shared_bytes)
        for match, item in zip(launch.matches, call.arguments, strict=True):
            passed = value_bytes(item)
            wanted = argument_bytes(match, lambda _: 0)
            if passed is None:
                assert match.argument.kind == "buffer"
            else:
                assert passed == wanted[: len(passed)] and not any(wanted[len(passed) :]), match.parameter.name
    told = capsys.readouterr().out
    for buffer in request.buffers:
        assert (f"{buffer.name}  {buffer.dtype}[" in told) == (buffer.role != "in")
        assert (tmp_path / f"{buffer.name}.npy").exists() == (buffer.role != "in")


def test_the_script_swaps_fills_and_asks_for_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy, noted = stand_in()
    space: dict[str, Any] = {"__name__": "exported"}
    exec(compile(exported("steps", "cupy"), "exported.py", "exec"), space)
    buffers = space["upload"](cupy, space["initial_arrays"]())
    first = dict(buffers)
    space["run_steps"](space["compile_kernels"](cupy), buffers)
    assert (buffers["class"], buffers["lambda"]) == (first["lambda"], first["class"])
    assert [call.arguments[0] for call in noted.calls[:4]] == [
        first["class"], first["lambda"], first["lambda"], first["lambda"]
    ]  # fmt: skip
    assert noted.shared == {"upload": 60_000}
    assert buffers["half"].values.tolist() == [np.float16(0.1)] * 9
    assert buffers["brain"].values.tolist() == [0x3DCD] * 9
    (module,) = noted.modules
    assert module["options"] == ("-std=c++14", "-use_fast_math", "-fmad=false", "-maxrregcount=64", "-DLIFT=0.25")
    assert module["name_expressions"] == ("ns::scale< double >", "ns::scale<float>", "upload")


def test_the_script_keeps_the_film(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kernels of the stand-in do nothing, so that only swaps change what a name denotes."""
    cupy, noted = stand_in()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(sys, "argv", ["exported.py", "--save", str(tmp_path), "--rounds", "2"])
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(exported("steps", "cupy"), "exported.py", "exec"), space)
    frames = np.load(tmp_path / "class-film.npy")
    assert (frames.dtype, frames.shape) == (np.float32, (2, 32))
    np.testing.assert_array_equal(frames, [np.arange(32)] * 2)
    assert len(noted.calls) == 12 * (1 + 1 + 2)
    assert "class-film" not in capsys.readouterr().out


@pytest.mark.parametrize("form", ["cupy", "cu"])
def test_a_run_without_a_film_has_nothing_of_one(form: Format) -> None:
    request = case("steps").request.model_copy(update={"film": None})
    assert "film" not in export(request, case("steps").kernel.entries, form).text


def test_the_script_measures_from_the_same_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cupy, noted = stand_in()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(sys, "argv", ["exported.py"])
    exec(compile(exported("steps", "cupy"), "exported.py", "exec"), {"__name__": "__main__"})
    assert len(noted.calls) == 12 * (1 + 1 + 10)
    assert capsys.readouterr().out.endswith("time  500.0 µs for 12 launches (median of 10 rounds, GPU events)\n")


@pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")
@pytest.mark.parametrize("name", CASES)
def test_nvcc_builds_the_program(name: str, tmp_path: Path) -> None:
    build(exported(name, "cu"), tmp_path)
    lay_files(name, tmp_path)
    (tmp_path / "out").mkdir()
    subprocess.run([tmp_path / "program", "--initial", "out"], cwd=tmp_path, check=True)
    request = case(name).request
    names = {path.stem for path in (tmp_path / "out").iterdir()}
    assert names == {buffer.name for buffer in request.buffers if buffer.init.kind != "uninitialised"}


def test_the_usage_line_holds_the_options() -> None:
    assert re.search(
        r"^//     nvcc -std=c\+\+14 -arch=sm_90 -use_fast_math -fmad=false -maxrregcount=64 -Xcompiler \S+ "
        r"-o kernel_main kernel_main\.cu$",
        exported("steps", "cu"),
        re.MULTILINE,
    )
    assert "\n#define LIFT 0.25\n" in exported("steps", "cu")


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in CASES if name not in FAULTY])
@pytest.mark.parametrize("form", ["cupy", "cu"])
def test_a_gpu_gives_what_the_emulator_gives(name: str, form: Format, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    lay_files(name, tmp_path)
    if form == "cu":
        if NVCC is None:
            pytest.skip("nvcc is not installed")
        build(exported(name, form), tmp_path)
        command = [str(tmp_path / "program")]
    else:
        (tmp_path / "program.py").write_text(exported(name, form), encoding="utf-8")
        command = [sys.executable, "program.py"]
    subprocess.run([*command, "--save", "out"], cwd=tmp_path, check=True)
    for buffer, want in case(name).results.items():
        got = np.load(tmp_path / "out" / f"{buffer}.npy")
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, 1e-5, 1e-6, err_msg=buffer)


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"steps.0.entry": "nobody"}, "steps.0.entry", "nobody does not name one kernel; there are: everything"),
        ({"steps.0.arguments": ()}, "steps.0.arguments", "0 given, but everything takes 24"),
        ({"steps.0.config.grid": [0]}, "steps.0.config", r"a grid of \(0, 1, 1\) .* no thread"),
        ({"buffers.1.init": {"kind": "formula", "text": "import os"}}, "buffers.1.init.text", "is not a formula"),
        ({"buffers.1.init": {"kind": "formula", "text": "open(1)"}}, "buffers.1.init.text", "open is not a function"),
        ({"buffers.1.init": {"kind": "formula", "text": "x.real"}}, "buffers.1.init.text", "cannot stand in a formula"),
        ({"buffers.1.init": {"kind": "formula", "text": "x & 0.5"}}, "buffers.1.init.text", "whole numbers"),
        (
            {"buffers.1.dtype": "bool", "buffers.1.init": {"kind": "uniform"}},
            "buffers.1.init",
            "cannot fill bool",
        ),
    ],
)
@pytest.mark.parametrize("form", ["cupy", "cu"])
def test_what_cannot_be_exported_is_named(change: dict[str, Any], field: str, message: str, form: Format) -> None:
    whole = case("arguments").request.model_dump(mode="json")
    for path, value in change.items():
        *parents, last = path.split(".")
        here: Any = whole
        for part in parents:
            here = here[int(part) if part.isdigit() else part]
        here[last] = value
    request = RunRequest.model_validate_json(json.dumps(whole))
    with pytest.raises(NotExportable, match=message) as caught:
        export(request, case("arguments").kernel.entries, form)
    assert caught.value.field == field


TOGETHER = (
    "__global__ void k(int *a) {{ a[blockIdx.x] = 1; }}\n__global__ void {fixed}f(int *a) {{ a[blockIdx.x] = 2; }}"
)


def together(fixed: str = "", entry: str = "k", **config: Any) -> Ran:
    launch = {
        "kind": "launch",
        "entry": entry,
        "config": {"grid": [8], "block": [32], **config},
        "arguments": [{"kind": "buffer", "buffer": "a"}],
    }
    values = {
        "source": {"text": TOGETHER.format(fixed=fixed)},
        "buffers": [{"name": "a", "dtype": "int32", "shape": [8], "role": "out"}],
        "steps": [launch],
    }
    return ran(RunRequest.model_validate_json(json.dumps(values)))


def test_launches_with_attributes_have_calls_of_their_own() -> None:
    made = together(cooperative=True, cluster=[4])
    text = export(made.request, made.kernel.entries, "cu", "k").text
    for line in (
        "config.gridDim = dim3(8, 1, 1);",
        "attributes[0].val.cooperative = 1;",
        "attributes[1].val.clusterDim = {4, 1, 1};",
        "HOST_CHECK(cudaLaunchKernelEx(&config, k, d_a));",
    ):
        assert line in text
    assert "<<<" not in text.partition("host_side::Pointer d_a;")[2]
    with pytest.raises(NotExportable, match=r"steps\.0\.config\.cluster"):
        export(made.request, made.kernel.entries, "cupy", "k")


def test_cupy_makes_a_module_cooperative_and_keeps_clusters_that_the_source_fixes() -> None:
    made = together("__cluster_dims__(4) ", "f", cooperative=True)
    assert "enable_cooperative_groups=True" in export(made.request, made.kernel.entries, "cupy", "k").text
    plain = together("__cluster_dims__(4) ", "f")
    assert "enable_cooperative_groups" not in export(plain.request, plain.kernel.entries, "cupy", "k").text
    assert "f<<<dim3(8, 1, 1), dim3(32, 1, 1)>>>(" in export(plain.request, plain.kernel.entries, "cu", "k").text
    large = together(cluster=[8], grid=[16])
    assert "NonPortable" not in export(large.request, large.kernel.entries, "cu", "k").text
