"""The version of this release, as pyproject.toml states it, and of its database."""

VERSION = "0.1.0"

REVISION = "0002"
"""The newest of migrations/versions, so that neither a start nor readiness need load Alembic."""


def newer(release: str) -> bool:
    """True for a release after this one."""
    return _parts(release) > _parts(VERSION)


def _parts(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())
