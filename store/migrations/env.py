"""Runs the revisions on an asynchronous connection to the database that store.migrate names."""

import asyncio

from alembic import context
from sqlalchemy import Connection, pool
from sqlalchemy.ext.asyncio import create_async_engine

from store.tables import Base


def _migrate(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        compare_type=True,
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()


async def _online() -> None:
    engine = create_async_engine(context.config.attributes["url"], poolclass=pool.NullPool)
    async with engine.connect() as connection:
        await connection.run_sync(_migrate)
        await connection.commit()
    await engine.dispose()


if context.is_offline_mode():
    context.configure(
        url=context.config.attributes["url"],
        target_metadata=Base.metadata,
        literal_binds=True,
        dialect_opts={"paramstyle": "named"},
    )
    with context.begin_transaction():
        context.run_migrations()
else:
    asyncio.run(_online())
