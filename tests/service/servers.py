"""Redis and PostgreSQL servers of the system, started for a test on loopback and ended with it."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis

from tests.service.harness import wait_for

INSTALL = "apt-get install -y --no-install-recommends redis-server postgresql"
ACCOUNT = "postgres"
"""Who runs PostgreSQL where the tests run as root: it refuses to."""


def redis_binary() -> str | None:
    return shutil.which("redis-server")


def postgres_folder() -> Path | None:
    """Of initdb and postgres; Debian keeps them beside the PATH, by version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class RedisServer:
    """TCP with a password, an append-only file that is written before each answer."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://:secret@127.0.0.1:{self.port}/3"

    def start(self) -> None:
        binary = redis_binary()
        assert binary is not None, f"there is no redis-server: {INSTALL}"
        self.process = subprocess.Popen(
            [
                *(binary, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)),
                *("--save", "", "--appendonly", "yes", "--appendfsync", "always", "--requirepass", "secret"),
                *("--maxmemory-policy", "noeviction", "--loglevel", "warning"),
            ],
            stdout=subprocess.DEVNULL,
        )
        with redis.Redis.from_url(self.url) as client:
            wait_for(lambda: _answers(client))

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


@dataclass
class PostgresServer:
    """TCP with a password, in a fresh cluster."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://warpyard:secret@127.0.0.1:{self.port}/postgres"

    def create(self) -> None:
        secret = self.folder / "secret"
        secret.write_text("secret")
        (self.folder / "log").touch()
        if os.geteuid() == 0:
            for path in (self.folder, secret, self.folder / "log"):
                shutil.chown(path, ACCOUNT, ACCOUNT)
        done = subprocess.run(
            [
                *(*_as_postgres(), _binary("initdb"), "--pgdata", str(self.folder / "data"), "--username", "warpyard"),
                *("--pwfile", str(secret), "--auth", "scram-sha-256", "--encoding", "UTF8", "--no-sync"),
            ],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(*_as_postgres(), _binary("postgres"), "-D", str(self.folder / "data"), "-p", str(self.port)),
                    *("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.folder}"),
                    *("-c", "shared_buffers=16MB", "-c", "max_connections=60"),
                ],
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        wait_for(self._accepts, 30, 0.05)

    def stop(self) -> None:
        """At once, with every connection broken, as in a restart of the machine."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
            self.process = None

    def _accepts(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


def _binary(name: str) -> str:
    folder = postgres_folder()
    assert folder is not None, f"there is no PostgreSQL: {INSTALL}"
    return str(folder / name)


def _as_postgres() -> tuple[str, ...]:
    return ("setpriv", "--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups", "--") if os.geteuid() == 0 else ()


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    server = RedisServer(folder, free_port())
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def postgres_server(folder: Path) -> Iterator[PostgresServer]:
    server = PostgresServer(folder, free_port())
    server.create()
    server.start()
    try:
        yield server
    finally:
        server.stop()
