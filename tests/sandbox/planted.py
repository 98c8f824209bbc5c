"""What an attack could find or touch around a sandbox: planted before it starts, inspected afterwards."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sandbox import linux
from sandbox.launcher import Sandbox
from sandbox.limits import SPARE_SEATS

CANARY = "CANARY"
PORTS = (6379, 8000, 8080)
_SECRETS = {
    "REDIS_URL": f"redis://:{CANARY}@127.0.0.1:6379/0",
    "CELERY_BROKER_URL": f"redis://:{CANARY}@127.0.0.1:6379/1",
    "SECRET": CANARY,
}


@dataclass
class Planted:
    """`connections` are those that any of our listeners saw."""

    folder: Path
    connections: list[str] = field(default_factory=list)


@contextlib.contextmanager
def plant(folder: Path) -> Iterator[Planted]:
    """Secrets in this process's environment, a .env in its working folder, listeners on loopback."""
    here = Planted(folder)
    before, environment = Path.cwd(), os.environ.copy()
    (folder / ".env").write_text(f"SECRET={CANARY}\n")
    (folder / "settings.py").write_text(f"SECRET = '{CANARY}'\n")
    os.chdir(folder)
    os.environ.update(_SECRETS)
    with contextlib.ExitStack() as stack:
        for port in PORTS:
            listener = stack.enter_context(socket.socket())
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue  # somebody's real service: the attack itself tells if it gets through to it
            listener.listen()
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
            threading.Thread(target=_record, args=(listener, port, here), daemon=True).start()
        try:
            yield here
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)


def _record(listener: socket.socket, port: int, here: Planted) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        here.connections.append(f"port {port}")
        with contextlib.suppress(OSError):
            connection.sendall(f"{CANARY}\r\n".encode())
        connection.close()


def descendants(pid: int) -> set[int]:
    """All living processes below `pid`."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}/task")
        try:
            children = {int(child) for task in process.iterdir() for child in (task / "children").read_text().split()}
        except (FileNotFoundError, ProcessLookupError):
            continue
        waiting += children - found
        found |= children
    return found


def lives(pid: int) -> bool:
    """Whether that process still runs; one that only waits for its parent to take note does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def zygotes(box: Sandbox) -> list[int]:
    return [server.process.pid for server in box._servers.values()]


def processes(box: Sandbox) -> set[int]:
    """Living processes of zygotes and jobs, without the inits that wait for a next job; looks when all of them wait."""
    servers = box._servers.values()
    end = time.monotonic() + 1
    while any(len(server.spares) < SPARE_SEATS for server in servers) and time.monotonic() < end:
        time.sleep(0.005)
    waiting = {linux.pid_of(seat.pidfd) for server in servers for seat in server.spares}
    return {child for pid in zygotes(box) for child in descendants(pid) if lives(child)} - waiting
