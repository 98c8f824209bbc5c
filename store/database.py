"""Engines for the database: SQLite in WAL mode or Postgres, asynchronous for the API and blocking for workers."""

from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from store.settings import Settings

_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "busy_timeout=5000",
    "foreign_keys=ON",
    "temp_store=MEMORY",
)


def _set_pragmas(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def open_database(settings: Settings) -> AsyncEngine:
    """For the API."""
    url = settings.database
    if url.startswith("sqlite"):
        engine = create_async_engine(url, pool_size=4, max_overflow=0)
        event.listen(engine.sync_engine, "connect", _set_pragmas)
        return engine
    return create_async_engine(url, pool_size=10, max_overflow=10, pool_pre_ping=True)


def open_database_blocking(settings: Settings) -> Engine:
    """For workers and for what the API does in a thread."""
    url = settings.database_blocking
    if url.startswith("sqlite"):
        engine = create_engine(url, pool_size=2, max_overflow=2)
        event.listen(engine, "connect", _set_pragmas)
        return engine
    return create_engine(url, pool_size=2, max_overflow=4, pool_pre_ping=True)
