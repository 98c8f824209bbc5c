"""The order of the tests: those in a browser come last."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Playwright's event loop runs from its first test to the end, and no asyncio.run() works beside it."""
    items.sort(key=lambda item: "playwright" in getattr(item, "fixturenames", ()))
