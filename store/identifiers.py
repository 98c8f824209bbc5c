"""Random ids of 64 bits in base58: 11 characters, safe in a URL and when read aloud."""

import re
import secrets
from typing import Annotated

from pydantic import StringConstraints

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
LENGTH = 11
PATTERN = f"^[{ALPHABET}]{{{LENGTH}}}$"

Identifier = Annotated[str, StringConstraints(pattern=PATTERN)]


def base58(number: int) -> str:
    """`number` (below 2^64), padded to 11 digits."""
    digits = ""
    for _ in range(LENGTH):
        number, digit = divmod(number, 58)
        digits = ALPHABET[digit] + digits
    if number:
        raise ValueError("base58 takes numbers below 58^11")
    return digits


def new_id() -> str:
    return base58(secrets.randbits(64))


def is_id(text: str) -> bool:
    return re.fullmatch(PATTERN[1:-1], text) is not None
