"""What an attack could find or touch around a sandbox: planted before it starts, inspected afterwards."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

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
