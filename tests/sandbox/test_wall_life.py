"""Jobs and zygotes come and go: cancelling, dying, leaking, input, back-pressure."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.attacks.house import descendants, lives, processes
from sandbox import fork_server, launcher
from sandbox.launcher import JobLimits, Sandbox, SandboxUnavailable

SPIN = b"emit({'up': 1}, b'')\nwhile True: pass"
SLEEP = b"emit({'up': 1}, b'')\nimport time\ntime.sleep(60)"


def until(condition: Callable[[], bool], seconds: float = 1.0) -> bool:
    """Whether `condition` comes true within that time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def works(box: Sandbox) -> bool:
    job = box.start("python", b"emit({'n': 6 * 7}, b'abc'); print('hi')")
    messages = list(job.messages())
    outcome = job.wait()
    return (messages, outcome.stdout, outcome.verdict) == ([({"n": 42}, b"abc")], b"hi\n", "ok")


@pytest.mark.parametrize("source", [SPIN, SLEEP, b"emit({'up': 1}, b'')\nwhile True: emit({}, bytes(1 << 20))"])
def test_cancel_while_running(box: Sandbox, source: bytes) -> None:
    before = processes(box)
    job = box.start("python", source, limits=JobLimits(result=1 << 31))
    assert next(iter(job.messages())) == ({"up": 1}, b"")
    began = time.monotonic()
    threading.Thread(target=job.cancel).start()
    outcome = job.wait()
    assert outcome.verdict == "cancelled"
    assert time.monotonic() - began < 0.5
    # What a fresh zygote still did at first may be gone by now.
    assert until(lambda: processes(box) <= before)
    job.cancel()
    assert job.wait() is outcome
    assert works(box)


def test_cancel_at_once_and_many_together(box: Sandbox) -> None:
    jobs = [box.start("python", SLEEP) for _ in range(8)]
    for job in jobs:
        job.cancel()
    assert [job.wait().verdict for job in jobs] == ["cancelled"] * 8
    assert works(box)


def test_messages_come_while_the_job_runs(box: Sandbox) -> None:
    source = b"import time\nfor n in range(3):\n  emit({'n': n}, b'')\n  time.sleep(.2)"
    began = time.monotonic()
    times = [time.monotonic() - began for _ in box.start("python", source).messages()]
    assert len(times) == 3
    assert times[0] < 0.15 < times[1] < 0.38 < times[2]


def test_threads_may_emit_together(box: Sandbox) -> None:
    source = b"""
import threading
def tell(n):
    for _ in range(20): emit({"n": n}, bytes([n]) * (n * 20000))
threads = [threading.Thread(target=tell, args=(n,)) for n in range(1, 9)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    job = box.start("python", source)
    got = list(job.messages())
    assert job.wait().verdict == "ok"
    assert len(got) == 160
    assert all(payload == bytes([header["n"]]) * (header["n"] * 20000) for header, payload in got)


def test_input_arrives_whole_and_sealed(box: Sandbox) -> None:
    blobs = {"empty": b"", "a/b\u2028": os.urandom(5000), "big": memoryview(bytearray(os.urandom(3 << 20)))}
    source = textwrap.dedent("""
        import mmap, os
        for name, view in blobs.items():
            emit({"name": name, "readonly": view.readonly}, view)
        try:
            os.fstat(4); print("input left open")
        except OSError:
            pass
    """)
    job = box.start("python", source.encode(), blobs)
    got = {header["name"]: (header["readonly"], payload) for header, payload in job.messages()}
    assert job.wait().verdict == "ok"
    assert got == {name: (True, bytes(data)) for name, data in blobs.items()}
    assert job.wait().stdout == b""


def test_a_slow_reader_neither_loses_frames_nor_stops_the_clock(box: Sandbox) -> None:
    source = b"for n in range(200): emit({'n': n}, bytes(1 << 20))"
    job = box.start("python", source, limits=JobLimits(result=1 << 30))
    numbers = []
    for header, payload in job.messages():
        assert len(payload) == 1 << 20
        numbers.append(header["n"])
        if header["n"] == 20:
            time.sleep(0.3)
            assert job._queued <= 66 << 20
    assert numbers == list(range(200))
    stuck = box.start("python", source, limits=JobLimits(result=1 << 30, wall=0.5))
    assert until(lambda: stuck._over, 2)
    assert stuck.wait().verdict == "limit:wall"


def test_nothing_leaks_over_many_jobs(box: Sandbox) -> None:
    assert works(box)
    zygote = max(processes(box), default=box.zygotes[0])

    def held() -> tuple[int, int, int, set[int]]:
        own = len(list(Path("/proc/self/fd").iterdir()))
        return own, len(list(Path(f"/proc/{zygote}/fd").iterdir())), threading.active_count(), processes(box)

    def settled() -> bool:
        return held() == before

    before = held()
    sources = [b"pass", b"1/0", b"import ctypes; ctypes.string_at(0)", b"import os; os.write(3, b'x' * 99)"]
    for source in sources * 5:
        box.start("python", source).wait()
    assert until(settled), (before, held())
    if box._cgroups is not None:
        box._cgroups.close()
        groups = box._cgroups.parent.glob(f"warpyard-job-{os.getpid()}-{id(box._cgroups):x}-*")
        assert len(list(groups)) == sum(len(server.spares) for server in box._servers.values()), (
            "only waiting inits keep a cgroup"
        )


def test_a_killed_zygote_is_replaced(box: Sandbox) -> None:
    job = box.start("python", SLEEP)
    assert next(iter(job.messages()))
    tree = processes(box) | set(box.zygotes)
    for pid in box.zygotes:
        os.kill(pid, signal.SIGKILL)
    outcome = job.wait()
    assert outcome.verdict in ("error", "signal:SIGKILL"), outcome
    assert until(lambda: not any(map(lives, tree)))
    assert works(box)


def test_a_zygote_is_recycled_without_hurting_its_jobs(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    running = box.start("python", b"emit({}, b'')\nimport time\ntime.sleep(.6)\nprint('done')")
    before = box.zygotes
    monkeypatch.setattr(launcher, "RECYCLE_AFTER", 1)
    assert works(box)
    assert box.zygotes != before
    assert running.wait().stdout == b"done\n"
    assert until(lambda: not box._retired)


SUPERVISOR = """
import sys
sys.path[:0] = {path!r}
from sandbox.launcher import Sandbox
box = Sandbox({mode!r}, profiles=("python",))
job = box.start("python", b"emit({{}}, b'')\\nimport time\\ntime.sleep(60)")
next(iter(job.messages()))
print("ready", flush=True)
job.wait()
"""


@pytest.mark.parametrize("mode", ["strong", "weak"])
def test_nothing_outlives_a_killed_supervisor(planted: object, mode: str) -> None:
    code = SUPERVISOR.format(path=fork_server.import_path(), mode=mode)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"ready\n"
        tree = descendants(supervisor.pid)
        assert len(tree) >= 3
        supervisor.kill()
    assert until(lambda: not any(map(lives, tree))), tree


def test_closing_ends_jobs_and_refuses_new_ones(planted: object) -> None:
    box = Sandbox("auto", profiles=("python",))
    job = box.start("python", SLEEP)
    tree = processes(box) | set(box.zygotes)
    box.close()
    box.close()
    assert job.wait().verdict == "cancelled"
    assert not any(map(lives, tree))
    with pytest.raises(SandboxUnavailable, match="closed"):
        box.start("python", b"")


@pytest.mark.parametrize(
    ("options", "word"),
    [({"mode": "none"}, "mode"), ({"profiles": ()}, "profiles"), ({"profiles": ("python", "shell")}, "shell")],
)
def test_bad_options_are_named(options: dict[str, object], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        Sandbox(**options)  # type: ignore[arg-type]


def test_unknown_kind_is_named(box: Sandbox) -> None:
    with pytest.raises(ValueError, match="shell"):
        box.start("shell", b"")


def test_a_module_that_fails_to_import_is_the_reason(planted: object) -> None:
    with pytest.raises(SandboxUnavailable, match="no_such_module"):
        Sandbox("auto", profiles=("python",), preload=("no_such_module",))


def test_a_module_that_starts_a_thread_is_refused(
    planted: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "threaded.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(9,)).start()"
    )
    paths = [*fork_server.import_path(), str(tmp_path)]
    monkeypatch.setattr(fork_server, "import_path", lambda: paths)
    with pytest.raises(SandboxUnavailable, match="started a thread"):
        Sandbox("auto", profiles=("python",), preload=("threaded",))
