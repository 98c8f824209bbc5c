"""The supervisor's side of one zygote process."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox import control, linux
from sandbox.cgroup import Cgroups, JobCgroup
from sandbox.gpus import Gpu
from sandbox.limits import SPARE_GPU_SEATS, SPARE_SEATS, START_TIMEOUT
from sandbox.profiles import DEVICES, PROFILES, import_path, installed_packages, readable_paths

_BOOTSTRAP = "import sys; sys.path[:0] = sys.argv[2:]; from sandbox.zygote import main; main(int(sys.argv[1]))"

_HANDSHAKE_TIMEOUT = 10.0

_ENVIRONMENT = {
    "PATH": "/usr/bin",
    "LANG": "C.UTF-8",
    # A zygote must stay at one thread.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # Nor may whatever else is installed be imported into it.
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
}


class ZygoteFailed(Exception):
    """A zygote did not come up; the text is its own reason. `walls`: the walls failed, not the code behind them."""

    def __init__(self, reason: str, walls: bool) -> None:
        super().__init__(reason)
        self.walls = walls


@dataclass(frozen=True, slots=True)
class Seat:
    """A waiting init: its status socket, its pidfd, its cgroup."""

    status: socket.socket
    pidfd: int
    cgroup: JobCgroup | None

    def leave(self) -> None:
        """Give the seat up: its init reads the end of the socket and goes."""
        self.status.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)
        if self.cgroup is not None:
            self.cgroup.close()


class ForkServer:
    """A zygote for some kinds of job. It holds no secret: an empty environment and no descriptor but its channel."""

    def __init__(
        self,
        kinds: Sequence[str],
        strong: bool,
        drop_to: int | None,
        preload: Sequence[str],
        gpu: Gpu | None = None,
    ) -> None:
        """Start the process; `wait_ready` tells how that went. `drop_to`: a uid for weak mode under root.

        `gpu`: what jobs of these kinds get, where they run on a GPU.
        """
        self.kinds = tuple(kinds)
        self._ahead = any(PROFILES[kind].gpu for kind in kinds)
        self.spare_seats = SPARE_GPU_SEATS if self._ahead else SPARE_SEATS
        gpu = gpu if self._ahead else None
        self.served = self.active = 0
        self.retired = False
        self.spares: list[Seat] = []
        self.timings: dict[str, float] = {}
        self._began = time.perf_counter()
        self.channel, theirs = control.pair()
        try:
            self.process = subprocess.Popen(
                self.command(theirs.fileno()),
                pass_fds=[theirs.fileno()],
                env=_ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt from the terminal is for the supervisor alone
            )
        except BaseException:
            self.channel.close()
            raise
        finally:
            theirs.close()
        driver = (*gpu.libraries, *gpu.facts) if gpu else ()
        settings = {
            "strong": strong,
            "drop_to": drop_to,
            "preload": list(preload),
            "readable": {kind: [*readable_paths(kind, strong), *driver] for kind in kinds},
            "covered": installed_packages(),
            "devices": DEVICES,
            "driven": gpu.nodes if gpu else (),
            "libraries": gpu.libraries[:1] if gpu else (),
        }
        control.send(self.channel, settings)

    def command(self, descriptor: int) -> list[str]:
        flags = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
        return [sys.executable, *flags, "-c", _BOOTSTRAP, str(descriptor), *import_path()]

    def wait_ready(self) -> None:
        """Raises ZygoteFailed with the zygote's reason, or that there was none in time."""
        self.channel.settimeout(START_TIMEOUT)
        try:
            message, _ = control.receive(self.channel)
        except TimeoutError:
            message = {"error": f"no answer within {START_TIMEOUT:g} s"}
        finally:
            self.channel.settimeout(None)
        if message is None:
            message = {"error": f"it ended with code {self.process.wait()} without a word"}
        if "error" in message:
            self.close()
            raise ZygoteFailed(str(message["error"]), bool(message.get("walls")))
        self.timings = {key: value for key, value in message.items() if key.endswith("_ms")}
        self.timings["start_ms"] = (time.perf_counter() - self._began) * 1e3

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def seat(self, cgroups: Cgroups | None) -> Seat:
        """A job's init, in a cgroup of its own, that waits for its job. Raises OSError if there is none to have.

        Joining a cgroup takes the kernel 5 to 15 ms (it waits for every core to take note): seats are made ahead.
        """
        ours, theirs = control.pair()
        pidfd, cgroup = -1, None
        try:
            with theirs:
                control.send(self.channel, {"fork": True}, [theirs.fileno()])
            ours.settimeout(_HANDSHAKE_TIMEOUT)
            answer, handles = control.receive(ours)
            ours.settimeout(None)
            if answer is None or "error" in answer:
                raise OSError(answer["error"] if answer else "the zygote is gone")
            pidfd = handles[0]
            if cgroups is not None:
                cgroup = cgroups.create()
                cgroup.add(linux.pid_of(pidfd))
            if self._ahead:
                control.send(ours, {"begin": True})
        except BaseException:
            Seat(ours, pidfd, cgroup).leave()
            raise
        return Seat(ours, pidfd, cgroup)

    def close(self) -> None:
        """End the zygote and with it every job that it still has."""
        while self.spares:
            self.spares.pop().leave()
        self.channel.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            self.process.wait()
