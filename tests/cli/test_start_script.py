"""The start script's decisions: when the environment is ready, and what each obstacle is told as."""

import fcntl
import os
import subprocess
import sys
import types
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The script as a module, for a checkout of its own in `tmp_path` with an empty environment."""
    loader = SourceFileLoader("start_script", str(ROOT / "warpyard"))
    spec = spec_from_loader("start_script", loader)
    assert spec is not None
    module = module_from_spec(spec)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    for name in ("requirements.lock", "requirements-dev.lock", "requirements-gpu.lock", "requirements-uv.lock"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(module, "PYTHON", str(tmp_path / ".venv/bin/python"))
    monkeypatch.setattr(module, "STAMP", str(tmp_path / ".venv/warpyard-stamp"))
    monkeypatch.setattr(module, "STATE", str(tmp_path / ".warpyard"))
    monkeypatch.setattr(module, "GPU_NODE", str(tmp_path / "nvidiactl"))
    return module


@pytest.mark.parametrize(
    ("stamped", "wanted", "ready"),
    [
        ("runtime", "runtime", True),
        ("dev", "dev", True),
        ("dev", "runtime", True),
        ("runtime", "dev", False),
        (None, "runtime", False),
    ],
)
def test_an_environment_serves_its_kind_and_less(
    script: types.ModuleType, stamped: str | None, wanted: str, ready: bool
) -> None:
    if stamped:
        script.write_stamp(stamped, script.lock_digest(stamped))
    assert script.is_ready(wanted) is ready


def test_a_changed_lock_file_or_place_or_a_broken_off_set_up_is_noticed(script: types.ModuleType) -> None:
    root = Path(script.ROOT)
    script.write_stamp("runtime", script.lock_digest("runtime"))
    assert script.is_ready("runtime")
    (root / "requirements.lock").write_text("changed")
    assert not script.is_ready("runtime")
    script.write_stamp("runtime", "")
    assert not script.is_ready("runtime")
    Path(script.STAMP).write_text(f"runtime\n{script.lock_digest('runtime')}\n/elsewhere")
    assert not script.is_ready("runtime")
    script.write_stamp("runtime", script.lock_digest("runtime"))
    Path(script.PYTHON).unlink()
    Path(script.PYTHON).symlink_to("/nowhere/python")
    assert not script.is_ready("runtime")


def steps(script: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What a set-up would run, as it is recorded in place of running it."""
    commands: list[list[str]] = []
    monkeypatch.setattr(script, "find_uv", lambda: "uv")
    monkeypatch.setattr(script, "run", commands.append)
    return commands


@pytest.mark.parametrize(
    ("before", "wanted", "kind", "anew"),
    [
        (None, "runtime", "runtime", False),
        (("runtime", "0" * 64), "runtime", "runtime", False),
        (("dev", "0" * 64), "runtime", "dev", False),
        (("runtime", "current"), "dev", "dev", False),
        (("runtime", ""), "runtime", "runtime", True),
        (("dev", ""), "runtime", "dev", True),
    ],
)
def test_a_set_up_syncs_what_is_there_and_begins_anew_after_an_interruption(
    script: types.ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    before: tuple[str, str] | None,
    wanted: str,
    kind: str,
    anew: bool,
) -> None:
    commands = steps(script, monkeypatch)
    if before:
        script.write_stamp(before[0], script.lock_digest(before[0]) if before[1] == "current" else before[1])
    script.set_up(wanted)
    assert [command[1] for command in commands] == (["venv", "pip"] if anew else ["pip"])
    assert commands[-1][-1].endswith(script.LOCKS[kind])
    assert "--require-hashes" in commands[-1]
    assert script.read_stamp()[0] == kind
    assert script.is_ready(wanted)


def test_what_drives_a_gpu_comes_where_there_is_one(script: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = steps(script, monkeypatch)
    script.write_stamp("runtime", script.lock_digest("runtime"))
    assert script.is_ready("runtime")
    Path(script.GPU_NODE).write_text("")
    assert not script.is_ready("runtime")
    script.set_up("runtime")
    assert [Path(name).name for name in commands[-1][-2:]] == ["requirements.lock", "requirements-gpu.lock"]
    assert script.is_ready("runtime")


def test_a_set_up_that_fails_leaves_an_environment_that_is_not_ready(
    script: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps(script, monkeypatch)
    script.write_stamp("runtime", "0" * 64)

    def fail(command: list[str]) -> None:
        sys.exit("no network")

    monkeypatch.setattr(script, "run", fail)
    with pytest.raises(SystemExit):
        script.set_up("runtime")
    assert script.read_stamp() == ["runtime", "", script.ROOT]


def test_a_second_start_waits_and_finds_the_work_done(
    script: types.ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = steps(script, monkeypatch)
    Path(script.STATE).mkdir()
    script.write_stamp("runtime", script.lock_digest("runtime"))
    real = fcntl.flock
    with (Path(script.STATE) / "setup.lock").open("w") as other:
        real(other, fcntl.LOCK_EX)

        def release_on_waiting(file: object, how: int) -> None:
            if how == fcntl.LOCK_EX:
                real(other, fcntl.LOCK_UN)
            real(file, how)  # type: ignore[arg-type]

        monkeypatch.setattr(fcntl, "flock", release_on_waiting)
        script.set_up("runtime")
    assert commands == []
    assert "another start is setting up .venv; waiting for it" in capsys.readouterr().err


def test_a_failed_download_is_told_with_what_to_do(script: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as end:
        script.run([sys.executable, "-c", "raise SystemExit(3)"])
    assert "The first start needs the network" in str(end.value)


@pytest.mark.parametrize("version", [(3, 10), (3, 15)])
def test_an_unsuited_python_goes_on_with_a_suited_one(
    script: types.ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: tuple[int, int]
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    (tmp_path / "bin").mkdir()
    found = tmp_path / "bin" / "python3.12"
    found.write_text("#!/bin/sh\nexit 0\n")
    found.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    started: list[str] = []
    monkeypatch.setattr(os, "execv", lambda path, arguments: started.append(path))
    with pytest.raises(SystemExit):
        script.use_supported_python()
    assert started == [str(found)]


def test_without_a_suited_python_it_says_which_is_needed(
    script: types.ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit) as end:
        script.use_supported_python()
    assert "this is Python 3.9" in str(end.value)
    assert "Python 3.11 to 3.14 is needed" in str(end.value)


def test_without_venv_and_pip_it_names_the_package(script: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(script.STATE).mkdir()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit) as end:
        script.find_uv()
    assert "apt-get install python3-venv" in str(end.value)
    assert list(Path(script.STATE).iterdir()) == []


def test_a_ready_environment_runs_the_command_line() -> None:
    done = subprocess.run([ROOT / "warpyard", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("warpyard 0.")


def test_what_nothing_loads_is_dropped_and_the_rest_stays(script: types.ModuleType) -> None:
    root = Path(script.VENV) / "lib/python3.11/site-packages"
    cuda = "nvidia/cu13"
    kept = {f"{cuda}/lib/libnvrtc.so.13", f"{cuda}/lib/libnvvm.so.4", f"{cuda}/nvvm/libdevice/a.bc", "numba/core/a.py"}
    dropped = {f"{cuda}/lib/libnvrtc.alt.so.13", f"{cuda}/nvvm/bin/cicc", "numba/tests/a.py", "numba/cuda/tests/b/c.py"}
    for name in kept | dropped | {"numba_cuda/numba/cuda/tests/a.py"}:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    script.leave_out_unused()
    assert {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} == kept
