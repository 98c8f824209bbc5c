"""Assembles PTX to a CUBIN by the assembler inside NVRTC, which has no other way in: no driver, no further library.

NVRTC copies the text of an asm statement into the PTX of its function as it is. A text that closes that function,
holds a module and opens another function therefore puts the module, unchanged, in front of the assembler
(docs/decisions/0005-ptx-through-nvrtc.md).
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.languages.cubin import CubinEntry, constant_bytes, read_entries
from engine.languages.nvrtc import nvrtc
from engine.languages.nvrtc_log import AssemblerMessage, Report, assembler_messages, resource_reports

_HEAD, _TAIL = "__warpyard_head", "__warpyard_tail"
_BEFORE = "ret;\n}\n"
_BEGIN = "// begin inline asm"
_WORD = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<string>"(?:[^"\\\n]|\\.)*"?)'
    r"|(?P<directive>(?<![\w.$%])\.(?P<name>version|target|address_size)[ \t\r\n]+"
    r"(?P<value>[\w.]+(?:[ \t]*,[ \t\r\n]*\w+)*))",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Directive:
    """A .version, .target or .address_size of a module: its value as written, and the line, from 1."""

    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Assembled:
    """`messages` name lines of the PTX that was given; the CUBIN is empty where the assembler refused it."""

    cubin: bytes
    messages: tuple[AssemblerMessage, ...]
    entries: tuple[CubinEntry, ...] = ()
    reports: Mapping[str, Report] = dataclasses.field(default_factory=dict)
    constant_bytes: int = 0


def module_directives(ptx: str) -> dict[str, Directive]:
    """The first directive of each name."""
    found: dict[str, Directive] = {}
    for match in _WORD.finditer(ptx):
        if match["directive"]:
            line = ptx.count("\n", 0, match.start()) + 1
            found.setdefault(match["name"], Directive(match["value"].strip(), line))
    return found


@functools.cache
def newest_version() -> tuple[int, int]:
    """The newest PTX that this assembler reads: what its own compiler writes."""
    match = re.search(r"^\.version (\d+)\.(\d+)", _empty_module(), re.MULTILINE)
    assert match is not None, "NVRTC's PTX begins with its version"
    return int(match[1]), int(match[2])


def assemble(ptx: str, architecture: str, max_registers: int | None = None) -> Assembled:
    """A CUBIN for `architecture` (sm_90, sm_90a). The module's own .version and .target have no say: check them."""
    options = [f"-arch={architecture}", "-Xptxas=-v", "-no-cache"]
    if max_registers is not None:
        options.append(f"-maxrregcount={max_registers}")
    result = nvrtc().compile(_wrapped(ptx), "ptx.cu", options, {})
    first = _first_line()
    messages = [
        dataclasses.replace(item, ptx_line=max(item.ptx_line - first + 1, 0)) for item in assembler_messages(result.log)
    ]
    if not result.ok:
        if not any(item.severity == "error" for item in messages):
            messages.append(AssemblerMessage("error", result.log.strip()[:2000]))
        return Assembled(b"", tuple(messages))
    return Assembled(
        result.cubin,
        tuple(messages),
        tuple(item for item in read_entries(result.cubin) if item.name != _HEAD),
        resource_reports(result.log),
        constant_bytes(result.cubin),
    )


def _wrapped(ptx: str) -> bytes:
    """The program whose PTX holds the module. Comments and the directives that only begin a module are blanked."""
    plain = _WORD.sub(_blanked, ptx).replace("\r\n", "\n")
    fence = "ptx"
    while f'){fence}"' in plain:
        fence += "x"
    text = f"{_BEFORE}{plain}\n.func {_TAIL}() {{"
    return f'extern "C" __global__ void {_HEAD}() {{ asm volatile(R"{fence}({text}){fence}"); }}\n'.encode()


def _blanked(match: re.Match[str]) -> str:
    return match[0] if match["string"] else re.sub(r"[^\n]", " ", match[0])


@functools.cache
def _empty_module() -> str:
    """The PTX in which an empty module lies."""
    result = nvrtc().compile(_wrapped(""), "ptx.cu", ["-arch=compute_90", "-no-cache"], {})
    return result.ptx


@functools.cache
def _first_line() -> int:
    """The line of the assembler's input on which a module begins."""
    before = _empty_module().partition(_BEGIN)[0]
    return before.count("\n") + 2 + _BEFORE.count("\n")
