"""Every limit has its verdict, in both modes, and the next job finds a clean house."""

import pytest

from sandbox.launcher import JobLimits, JobOutcome, Sandbox
from sandbox.limits import RULES
from sandbox.profiles import readable_paths

MIB = 1 << 20
SPIN = "while True: pass"


def run(box: Sandbox, source: str, **limits: float) -> JobOutcome:
    return box.start("python", source.encode(), limits=JobLimits(**{"wall": 60, "cpu": 20, **limits})).wait()  # type: ignore[arg-type]


ROWS = [
    ("ok", "print('hi')", {}),
    ("ok", "raise SystemExit(0)", {}),
    ("error", "raise SystemExit(3)", {}),
    ("error", "raise SystemExit('no')", {}),
    ("error", "1/0", {}),
    ("error", "def f(:", {}),
    ("limit:wall", "import time; time.sleep(60)", {"wall": 0.3}),
    ("limit:wall", "import os, time\nfor fd in range(5): os.close(fd) if fd < 4 else 0\ntime.sleep(60)", {"wall": 0.3}),
    ("limit:wall", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", {"wall": 0.3}),
    ("limit:wall", "import time\nwhile True: print('.', end='', flush=True); time.sleep(.02)", {"wall": 0.3}),
    ("limit:wall", SPIN, {"wall": 0.3}),
    ("limit:cpu", SPIN, {"cpu": 1}),
    ("limit:cpu", f"import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n{SPIN}", {"cpu": 1}),
    (
        "limit:cpu",
        "import threading, zlib\nd = bytes(1 << 20)\ndef f():\n  while True: zlib.crc32(d)\n"
        "for _ in range(4): threading.Thread(target=f).start()\nf()",
        {"cpu": 1},
    ),
    ("limit:memory", "b = []\nwhile True: b.append(bytearray(16 << 20))", {"memory": 128 * MIB}),
    ("limit:memory", "b = []\nwhile True: b.append(bytes([1]) * (1 << 20))", {"memory": 128 * MIB}),
    ("limit:output", "while True: print('A' * 1000)", {"output": 100_000}),
    ("limit:output", "import os\nwhile True: os.write(2, b'E' * 65536)", {"output": 100_000}),
    ("limit:output", "import sys; sys.stdout.write('B' * (50 << 20))", {"output": 100_000}),
    ("limit:log", "while True: emit({'text': 'x' * 1000}, b'')", {"log": 100_000}),
    ("limit:result", "while True: emit({}, bytes(1 << 20))", {"result": 4 * MIB}),
    ("limit:result", "emit({}, bytes(5 << 20))", {"result": 4 * MIB}),
    ("limit:result", "while True: emit({}, b'')", {"frames": 50}),
    (
        "limit:pids",
        "import threading, time\nwhile True:\n  try: threading.Thread(target=time.sleep, args=(9,)).start()\n"
        "  except RuntimeError: time.sleep(9)",
        {"pids": 12},
    ),
    ("signal:SIGSEGV", "import ctypes; ctypes.string_at(0)", {}),
    ("signal:SIGABRT", "import os; os.abort()", {}),
    ("signal:SIGKILL", "import os; os.kill(os.getpid(), 9)", {}),
    ("error", "import os\nwhile True: os.write(RESULT_FD, b'x' * 65536)", {}),
    ("error", "import os; os.write(RESULT_FD, b'x')", {}),
    (
        "error",
        "import os, json; d = b'[' * 100000; os.write(RESULT_FD, len(d).to_bytes(4, 'little') + bytes(4) + d)",
        {},
    ),
    ("ok", "import os\nl = []\ntry:\n  while True: l.append(os.dup(1))\nexcept OSError: pass\nassert len(l) < 64", {}),
]

STRONG_ROWS = [
    ("limit:files", "open('x', 'wb').write(b'x' * (9 << 20))", {"scratch": 8 * MIB}),
    ("limit:files", "for n in range(9): open(f'x{n}', 'wb').write(b'x' * (1 << 20))", {"scratch": 8 * MIB}),
    ("limit:files", "for n in range(200): open(f'x{n}', 'w').close()", {"scratch_files": 100}),
    ("ok", "import os; open('y', 'w').write('y'); assert 'y' in os.listdir('.')", {}),
]


def check(box: Sandbox, verdict: str, source: str, limits: dict[str, float]) -> None:
    outcome = run(box, source, **limits)
    assert outcome.verdict == verdict, outcome
    if verdict.startswith("limit:"):
        named = next(rule for rule in RULES if rule.verdict == verdict)
        values = [limits[name] for name in named.fields if name in limits]
        assert any(f"{value:,}" in outcome.detail or f"{value:g} s" in outcome.detail for value in values), outcome
    assert len(outcome.stdout) + len(outcome.stderr) <= limits.get("output", JobLimits().output)
    after = run(box, "print(6 * 7)")
    assert (after.verdict, after.stdout) == ("ok", b"42\n"), after


@pytest.mark.parametrize(("verdict", "source", "limits"), ROWS)
def test_verdict(box: Sandbox, verdict: str, source: str, limits: dict[str, float]) -> None:
    check(box, verdict, source, limits)


def test_a_tmp_of_its_own(strong: Sandbox) -> None:
    """Below /tmp the checkout itself has to show there: then jobs write to their own folder alone."""
    inside = any(path.startswith("/tmp/") for path in readable_paths("python", strong=True))
    source = (
        "import os\n"
        "try: open('/tmp/x', 'w').write('x')\n"
        "except OSError: print('refused')\n"
        "else: print(os.listdir('/tmp'))"
    )
    outcome = run(strong, source)
    assert (outcome.verdict, outcome.stdout) == ("ok", b"refused\n" if inside else b"['x']\n"), outcome


@pytest.mark.parametrize(("verdict", "source", "limits"), STRONG_ROWS)
def test_verdict_of_scratch(strong: Sandbox, verdict: str, source: str, limits: dict[str, float]) -> None:
    check(strong, verdict, source, limits)


def test_weak_mode_has_nowhere_to_write(weak: Sandbox) -> None:
    outcome = run(
        weak, "for p in ('/tmp/x', 'x', '/dev/shm/x'):\n  try: open(p, 'w'); print('wrote', p)\n  except OSError: pass"
    )
    assert (outcome.verdict, outcome.stdout) == ("ok", b"")


def test_memory_without_a_cgroup_has_the_same_verdict(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "_cgroups", None)
    for source in (
        "b = []\nwhile True: b.append(bytearray(4 << 20))",
        "import mmap\nm = mmap.mmap(-1, 512 << 20)\nfor i in range(0, 512 << 20, 4096): m[i] = 1",
    ):
        check(box, "limit:memory", source, {"memory": 128 * MIB})
    assert run(box, "b = bytearray(60 << 20)", memory=128 * MIB).verdict == "ok"


def test_every_field_has_a_rule() -> None:
    named = {name for rule in RULES for name in rule.fields}
    assert named == set(JobLimits.__dataclass_fields__)


@pytest.mark.parametrize("field", ["wall", "cpu", "memory", "frames"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_limits_must_be_positive(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        JobLimits(**{field: value})  # type: ignore[arg-type]


def test_cpu_and_memory_are_accounted(strong: Sandbox) -> None:
    outcome = run(strong, "b = bytearray(50 << 20)\nimport time\nwhile time.process_time() < .3: pass")
    assert 0.25 < outcome.cpu_seconds < 1
    assert outcome.max_rss > 50 * MIB
    killed = run(strong, SPIN, wall=0.4)
    assert killed.cpu_seconds > 0.02
    assert killed.max_rss > 5 * MIB
