"""The attack corpus as data, and the closed vocabulary of checks that a run of it must pass."""

from __future__ import annotations

import csv
import dataclasses
import os
import re
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from planted import CANARY, Planted, lives, processes, zygotes

from sandbox.launcher import Job, JobLimits, JobOutcome, Sandbox
from sandbox.profiles import readable_paths

FOLDER = Path(__file__).parent.parent / "data" / "attacks"
LIMITS = JobLimits(wall=60, cpu=20, memory=512 << 20, output=1 << 16, result=16 << 20, log=1 << 20)
_WATCHED = ("/tmp", "/var/tmp", "/dev/shm", "/etc", "/")
_NEXT_JOB_SECONDS = 2.0


@dataclass(frozen=True)
class Attack:
    """One row of attacks.tsv."""

    id: str
    job: str
    file: str
    expect: tuple[str, ...]
    check: str

    @property
    def source(self) -> bytes:
        return (FOLDER / self.file).read_bytes()


def corpus(job: str) -> list[Attack]:
    with (FOLDER / "attacks.tsv").open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            Attack(row["id"], row["job"], row["file"], tuple(row["expect"].split("|")), row["check"])
            for row in rows
            if row["job"] == job
        ]


@dataclass
class Scene:
    """One attack, all that could be seen of it, and the house around it."""

    attack: Attack
    box: Sandbox
    planted: Planted
    sibling: Job
    run: Callable[[], tuple[JobOutcome, bytes]]
    """Repeats the attack: its outcome, and all that it said, on every channel."""
    outcome: JobOutcome
    said: bytes
    processes: set[int]
    files: dict[str, set[str]]
    room: tuple[int, int]
    connections: int
    zygotes: list[int]


def _names(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def listing() -> dict[str, set[str]]:
    return {folder: _names(folder) for folder in _WATCHED if Path(folder).is_dir()}


def room() -> tuple[int, int]:
    """Free bytes and free inodes of the machine's temporary folder."""
    space = os.statvfs("/tmp")
    return space.f_bavail * space.f_frsize, space.f_favail


# Each check raises AssertionError, saying what got through.


def nothing_said(scene: Scene) -> None:
    for word in (b"PWNED", CANARY.encode()):
        assert word not in scene.said, f"{word!r} in {scene.said[:500]!r}"
    assert not re.search(rb"root:[^:\n]*:0:0:.*\n.*daemon:", scene.said), "the machine's passwd file was read"
    assert len(scene.planted.connections) == scene.connections, scene.planted.connections


def nobody_left(scene: Scene) -> None:
    end = time.monotonic() + 1
    while (left := processes(scene.box) - scene.processes) and time.monotonic() < end:
        time.sleep(0.01)
    assert not left, f"processes {left} outlive the job"


def next_job_works(scene: Scene) -> None:
    began = time.monotonic()
    job = scene.box.start("python", b"print(6 * 7); emit({'a': [1]}, b'x')")
    messages = list(job.messages())
    outcome = job.wait()
    assert (outcome.verdict, outcome.stdout, messages) == ("ok", b"42\n", [({"a": [1]}, b"x")]), outcome
    assert time.monotonic() - began < _NEXT_JOB_SECONDS


def house_stands(scene: Scene) -> None:
    assert zygotes(scene.box) == scene.zygotes, "a zygote was replaced"
    assert all(map(lives, scene.zygotes)), "a zygote died"
    assert scene.sibling._outcome is None, f"a sibling job died: {scene.sibling._outcome}"


def no_new_file(scene: Scene) -> None:
    assert not list(scene.planted.folder.glob("*LEFT*"))
    for folder, before in scene.files.items():
        new = {name for name in _names(folder) - before if re.search(r"PWNED|LEFT|^f\d+$|^[sdnhex]$", name)}
        assert not new, f"{new} in {folder}"


def verdict_expected(scene: Scene) -> None:
    kind = "signal" if scene.outcome.verdict.startswith("signal:") else scene.outcome.verdict
    assert "any" in scene.attack.expect or kind in scene.attack.expect, scene.outcome


STANDARD = (nothing_said, nobody_left, next_job_works, house_stands, no_new_file, verdict_expected)


def few_files_found(scene: Scene) -> None:
    # The packages that jobs may read count too where they lie below a folder that the attack walks.
    walked = ("/app/", "/srv/", "/opt/", "/var/", "/home/", "/root/", "/run/", "/etc/", "/tmp/", "/data/")
    own = [path for path in readable_paths("python", strong=True) if path.startswith(walked)]
    readable = sum(len(files) for path in own for _, _, files in os.walk(path))
    assert int(scene.said.split()[-1]) < 50 + readable, scene.said


def no_socket_inherited(scene: Scene) -> None:
    assert set(scene.said.split()) <= {b"3", b"fifo"}, scene.said


def no_kernel_file_opened(scene: Scene) -> None:
    opened = {line.split()[1] for line in scene.said.splitlines() if line.startswith(b"OPEN")}
    assert opened <= {b"/proc/mounts"}, opened


def no_service_module(scene: Scene) -> None:
    assert b" importable" not in scene.said
    hits = re.findall(rb"'([^']+)'", scene.said.split(b"\n")[0])
    assert set(hits) <= {f"{Path(os.__file__).parent}/asyncio/tasks.py".encode()}, hits


def room_unchanged(scene: Scene) -> None:
    before_bytes, before_files = scene.room
    now_bytes, now_files = room()
    assert before_bytes - now_bytes < 2 << 30
    assert before_files - now_files < 100_000


def memory_left(scene: Scene) -> None:
    free = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    assert free is not None
    assert int(free[1]) > 1 << 20


def no_family_opens(scene: Scene) -> None:
    assert b"OPEN" not in scene.said, scene.said


def output_bounded(scene: Scene) -> None:
    assert len(scene.outcome.stdout) + len(scene.outcome.stderr) <= LIMITS.output


def told_invalid(scene: Scene) -> None:
    assert scene.outcome.verdict == "error", scene.outcome
    assert "invalid message" in scene.outcome.detail


def nothing_unpickled(scene: Scene) -> None:
    assert not Path("/tmp/PWNED_pickle").exists()


def repeat_differs(scene: Scene) -> None:
    first = scene.outcome.stdout.split()
    second = scene.run()[0].stdout.split()
    assert len(first) == len(second) == 2
    assert not set(first) & set(second), "two jobs share a generator's state"


CHECKS: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "std": (),
    "n small; no canary": (few_files_found,),
    "no socket but the protocol ends": (no_socket_inherited,),
    "none of kcore, mem, disk, net/tcp opens": (no_kernel_file_opened,),
    "no service module readable": (no_service_module,),
    "run beside a job whose source holds CANARY": (),
    "worker answers; no hang": (),
    "mknod and chown fail": (),
    "host df -i unchanged after": (room_unchanged,),
    "host df unchanged after": (room_unchanged,),
    "none opens": (no_family_opens,),
    "no process left 1 s after the verdict; the next job starts in time": (),
    "no process left": (),
    "worker, zygote and a sibling job live": (),
    "host keeps > 1 GiB free; the worker is not the OOM victim": (memory_left,),
    "whole tree dead": (),
    "response size bounded; broker message bounded": (output_bounded,),
    "shown inert in web UI, CLI and logs": (),
    "valid JSON comes back; Redis/DB row stored": (),
    "rendered isolated": (),
    "worker alive; job marked invalid result": (told_invalid,),
    "no unpickling anywhere: /tmp/PWNED_pickle absent on the host": (nothing_unpickled,),
    "logs quote user text": (),
    "next job prints": (),
    "outputs differ": (repeat_differs,),
    "known: note in the threat model; restart the zygote now and then": (),
}
"""The corpus's words about a row → what is asserted beyond `STANDARD`. Showing text inert is the page's test."""


def sibling_in(box: Sandbox) -> Generator[Job]:
    """A job that runs on while others attack; its source and memory hold the canary."""
    source = b"# CANARY\nemit({}, b'')\nimport time\nsecret = 'CANARY'\ntime.sleep(600)"
    job = box.start("python", source, limits=JobLimits(wall=600))
    next(iter(job.messages()))
    try:
        yield job
    finally:
        job.cancel()
        job.wait()


def attempt(box: Sandbox, attack: Attack) -> tuple[JobOutcome, bytes]:
    # Short only where a limit is an expected end: no verdict may hang on how busy this machine is.
    limits = LIMITS
    if "limit:cpu" in attack.expect:
        limits = dataclasses.replace(limits, cpu=1)
    if "limit:wall" in attack.expect:
        limits = dataclasses.replace(limits, wall=1.5)
    job = box.start("python", attack.source, limits=limits)
    messages = list(job.messages())
    outcome = job.wait()
    said = b"\n".join([outcome.stdout, outcome.stderr, outcome.detail.encode(), repr(messages).encode()])
    return outcome, outcome.stdout if not (outcome.stderr or messages) else said


def play(attack: Attack, box: Sandbox, sibling: Job, planted: Planted) -> None:
    before = (processes(box), listing(), room(), len(planted.connections), zygotes(box))
    outcome, said = attempt(box, attack)
    scene = Scene(attack, box, planted, sibling, lambda: attempt(box, attack), outcome, said, *before)
    for check in (*STANDARD, *CHECKS[attack.check]):
        check(scene)


PYTHON = corpus("py")
