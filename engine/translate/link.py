"""Joins modules of PTX: kernels compiled one by one, and CUDA C++ functions that Numba writes for them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from emulator.syntax import parse
from engine.languages.headers import HEADERS
from engine.languages.nvrtc import include_folders, nvrtc

_HEADER = re.compile(r"^[ \t]*\.(?:version|target|address_size)\b[^\n]*$", re.MULTILINE)
_FILE = re.compile(r"^([ \t]*\.file[ \t]+)(\d+)\b", re.MULTILINE)
_LOC = re.compile(r"^([ \t]*\.loc[ \t]+)(\d+)\b", re.MULTILINE)
_INLINED = re.compile(r"(\binlined_at[ \t]+)(\d+)\b")
_WORD = re.compile(r"[A-Za-z_$%][\w$%]*")
_DECLARATION = re.compile(r"^\.extern\s+\.func\b[^;{]*;", re.MULTILINE)
_FILES_OF_ONE = 1000
# What Numba calls of NVIDIA's device runtime, a library of its own; cooperative_groups.h does the same without.
_GRID = {"cudaCGGetIntrinsicHandle": "warpyard_grid_handle", "cudaCGSynchronize": "warpyard_grid_sync"}
_GRID_CODE = """#include <cooperative_groups.h>
extern "C" __device__ unsigned long long warpyard_grid_handle(unsigned int) { return 1; }
extern "C" __device__ unsigned int warpyard_grid_sync(unsigned long long, unsigned int)
{
    cooperative_groups::this_grid().sync();
    return 0;
}
"""
_RESHAPE = "numba_attempt_nocopy_reshape"


class Linked(Exception):
    """The kernel needs code of a kind that cannot be linked to it here."""


def merged(modules: Sequence[str], entries: Collection[str]) -> str:
    """One module; what several define alike gets names of its own in each but the first. `entries` keep theirs."""
    if not modules:
        return ""
    first, *others = modules
    return "\n".join([first, *(_apart(text, number, entries) for number, text in enumerate(others, 1))])


def with_linked_code(ptx: str, files: Collection[Any], architecture: str) -> str:
    """A kernel's PTX with the CUDA C++ that Numba wants linked to it, compiled. Linked."""
    code = importlib.import_module("numba.cuda.cudadrv.linkable_code")
    texts = set()
    for item in files:
        # What Numba would call on a GPU before a launch is only a hint about speed.
        if not isinstance(item, code.CUSource):
            raise Linked("link= takes CUDA C++ as cuda.CUSource only")
        data = item.data
        texts.add(data.decode() if isinstance(data, bytes) else str(data))
    if _RESHAPE in ptx:
        folder = Path(importlib.import_module("numba.cuda.compiler").__file__ or "").parent
        texts.add((folder / "reshape_funcs.cu").read_text())
    if any(name in ptx for name in _GRID):
        ptx = _WORD.sub(lambda match: _GRID.get(match[0], match[0]), ptx)
        texts.add(_GRID_CODE)
    if not texts:
        return ptx
    options = [f"-arch={architecture.replace('sm_', 'compute_')}", "-rdc=true", "-no-cache", "-device-int128"]
    options.append("-D_CG_LIMIT_INCLUDED_DEPENDENCIES")
    options += [f"-I{folder}" for folder in include_folders()]
    made = nvrtc().compile("\n".join(sorted(texts)).encode(), "linked.cu", options, HEADERS)
    if not made.ok:
        raise Linked(f"the CUDA C++ that is linked to the kernel does not compile: {made.log.strip()[:300]}")
    module, _ = parse(made.ptx)
    defined = {name for name, item in module.functions.items() if item.body is not None}
    used = {name for name in defined if name in ptx}
    kernels = _DECLARATION.sub(lambda match: "" if used & {*_WORD.findall(match[0])} else match[0], ptx)
    head = "\n".join(match[0] for match in _HEADER.finditer(ptx))
    return "\n".join([head, _apart(made.ptx, 9, used), _HEADER.sub("", kernels)])


def _apart(text: str, number: int, kept: Collection[str]) -> str:
    """A module's body with names and file numbers of its own."""
    module, _ = parse(text)
    own = {name for name, item in module.functions.items() if item.body is not None}
    own |= {name for name, item in module.variables.items() if not item.extern}
    own -= set(kept)
    names = {name: f"{name}__{number}" for name in own}
    text = _WORD.sub(lambda match: names.get(match[0], match[0]), _HEADER.sub("", text))
    for pattern in (_FILE, _LOC, _INLINED):
        text = pattern.sub(lambda match: f"{match[1]}{int(match[2]) + number * _FILES_OF_ONE}", text)
    return text
