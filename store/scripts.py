"""The Lua scripts that change the state of runs; each is one atomic step. See lua/ for what they do."""

from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "lua"


def load(client: Any, name: str) -> Any:
    """The script as a callable(keys=[…], args=[…]); awaitable on an asynchronous client."""
    return client.register_script((_FOLDER / f"{name}.lua").read_text())
