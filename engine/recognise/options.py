"""Options of CuPy's raw kernels, which are NVRTC's, as those of a request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_STANDARDS = ("c++11", "c++14", "c++17", "c++20")
_DEFINE = re.compile(r"(?P<name>[A-Za-z_]\w{0,63})(?:=(?P<value>[^\x00-\x1f\x7f]{0,200}))?")
_HARMLESS = ("lineinfo", "G", "device-debug", "default-device-off", "w")


def options_of(given: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The fields of protocol.source.Options, and the options that have none."""
    fields: dict[str, Any] = {}
    defines: list[dict[str, str]] = []
    left: list[str] = []
    words = [word for text in given for word in text.split()]
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        name, equals, value = word.lstrip("-").partition("=")
        if word in ("-D", "--define-macro", "-std", "--std", "--maxrregcount", "-maxrregcount") and position < len(
            words
        ):
            name, equals, value = word.lstrip("-"), "=", words[position]
            position += 1
        if word.startswith("-D") and word != "-D":
            name, equals, value = "D", "=", word[2:]
        if name in ("D", "define-macro") and (match := _DEFINE.fullmatch(value)):
            defines.append({"name": match["name"], "value": match["value"] or "1"})
        elif name == "std" and value in _STANDARDS:
            fields["standard"] = value
        elif name in ("use_fast_math", "use-fast-math"):
            fields["fast_math"] = value != "false"
        elif name == "fmad" and equals:
            fields["fmad"] = value != "false"
        elif name == "maxrregcount" and value.isdigit() and 16 <= int(value) <= 255:
            fields["max_registers"] = int(value)
        elif name == "default-device":
            fields["default_device"] = True
        elif name not in _HARMLESS:
            left.append(word)
    if defines:
        fields["defines"] = tuple(defines[:32])
    return fields, left
