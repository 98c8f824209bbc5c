"""Attacks in Python: each runs as a job of the sandbox's Python profile, beside a job that it must not touch."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cli.attacks.corpus import Attack, demand
from cli.attacks.house import House
from cli.attacks.planted import CANARY, Planted
from sandbox.launcher import Job, JobLimits, JobOutcome, Sandbox
from sandbox.profiles import readable_paths

LIMITS = JobLimits(wall=60, cpu=20, memory=512 << 20, output=1 << 16, result=16 << 20, log=1 << 20)
_NEXT_JOB_SECONDS = 2.0
_FREE_KILOBYTES = 1 << 20


@dataclass(frozen=True)
class Scene:
    """One attack, how it ended, all that it said on every channel, and the house as it was before."""

    attack: Attack
    house: House
    sibling: Job
    repeat: Callable[[], tuple[JobOutcome, bytes]]
    outcome: JobOutcome
    said: bytes


# Each check raises GotThrough.


def _next_job_works(scene: Scene) -> None:
    began = time.monotonic()
    job = scene.house.box.start("python", b"print(6 * 7); emit({'a': [1]}, b'x')")
    messages = list(job.messages())
    outcome = job.wait()
    right = (outcome.verdict, outcome.stdout, messages) == ("ok", b"42\n", [({"a": [1]}, b"x")])
    demand(right, f"the next job ended with {outcome.verdict}: {outcome.detail}")
    demand(time.monotonic() - began < _NEXT_JOB_SECONDS, "the next job was late")


def _standard(scene: Scene, weak: bool) -> None:
    scene.house.nothing_said(scene.said)
    scene.house.nobody_left()
    _next_job_works(scene)
    scene.house.zygotes_live()
    demand(not scene.sibling.over, "the job beside it died")
    scene.house.no_new_file()
    scene.attack.judge(scene.outcome.verdict, weak)


def _few_files_found(scene: Scene) -> None:
    # The packages that jobs may read count too where they lie below a folder that the attack walks.
    walked = ("/app/", "/srv/", "/opt/", "/var/", "/home/", "/root/", "/run/", "/etc/", "/tmp/", "/data/")
    own = [path for path in readable_paths("python", strong=True) if path.startswith(walked)]
    readable = sum(len(files) for path in own for _, _, files in os.walk(path))
    found = scene.said.split()
    demand(found and found[-1].isdigit() and int(found[-1]) < 50 + readable, f"files found: {scene.said[:500]!r}")


def _no_socket_inherited(scene: Scene) -> None:
    demand(set(scene.said.split()) <= {b"3", b"fifo"}, f"descriptors: {scene.said[:500]!r}")


def _no_kernel_file_opened(scene: Scene) -> None:
    opened = {line.split()[1] for line in scene.said.splitlines() if line.startswith(b"OPEN")}
    demand(opened <= {b"/proc/mounts"}, f"opened {opened}")


def _no_service_module(scene: Scene) -> None:
    demand(b" importable" not in scene.said, "the broker's client can be imported")
    hits = set(re.findall(rb"'([^']+)'", scene.said.split(b"\n")[0]))
    demand(hits <= {f"{Path(os.__file__).parent}/asyncio/tasks.py".encode()}, f"found {hits}")


def _room_unchanged(scene: Scene) -> None:
    scene.house.room_unchanged()


def _memory_left(scene: Scene) -> None:
    free = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    demand(free is not None and int(free[1]) > _FREE_KILOBYTES, "the machine's memory is used up")


def _no_family_opens(scene: Scene) -> None:
    demand(b"OPEN" not in scene.said, f"opened: {scene.said[:500]!r}")


def _output_bounded(scene: Scene) -> None:
    demand(len(scene.outcome.stdout) + len(scene.outcome.stderr) <= LIMITS.output, "more output than the limit")


def _told_invalid(scene: Scene) -> None:
    invalid = scene.outcome.verdict == "error" and "invalid message" in scene.outcome.detail
    demand(invalid, f"an invalid result ended as {scene.outcome.verdict}: {scene.outcome.detail}")


def _nothing_unpickled(scene: Scene) -> None:
    demand(not Path("/tmp/PWNED_pickle").exists(), "a pickle was loaded")


def _repeat_differs(scene: Scene) -> None:
    first, second = scene.outcome.stdout.split(), scene.repeat()[0].stdout.split()
    demand(len(first) == len(second) == 2, f"it said {first} and {second}")
    demand(not set(first) & set(second), "two jobs share a generator's state")


CHECKS: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "std": (),
    "n small; no canary": (_few_files_found,),
    "no socket but the protocol ends": (_no_socket_inherited,),
    "none of kcore, mem, disk, net/tcp opens": (_no_kernel_file_opened,),
    "no service module readable": (_no_service_module,),
    "run beside a job whose source holds CANARY": (),
    "worker answers; no hang": (),
    "mknod and chown fail": (),
    "host df -i unchanged after": (_room_unchanged,),
    "host df unchanged after": (_room_unchanged,),
    "none opens": (_no_family_opens,),
    "no process left 1 s after the verdict; the next job starts in time": (),
    "no process left": (),
    "worker, zygote and a sibling job live": (),
    "host keeps > 1 GiB free; the worker is not the OOM victim": (_memory_left,),
    "whole tree dead": (),
    "response size bounded; broker message bounded": (_output_bounded,),
    "shown inert in web UI, CLI and logs": (),
    "valid JSON comes back; Redis/DB row stored": (),
    "rendered isolated": (),
    "worker alive; job marked invalid result": (_told_invalid,),
    "no unpickling anywhere: /tmp/PWNED_pickle absent on the host": (_nothing_unpickled,),
    "logs quote user text": (),
    "next job prints": (),
    "outputs differ": (_repeat_differs,),
    "known: note in the threat model; restart the zygote now and then": (),
}
"""A corpus's words about a row → what is demanded beyond the standard. Showing text inert is the page's test."""
_NEED_PROC = (_few_files_found, _no_service_module, _repeat_differs)
"""What these read says nothing where weak mode ended the attack before it could look."""


@contextmanager
def beside(box: Sandbox) -> Iterator[Job]:
    """A job that runs on while others attack; its source and memory hold the canary."""
    source = f"# {CANARY}\nemit({{}}, b'')\nimport time\nsecret = '{CANARY}'\ntime.sleep(3600)"
    job = box.start("python", source.encode(), limits=JobLimits(wall=3600))
    next(iter(job.messages()))
    try:
        yield job
    finally:
        job.cancel()
        job.wait()


def attempt(box: Sandbox, attack: Attack) -> tuple[JobOutcome, bytes]:
    """How the attack ended, and what it said."""
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


def play(attack: Attack, box: Sandbox, sibling: Job, planted: Planted) -> str:
    """The verdict of an attack that was held. Raises GotThrough."""
    house = House.seen(box, planted)
    outcome, said = attempt(box, attack)
    scene = Scene(attack, house, sibling, lambda: attempt(box, attack), outcome, said)
    weak = not box.report.namespaces
    _standard(scene, weak)
    ended_early = weak and outcome.verdict == "error" and "error" not in attack.expect
    for check in CHECKS.get(attack.check, ()):
        if not (ended_early and check in _NEED_PROC):
            check(scene)
    return outcome.verdict
