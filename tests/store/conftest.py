"""Fixtures of the service."""

from tests.service.harness import (  # noqa: F401
    broker,
    claims,
    client,
    empty_database,
    one_server,
    processes,
    served,
    settings,
)
