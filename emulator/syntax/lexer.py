"""Cuts PTX text into tokens with their lines."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

# One alternative a kind of token, the frequent ones first; comments and line ends are kept, because they count lines.
_TOKEN = re.compile(
    r"""[ \t\r]*+([.A-Za-z_$%][\w$.%]*+(?:::[\w$.]+)*+|[,;\[\](){}]|\n"""
    r"""|0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?"""
    r"""|\d+\.\d*(?:[eE][+-]?\d+)?|\d+(?:[eE][+-]\d+)|\d+U?"""
    r"""|"(?:[^"\\\n]|\\.)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)|[^\s])""",
    re.DOTALL,
)

END = ""  # the token after the last
SENTINELS = 4


@dataclass(frozen=True, slots=True)
class Tokens:
    """Parallel lists; both end with sentinels, so that looking a few tokens ahead is always legal."""

    texts: list[str]
    lines: list[int]


def tokenize(text: str) -> Tokens:
    texts: list[str] = []
    lines: list[int] = []
    line = 1
    for token in _TOKEN.findall(text):
        if token == "\n":
            line += 1
        elif token[0] == "/" and token[1:2] in ("/", "*"):
            line += token.count("\n")
        else:
            texts.append(token)
            lines.append(line)
    texts += [END] * SENTINELS
    lines += [line] * SENTINELS
    return Tokens(texts, lines)


def is_number(token: str) -> bool:
    return token[:1].isdigit()


def number(token: str) -> tuple[int, int | None]:
    """The value of a number token: (integer, None), or (bits, width) of a floating-point constant.

    Raises ValueError where the digits are no number of PTX.
    """
    head = token[:2]
    if head in ("0f", "0F") and len(token) == 10:
        return int(token[2:], 16), 32
    if head in ("0d", "0D") and len(token) == 18:
        return int(token[2:], 16), 64
    digits = token.rstrip("U")
    if head in ("0x", "0X", "0b", "0B"):
        return int(digits, 0), None
    if "." in digits or "e" in digits or "E" in digits:
        return int.from_bytes(struct.pack("<d", float(digits)), "little"), 64
    if len(digits) > 1 and digits[0] == "0":
        return int(digits, 8), None
    if len(digits) > 40:
        raise ValueError("too many digits")
    return int(digits), None
