"""Every setting of the service, read from WARPYARD_* and from REDIS_URL, DATABASE_URL and BLOB_URL."""

import hashlib
import os
import re
import secrets
import tempfile
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import AliasChoices, Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MIB, GIB = 1 << 20, 1 << 30
MAX_SOCKET_PATH = 100
"""Bytes; the kernel's own limit is 108 on Linux and 104 on macOS."""

_ROOT = Path(__file__).resolve().parent.parent
Positive = Annotated[int, Field(ge=1)]
PositiveSeconds = Annotated[float, Field(gt=0)]


def _data_dir() -> Path:
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "warpyard"


def _url(name: str) -> AliasChoices:
    return AliasChoices(f"WARPYARD_{name}", name)


class Settings(BaseSettings):
    """Sizes in bytes, times in seconds. An empty URL means the built-in service in `data_dir`."""

    model_config = SettingsConfigDict(env_prefix="WARPYARD_", extra="ignore", frozen=True, populate_by_name=True)

    data_dir: Path = Field(default_factory=_data_dir)
    redis_url: str = Field(default="", validation_alias=_url("REDIS_URL"))
    """redis://, rediss:// or unix://; empty: the embedded Valkey on `socket_path`."""
    database_url: str = Field(default="", validation_alias=_url("DATABASE_URL"))
    """postgresql://… or sqlite:///…; empty: SQLite in `data_dir`."""
    blob_url: str = Field(default="", validation_alias=_url("BLOB_URL"))
    """file:/folder, or redis: for blobs in REDIS_URL; empty: a folder in `data_dir`."""

    secret: str = ""
    """Signs cookies; empty: one is made and kept in `data_dir`. Several hosts that serve one instance share it."""

    page_dir: Path = _ROOT / "frontend" / "dist"
    examples_dir: Path = _ROOT / "examples"

    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Host names, beyond localhost and IP addresses, under which the service answers; comma-separated."""

    embed_ancestors: Annotated[tuple[str, ...], NoDecode] = ()
    """Sites that may show /embed pages in a frame, such as https://blog.example; comma-separated, all where empty."""

    max_body_bytes: Positive = 4 * MIB
    max_upload_bytes: Positive = 64 * MIB
    max_download_bytes: Positive = 2 * GIB
    queue_cap: Positive = 1000
    """Runs that may wait in one queue."""
    queue_bytes: Positive = 256 * MIB
    """Bytes of the requests of all runs that are not finished."""
    inspect_cap: Positive = 64
    """Compilations that may wait at once."""
    inspect_timeout: PositiveSeconds = 30.0
    waiting_per_client: Positive = 32
    """Runs of one client that may wait in one queue."""
    waiting_per_network: Positive = 600
    """Runs of all clients of one address, which may be a whole class's: others always have the rest of the queue."""
    sessions_per_second: PositiveSeconds = 5.0
    sessions_burst: Positive = 400
    """Sessions that one address may begin; what it asks beyond that without a cookie counts as one client."""
    gpu_seconds_per_day: Annotated[float, Field(ge=0)] = 0.0
    """Of GPU jobs, a client and day (UTC); 0: no limit."""
    runs_per_second: PositiveSeconds = 2.0
    runs_burst: Positive = 30
    """A client's token bucket for POST /api/runs and /api/shares."""
    compiles_per_second: PositiveSeconds = 5.0
    compiles_burst: Positive = 40
    max_streams: Positive = 1000
    """Event streams that one process serves at once."""
    max_streams_per_client: Positive = 100
    idempotency_seconds: Positive = 24 * 3600

    lease_seconds: PositiveSeconds = 10.0
    """How long a silent worker keeps its run."""
    max_attempts: Positive = 3
    """Workers that one run may lose before it ends with verdict error."""
    reap_interval: PositiveSeconds = 2.0
    orphan_grace: PositiveSeconds = 5.0
    """How long a run may be out of the queue and without a worker."""
    stream_seconds: Positive = 120
    """How long the events of a finished run stay in Redis; the database keeps them after that."""
    worker_ttl: PositiveSeconds = 15.0
    """How long a silent worker counts as live."""
    start_patience: Annotated[float, Field(ge=0)] = 0.0
    """How long after its start the API lets runs and compilations wait for its first worker; `serve` sets 30."""

    run_wall_seconds: PositiveSeconds = 10.0
    compile_wall_seconds: PositiveSeconds = 20.0
    job_memory_bytes: Positive = 2 * GIB
    gpu_without_namespaces: bool = False
    """Runs on a GPU also where isolation is weak: a GPU's driver is then reached without namespaces around it."""

    blob_cap_bytes: Positive = 4 * GIB
    """Result buffers and uploads together; the least recently used go first. Uploads of shares stay outside."""
    blob_ttl_seconds: Positive = 24 * 3600
    """Of blobs in Redis."""
    cache_cap_bytes: Positive = GIB
    run_days: Positive = 30
    """Finished runs are deleted after so many days; shares never are."""

    log_format: Literal["json", "console"] = "console"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @field_validator("embed_ancestors")
    @classmethod
    def _sites(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for site in value:
            if not re.fullmatch(r"https?://[a-z0-9*.\-]+(:\d+)?", site):
                raise ValueError(f"{site} is no site: write it as https://blog.example")
        return value

    @field_validator("allowed_hosts", "embed_ancestors", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(host.strip().lower() for host in value.split(",") if host.strip())
        return value

    @cached_property
    def socket_path(self) -> Path:
        """Where the embedded Valkey listens; in a private folder of the temporary directory if the path is long."""
        path = self.data_dir.absolute() / "valkey.sock"
        if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
            return path
        short = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        return Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"warpyard-{os.getuid()}-{short}.sock"

    @property
    def redis(self) -> str:
        """For redis-py."""
        return self.redis_url or f"unix://{self.socket_path}"

    @property
    def broker(self) -> str:
        """For kombu, which spells unix sockets in its own way."""
        parts = urlsplit(self.redis)
        if parts.scheme != "unix":
            return self.redis
        database = dict(item.split("=", 1) for item in parts.query.split("&") if "=" in item).get("db", "0")
        return f"redis+socket://{parts.path}?virtual_host={database}"

    @property
    def database(self) -> str:
        """With the asynchronous driver."""
        url = self.database_url or f"sqlite:///{self.data_dir.absolute() / 'warpyard.db'}"
        return _with_driver(url, {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"})

    @property
    def database_blocking(self) -> str:
        """With the blocking driver, for workers."""
        return _with_driver(self.database, {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"})

    @property
    def blobs(self) -> str:
        return self.blob_url or f"file:{self.data_dir.absolute() / 'blobs'}"

    def signing_secret(self) -> str:
        """`secret`, or the one in the data folder, which is made when it is asked for first. Raises OSError."""
        if self.secret:
            return self.secret
        path = self.data_dir / "secret"
        with suppress(FileExistsError):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_hex(32))
        return path.read_text()

    def prepare(self) -> None:
        """Makes the data folder, readable by its owner alone."""
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)


def _with_driver(url: str, drivers: dict[str, str]) -> str:
    scheme, rest = url.split(":", 1)
    kind = scheme.split("+", 1)[0]
    kind = "postgresql" if kind == "postgres" else kind
    if kind not in drivers:
        raise ValueError(f"DATABASE_URL begins with {scheme}: use postgresql:// or sqlite:///")
    return f"{drivers[kind]}:{rest}"


def shown(url: str) -> str:
    """A URL without its password, for logs and reasons."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    host = parts.netloc.rsplit("@", 1)[-1]
    return urlunsplit(parts._replace(netloc=f"{parts.username or ''}:***@{host}"))
