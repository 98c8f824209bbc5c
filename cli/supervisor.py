"""One server: broker, migrations, API and workers as children; kept up, and ended in order within three seconds."""

import fcntl
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import FrameType

from cli import broker as brokers
from cli.database import brought_up_to_date
from cli.processes import Child, Order, adopt_orphans, end_orphans
from cli.usage import Refused
from sandbox.gpus import CONTROL, NoGpu, find_gpus
from store.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
BACKLOG = 2048
READY_SECONDS = 60.0
START_PATIENCE = 30
"""Seconds in which the API lets runs wait for workers that are still starting."""
WORKER_NICE = 5
"""Kernels that are emulated take every processor: the page and the compiler behind it go first."""
GRACE = 2.0
"""Seconds that API and workers get for their end."""
BROKER_GRACE = 0.7
NONE_YET = "no worker "
"""What /readyz begins with of the workers before they are up; anything else is why they refuse."""
HOPELESS = 5
"""Ends in a row, before the page was ever up, after which the start is given up."""


@dataclass(frozen=True)
class Place:
    host: str
    port: int
    workers: int
    verbose: bool


class Supervisor:
    """Starts everything, tells `say` what happens, and returns from `run` when all has ended."""

    def __init__(self, settings: Settings, place: Place, say: Callable[[str], None]) -> None:
        self._settings, self._place, self._say = settings, place, say
        self._stopping = False
        self._children: list[Child] = []
        self._broker: Child | None = None
        self._environment = {
            "WARPYARD_START_PATIENCE": str(START_PATIENCE),
            **os.environ,
            "WARPYARD_DATA_DIR": str(settings.data_dir.absolute()),
        }
        self._begin = time.monotonic()

    def run(self) -> int:
        """The exit code. Raises Refused where the folder or the port is taken, or the start fails."""
        choice = brokers.choose(self._settings)
        self._settings.prepare()
        with locked(self._settings.data_dir), listening(self._place.host, self._place.port) as listener:
            adopt_orphans()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, self._stop)
            try:
                self._start(choice, listener)
                self._wait_for_page(listener, choice)
                self._wait_for_workers(listener)
                for device in gpu_devices(self._say):
                    self._children.append(self._child(device.replace(":", "-"), worker_command(device, 1)))
                while not self._stopping:
                    self._keep_up()
                    time.sleep(0.1)
            finally:
                self._end()
        return 0

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _start(self, choice: brokers.Broker, listener: socket.socket) -> None:
        with brought_up_to_date(self._settings, self._environment):
            if choice.command:
                broker = self._broker = self._child("broker", choice.command, on_our_death=signal.SIGTERM)
                if not brokers.wait_until_it_answers(self._settings, lambda: broker.ended is not None):
                    raise Refused(f"{choice.description} does not start:\n{broker.last_lines()}", code=1)
            else:
                brokers.check_url(self._settings)
        self._children.append(
            self._child("api", api_command(listener.fileno(), self._place.host), (listener.fileno(),))
        )
        self._children.append(self._child("compiler", worker_command("compile", 1)))
        self._children.append(self._child("worker", worker_command("emulator", self._place.workers), nice=WORKER_NICE))

    def _child(
        self,
        name: str,
        command: tuple[str, ...],
        sockets: tuple[int, ...] = (),
        on_our_death: signal.Signals = signal.SIGKILL,
        nice: int = 0,
    ) -> Child:
        log = None if self._place.verbose else self._settings.data_dir / "logs" / f"{name}.log"
        child = Child(Order(name, command, self._environment, ROOT, sockets, on_our_death, nice), log)
        child.start()
        return child

    def _keep_up(self) -> None:
        for child in self._all():
            told = child.keep_up()
            if told:
                self._say(told)

    def _all(self) -> Iterator[Child]:
        if self._broker is not None:
            yield self._broker
        yield from self._children

    def _wait_for_page(self, listener: socket.socket, choice: brokers.Broker) -> None:
        """Until the page answers, which is before the workers do: runs of the first second wait for them."""
        host, port = listener.getsockname()[:2]
        if self._first_readiness(host, port, lambda said: said is not None) is None:
            return
        seconds = time.monotonic() - self._begin
        self._say(f"Warpyard is at {_address(host, port)}   (up after {seconds:.1f} s; Ctrl+C ends it)")
        slots = f"{self._place.workers} run{'s' if self._place.workers > 1 else ''} at a time"
        self._say(f"{slots} · {choice.description} · data in {self._settings.data_dir}")
        if host not in ("127.0.0.1", "::1"):
            self._say("other machines can reach it, and there is no password: put a proxy in front of a public one")

    def _wait_for_workers(self, listener: socket.socket) -> None:
        host, port = listener.getsockname()[:2]
        refusal = self._first_readiness(host, port, lambda said: said is not None and not said.startswith(NONE_YET))
        if refusal:
            self._say(f"no kernel can be run: {refusal}\nAsk: warpyard doctor")

    def _first_readiness(self, host: str, port: int, wanted: Callable[[str | None], bool]) -> str | None:
        """What `readiness` says once that is `wanted`; None where we are to stop. Raises Refused."""
        deadline = time.monotonic() + READY_SECONDS
        while not self._stopping:
            said = readiness(host, port)
            if wanted(said):
                return said
            self._keep_up()
            failed = next((child for child in self._all() if child.failures >= HOPELESS), None)
            if failed is not None:
                raise Refused(f"{failed.order.name} does not start:\n{failed.last_lines()}", code=1)
            if time.monotonic() > deadline:
                what = "the page does not answer" if said is None else said
                raise Refused(f"{what}; the logs are in {self._settings.data_dir / 'logs'}", code=1)
            time.sleep(0.03)
        return None

    def _end(self) -> None:
        """API and workers first, so that what they still tell reaches the broker; then the broker; then the rest."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _end_together(self._children, GRACE)
        if self._broker is not None:
            _end_together([self._broker], BROKER_GRACE)
        end_orphans(time.monotonic() + 1.0)


def api_command(descriptor: int, host: str) -> tuple[str, ...]:
    """The HTTP server on a socket that we listen on already: a restart loses no connection."""
    return (sys.executable, "-m", "app", "--fd", str(descriptor), "--host", host)


def worker_command(queues: str, slots: int) -> tuple[str, ...]:
    """A worker for these queues with so many jobs at once. Compilations of the page never wait behind runs."""
    return (sys.executable, "-m", "worker", "--queues", queues, "--slots", str(slots))


def gpu_devices(say: Callable[[str], None]) -> tuple[str, ...]:
    """One device for each model of GPU here, such as gpu:h200. `say` is told why a GPU that is here is not used."""
    if not Path(CONTROL[0]).exists():
        return ()
    try:
        return tuple(dict.fromkeys(gpu.device for gpu in find_gpus()))
    except NoGpu as error:
        say(f"the GPU is not used: {error}")
        return ()


def _end_together(children: list[Child], grace: float) -> None:
    for child in children:
        child.signal(signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and any(child.ended is None for child in children):
        time.sleep(0.01)
    for child in children:
        child.kill()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder for this process alone: two brokers on one append-only file would ruin it."""
    path = folder / "supervisor.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            raise Refused(
                f"another Warpyard (process {owner}) uses the data folder {folder}: stop it, or give another --data",
                code=1,
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket, made before anything else so that a taken port is told at once. Raises Refused."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, OverflowError):
        raise Refused(f"--host {host}: no such address on this machine") from None
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise Refused(f"--port {port}: cannot listen on {host}:{port}: {reason}", code=1) from None
        listener.set_inheritable(True)
        yield listener


def readiness(host: str, port: int) -> str | None:
    """'' where runs are taken, what the workers lack or say where only they are missing, None before the page is up."""
    asked = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    connection = HTTPConnection(asked, port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        checks = json.loads(connection.getresponse().read())["checks"]
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None
    finally:
        connection.close()
    wrong = {name: said for name, said in checks.items() if said != "ok"}
    if not wrong:
        return ""
    return wrong["workers"] if set(wrong) == {"workers"} else None


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
