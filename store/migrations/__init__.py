"""Alembic's tree of database revisions."""
