"""Readers of what the compiler writes: whatever the bytes are, a description or a plain error comes out."""

from __future__ import annotations

import random
import re

import pytest

from engine.languages.cubin import BadCubin, read_entries
from engine.languages.dwarf import BadDwarf, read_debug_info
from engine.languages.headers import HEADERS
from engine.languages.names import display_name, qualified_parts, same_expression
from engine.languages.nvrtc import include_folders, nvrtc
from engine.languages.nvrtc_options import compiler_options, debug_options
from engine.languages.parameters import ParameterReader
from engine.languages.ptx_lines import PtxLines, SourceLine
from protocol.source import Options

TEXT = b"""#include <cuda_fp16.h>
struct Body { float3 at; const char *name; };
template <class T> __device__ T twice(T a) {
  return a + a;
}
__global__ void k(const half *h, Body b, int (*f)(int), unsigned n) {
  b.at.x = twice(n);
  ((float *)h)[0] = b.at.x;
}
"""


@pytest.fixture(scope="module")
def cubin() -> bytes:
    return nvrtc().compile(TEXT, "k.cu", compiler_options(Options(), "sm_90", include_folders()), HEADERS).cubin


@pytest.fixture(scope="module")
def debug_ptx() -> str:
    return nvrtc().compile(TEXT, "k.cu", debug_options(Options(), "sm_90", include_folders()), HEADERS).ptx


def test_damaged_cubins(cubin: bytes) -> None:
    assert [len(entry.parameters) for entry in read_entries(cubin)] == [4]
    generator = random.Random(1)
    refused = 0
    for _ in range(500):
        damaged = bytearray(cubin)
        for _ in range(generator.randint(1, 8)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        try:
            read_entries(bytes(damaged[: generator.choice((len(damaged), generator.randrange(len(damaged))))]))
        except BadCubin:
            refused += 1
    assert 0 < refused < 500


def test_damaged_debug_information(debug_ptx: str) -> None:
    layout = ((0, 8), (8, 24), (32, 8), (40, 4))
    numbers = [match.span(1) for match in re.finditer(r"^\.b8 (\d+)$", debug_ptx, re.MULTILINE)]
    generator = random.Random(1)
    outcomes = {"described": 0, "unknown": 0, "refused": 0}
    for _ in range(300):
        start, end = generator.choice(numbers)
        damaged = f"{debug_ptx[:start]}{generator.randrange(256)}{debug_ptx[end:]}"
        try:
            reader = ParameterReader(read_debug_info(damaged))
        except BadDwarf:
            outcomes["refused"] += 1
            continue
        found = [reader.parameters(name, layout) for name in reader.functions]
        outcomes["described" if any(found) else "unknown"] += 1
    assert all(outcomes.values()), outcomes


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".section .debug_info\n{\n}",
        "\t.section\t.debug_abbrev\n\t{\n.b8 1\n\t}\n\t.section\t.debug_info\n\t{\n\t}\n",
    ],
)
def test_missing_debug_information(text: str) -> None:
    with pytest.raises(BadDwarf):
        read_debug_info(text)


def test_lines_of_ptx_lead_to_the_source() -> None:
    ptx = nvrtc().compile(TEXT, "k.cu", compiler_options(Options(), "sm_90", include_folders()), HEADERS).ptx
    lines = PtxLines(ptx, "k.cu")
    assert lines.entry("_Z1kPK6__half4BodyPFiiEj") is not None
    store = lines.find("st.global.f32")
    assert store
    assert (lines.source(store) or SourceLine(0, 0)).line == 8
    assert lines.source(1) is None
    assert lines.source(10**9) is not None
    assert lines.find("no such text") == 0
    assert lines.entry("nothing") is None


@pytest.mark.parametrize(
    ("mangled", "parts"),
    [
        ("plain", ["plain"]),
        ("_Z1fi", ["f"]),
        ("_ZL6staticPi", ["static"]),
        ("_Z5scaleIfEvPT_S0_", ["scale"]),
        ("_ZN2ns5scaleIfLi3EEEvPT_PKS1_i", ["ns", "scale"]),
        ("_ZN47_GLOBAL__N__00000000_9_kernel_cu_f216537b_123371kEPi", ["k"]),
        ("_Z99short", ["_Z99short"]),
        ("_Z", ["_Z"]),
    ],
)
def test_qualified_names(mangled: str, parts: list[str]) -> None:
    assert qualified_parts(mangled) == parts


def test_display_names() -> None:
    assert display_name("_ZN2ns5scaleIfEvPT_", "scale<float>") == "ns::scale<float>"
    assert display_name("_Z1kPi", "") == "k"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("scale<float,3>", " scale < float , 3 > ", True),
        ("k(int *)", "k(int*)", True),
        ("::ns::k", "ns::k", True),
        ("s<unsigned int>", "s<unsigned  int>", True),
        ("s<unsigned int>", "s<unsignedint>", False),
        ("k", "K", False),
    ],
)
def test_expressions_are_compared_without_blanks(first: str, second: str, same: bool) -> None:
    assert same_expression(first, second) is same
