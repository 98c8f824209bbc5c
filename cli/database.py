"""Brings the database up to date before the service starts, in a process beside the start of the broker."""

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cli.usage import Refused
from store.settings import Settings, shown
from store.version import REVISION

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120.0


@contextmanager
def brought_up_to_date(settings: Settings, environment: Mapping[str, str]) -> Iterator[None]:
    """Begins at once, and has ended when the block is left. Raises Refused with what went wrong."""
    try:
        where = shown(settings.database)
    except ValueError as error:
        raise Refused(str(error), code=1) from None
    if is_current(settings):
        yield
        return
    with subprocess.Popen(
        [sys.executable, "-m", "store.migrate"],
        cwd=ROOT,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as migration:
        try:
            yield
            output, _ = migration.communicate(timeout=PATIENCE)
        except BaseException:
            migration.kill()
            raise
    if migration.returncode:
        lines = [line for line in output.splitlines() if line.strip() and not line.startswith("(Background on")]
        reason = lines[-1] if lines else f"code {migration.returncode}"
        raise Refused(f"the database {where} cannot be brought up to date: {reason}", code=1)


def is_current(settings: Settings) -> bool:
    """True where the SQLite file in the data folder is at this release's revision: most starts need no more."""
    path = settings.data_dir / "warpyard.db"
    if settings.database_url or not path.exists():
        return False
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            found: list[tuple[str]] = connection.execute("select version_num from alembic_version").fetchall()
        except sqlite3.Error:
            return False
    return found == [(REVISION,)]
