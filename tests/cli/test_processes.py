"""Children of the supervisor: started, restarted with pauses, ended, and none left behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli import supervisor
from cli.processes import MAX_LOG_BYTES, Child, Order, children_of, ending
from cli.supervisor import gpu_devices, listening, locked, readiness
from cli.usage import Refused
from sandbox.gpus import Gpu, NoGpu

ROOT = Path(__file__).resolve().parent.parent.parent


def child(code: str, log: Path) -> Child:
    made = Child(Order("part", (sys.executable, "-c", code), os.environ, ROOT), log)
    made.start()
    return made


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_child_that_ends_is_started_again_and_then_with_pauses(tmp_path: Path) -> None:
    part = child("raise SystemExit('why it ended')", tmp_path / "part.log")
    until(lambda: part.ended is not None)
    assert part.keep_up() == "part ended (code 1); starting it again now"
    part.keep_up()
    until(lambda: part.ended is not None)
    assert part.keep_up() == "part ended (code 1); starting it again in 0.5 s"
    first = part.pid
    assert part.keep_up() == ""
    assert part.pid == first
    assert part.failures == 2
    assert part.last_lines() == "why it ended"
    part.kill()


def test_a_killed_child_is_told_by_its_signal(tmp_path: Path) -> None:
    part = child("import time; time.sleep(60)", tmp_path / "part.log")
    part.signal(signal.SIGKILL)
    until(lambda: part.ended is not None)
    assert "part ended (SIGKILL)" in part.keep_up()
    assert ending(-15) == "SIGTERM"
    part.kill()


def test_a_full_log_is_put_aside(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "part.log"
    log.parent.mkdir()
    log.write_bytes(b"x" * (MAX_LOG_BYTES + 1))
    part = child("print('anew')", log)
    until(lambda: part.ended is not None)
    assert log.read_text() == "anew\n"
    assert (tmp_path / "logs" / "part.log.1").stat().st_size > MAX_LOG_BYTES


LEAVER = """
import os, subprocess, sys, time
from pathlib import Path
from cli.processes import Child, Order, adopt_orphans, end_orphans
adopt_orphans()
grandchild = "import time; time.sleep(60)"
code = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {grandchild!r}], start_new_session=True)"
code += "; print(p.pid, flush=True)"
if sys.argv[1] == "die":
    code += "; import time; time.sleep(60)"
part = Child(Order("part", (sys.executable, "-c", code), os.environ, Path(".")), None)
part.start()
if sys.argv[1] == "die":
    time.sleep(60)
while part.ended is None:
    time.sleep(0.01)
end_orphans(time.monotonic() + 5)
"""


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_what_a_child_leaves_behind_is_ended() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVER, "end"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    )
    assert gone(int(done.stdout))


def test_a_child_gets_its_niceness(tmp_path: Path) -> None:
    printing = "import os; print(os.nice(0) - os.getpriority(os.PRIO_PROCESS, os.getppid()))"
    part = Child(Order("nice", (sys.executable, "-c", printing), os.environ, tmp_path, nice=3), tmp_path / "log")
    part.start()
    until(lambda: part.ended is not None)
    assert part.last_lines() == "3"


def test_children_die_with_a_killed_supervisor() -> None:
    with subprocess.Popen([sys.executable, "-c", LEAVER, "die"], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        grandchild = int(process.stdout.readline())
        (part,) = children_of(process.pid)
        process.kill()
        try:
            until(lambda: gone(part))
        finally:
            os.kill(grandchild, signal.SIGKILL)


def test_a_second_supervisor_on_a_folder_is_refused_with_the_first_ones_pid(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(Refused) as refusal, locked(tmp_path):
        pass
    assert f"another Warpyard (process {os.getpid()}) uses the data folder {tmp_path}" in str(refusal.value)
    with locked(tmp_path):
        pass


def test_a_taken_port_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(Refused) as refusal, listening("127.0.0.1", port):
            pass
    assert f"--port {port}: cannot listen on 127.0.0.1:{port}: address already in use" in str(refusal.value)


def test_a_host_that_is_none_is_named() -> None:
    with pytest.raises(Refused, match=r"--host no\.such: no such address"), listening("no.such", 0):
        pass


def test_a_service_that_is_not_up_is_not_ready() -> None:
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    assert readiness("127.0.0.1", port) is None


def test_each_model_of_gpu_is_a_device_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = [gpu("NVIDIA H200"), gpu("NVIDIA H200"), gpu("NVIDIA A100-SXM4-80GB")]
    monkeypatch.setattr(supervisor, "CONTROL", (str(tmp_path / "nvidiactl"),))
    monkeypatch.setattr(supervisor, "find_gpus", lambda: gpus)
    said: list[str] = []
    assert gpu_devices(said.append) == ()
    (tmp_path / "nvidiactl").write_text("")
    assert gpu_devices(said.append) == ("gpu:h200", "gpu:a100-sxm4-80gb")
    assert said == []


def test_a_gpu_that_cannot_be_used_is_told_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise NoGpu("the driver knows no GPU")

    (tmp_path / "nvidiactl").write_text("")
    monkeypatch.setattr(supervisor, "CONTROL", (str(tmp_path / "nvidiactl"),))
    monkeypatch.setattr(supervisor, "find_gpus", refuse)
    said: list[str] = []
    assert gpu_devices(said.append) == ()
    assert said == ["the GPU is not used: the driver knows no GPU"]


def gpu(name: str) -> Gpu:
    return Gpu(
        name=name,
        architecture="sm_90",
        sm_count=132,
        memory_bytes=1 << 37,
        uuid=f"GPU-{name}",
        cuda="13.0",
        nodes=("/dev/nvidia0",),
        libraries=("libcuda.so.1",),
        facts=(),
    )
