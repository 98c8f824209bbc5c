"""Reads the fragments that exports are put together from."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent / "fragments"
_PLACE = re.compile(r"@([A-Z_]+)@")


@cache
def fragment(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def fill_template(text: str, **values: str) -> str:
    """The text with every @NAME@ replaced by its value; what a value holds is not looked at again."""
    return _PLACE.sub(lambda found: values[found[1]], text)
