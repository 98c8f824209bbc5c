"""The version of this release, as pyproject.toml states it, and of its database."""

VERSION = "0.1.0"

REVISION = "0001"
"""The newest of migrations/versions, so that neither a start nor readiness need load Alembic."""
