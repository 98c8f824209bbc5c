"""PTX as a source: what the form learns, what faulty modules are told, and runs that equal those of CUDA C++."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.languages import language
from engine.languages.assembler import module_directives
from engine.languages.compiled import Compiled
from protocol.run import CompileRequest, RunRequest
from protocol.source import Options, Source
from store.examples import read_example
from tests.engine.child_jobs import array, buffer, compiled, launched, ran, request

EXAMPLES = Path(__file__).parent.parent.parent.parent / "examples"
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
ADD = f"""{HEAD}
.visible .entry add(.param .u32 n, .param .u64 .ptr .global .align 4 x, .param .u64 y)
{{
    .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<8>;
    ld.param.u32 %r1, [n];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    ld.global.f32 %f2, [%rd5];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd5], %f3;
DONE:
    ret;
}}
"""


def assembled(text: str, architecture: str = "sm_90", **options: object) -> Compiled:
    source = Source(language="ptx", text=text, file_name="kernel.ptx")
    made = CompileRequest(source=source, architecture=architecture, options=Options.model_validate(options))
    return language("ptx").compile(made)


def entry(parameters: str, body: str, before: str = "") -> str:
    registers = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;"
    return f"{HEAD}{before}.visible .entry k({parameters})\n{{\n{registers}\n{body}\nret;\n}}\n"


LESS = "ld.param.u32 %r1, [p]; setp.lt"
PARAMETERS = {
    "signed by use": (".param .u32 p", f"{LESS}.s32 %p1, %r1, 3;", ("scalar", "int32", 1, False)),
    "unsigned": (".param .u32 p", f"{LESS}.u32 %p1, %r1, 3;", ("scalar", "uint32", 1, False)),
    "float": (".param .f32 p", "ld.param.f32 %f1, [p];", ("scalar", "float32", 1, False)),
    "bits": (".param .b32 p", "ld.param.b32 %f1, [p]; add.f32 %f2, %f1, %f1;", ("scalar", "float32", 1, False)),
    "half": (".param .b16 p", "ld.param.b16 %h1, [p]; add.f16 %h2, %h1, %h1;", ("scalar", "float16", 1, False)),
    "size": (".param .u64 p", "ld.param.u64 %rd1, [p]; setp.lt.u64 %p1, %rd1, 5;", ("scalar", "uint64", 1, False)),
    "unused": (".param .u64 p", "", ("scalar", "uint64", 1, False)),
    "hint": (".param .u64 .ptr .global .align 8 p", "", ("pointer", None, 1, True)),
    "read": (".param .u64 p", "ld.param.u64 %rd1, [p]; ld.global.u8 %r1, [%rd1+3];", ("pointer", "uint8", 1, True)),
    "written": (".param .u64 p", "ld.param.u64 %rd1, [p]; st.f32 [%rd1], %f1;", ("pointer", "float32", 1, False)),
    "added": (".param .u64 p", "ld.param.u64 %rd1, [p]; red.add.u32 [%rd1], 1;", ("pointer", "uint32", 1, False)),
    "float4": (
        ".param .u64 p",
        "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];",
        ("pointer", "float32", 4, True),
    ),
    "loop": (
        ".param .u64 p",
        "ld.param.u64 %rd1, [p]; mov.u64 %rd2, %rd1; L: ld.s32 %r1, [%rd3]; add.s64 %rd3, %rd2, 4; "
        "setp.lt.s32 %p1, %r1, 3; @%p1 bra L;",
        ("pointer", "int32", 1, True),
    ),
    "struct": (".param .align 8 .b8 p[24]", "ld.param.u64 %rd1, [p+8];", ("struct", None, 1, False)),
    "vector": (
        ".param .align 16 .b8 p[16]",
        "ld.param.v4.f32 {%f1, %f2, %f3, %f4}, [p];",
        ("vector", "float32", 4, False),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PARAMETERS)
def test_what_the_code_makes_of_a_parameter(case: str) -> None:
    declaration, body, want = PARAMETERS[case]
    result = assembled(entry(declaration, body))
    assert result.kernel is not None, result.diagnostics
    (parameter,) = result.kernel.entries[0].parameters
    assert parameter.name == "p"
    assert (parameter.kind, parameter.dtype, parameter.components, parameter.const) == want


@dataclass(frozen=True)
class Case:
    text: str
    message: str
    line: int | None
    help: str = ""
    severity: str = "error"
    architecture: str = "sm_90"


MESSAGES = {
    "no PTX": Case("hello", "no .version directive", 1, "begins with .version"),
    "CUDA C++": Case("__global__ void k() {}", "is it PTX?", 1),
    "too new": Case(HEAD.replace("8.0", "99.1"), "PTX 99.1 is newer than this assembler, which reads PTX 9.0", 1),
    "odd version": Case(HEAD.replace("8.0", "new"), ".version new is no version", 1),
    "no target": Case(".version 8.0\n", "no .target directive", 1, ".target sm_90"),
    "odd target": Case(HEAD.replace("sm_80", "gfx90"), "names no architecture", 2),
    "later target": Case(HEAD.replace("sm_80", "sm_100"), "is for sm_100, and the architecture", 2, "lower .target"),
    "own target": Case(HEAD.replace("sm_80", "sm_90a"), "is for sm_90a", 2, "Choose sm_90 ", architecture="sm_100"),
    "32 bits": Case(HEAD.replace("64\n", "32\n"), "64-bit", 3, ".address_size 64"),
    "no kernel": Case(f"{HEAD}.func f() {{ ret; }}", "defines no kernel", 4, ".entry"),
    "unknown register": Case(entry("", "mov.u32 %r1, %tix.x;"), "Unknown symbol '%tix'", 7),
    "unknown instruction": Case(entry("", "\n\nfrobnicate.u32 %r1, %r2;"), "frobnicate", 9),
    "wrong type": Case(entry("", "add.u33 %r1, %r1, %r1;"), ".u33", 7),
    "no semicolon": Case(entry("", "mov.u32 %r1, 1\nmov.u32 %r2, 2;"), "syntax error", 8),
    "undefined function": Case(
        entry("", "call f;", before=".extern .func f();\n"), "f is declared and used, but nowhere defined", 8, "alone"
    ),
    "defined twice": Case(entry("", "") + ".visible .entry k() { ret; }", "Duplicate definition of function 'k'", 10),
    "wide characters": Case(entry("", "// größer\nmov.u32 %r1, %tix;"), "Unknown symbol '%tix'", 8),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_what_a_faulty_module_is_told(case: str) -> None:
    want = MESSAGES[case]
    result = assembled(want.text, want.architecture)
    found = [item for item in result.diagnostics if want.message in item.message]
    assert found, [item.message for item in result.diagnostics]
    assert found[0].severity == want.severity
    assert (found[0].span.line if found[0].span else None) == want.line
    assert want.help in (found[0].help or "")
    assert result.kernel is None


def test_options_that_only_a_compiler_has_are_named() -> None:
    given = {"fast_math": True, "fmad": False, "standard": "c++20", "max_registers": 32}
    result = assembled(ADD, **given)
    assert {item.field for item in result.diagnostics} == {"options.fast_math", "options.fmad", "options.standard"}
    assert all(item.severity == "warning" for item in result.diagnostics)
    assert result.kernel is not None


def test_limits_that_the_module_sets_are_known() -> None:
    text = entry(".param .u64 p", "", before=".shared .b8 s[4096];\n").replace("\n{\n", "\n.maxntid 64, 2, 1\n{\n")
    resources = assembled(text).kernel.entries[0].resources  # type: ignore[union-attr]
    assert resources.max_threads_per_block == 128
    assert assembled(ADD, max_registers=16).kernel.entries[0].resources.registers <= 16  # type: ignore[union-attr]


def test_directives_are_not_taken_from_comments_and_texts() -> None:
    text = '// .version 1.0\n/* .target sm_10\n*/.version 8.1\n.file 1 ".target sm_20"\n.target sm_75, debug\n'
    found = module_directives(text)
    assert {name: (item.value, item.line) for name, item in found.items()} == {
        "version": ("8.1", 3),
        "target": ("sm_75, debug", 5),
    }


def of_cuda(run: RunRequest, ptx: str) -> RunRequest:
    """The run with its kernel's PTX as the source: arguments by place, because their names are gone."""
    whole = run.model_dump(mode="json")
    whole["source"] = {"language": "ptx", "text": ptx, "file_name": "kernel.ptx"}
    return RunRequest.model_validate_json(_unnamed(whole))


def _unnamed(whole: dict[str, Any]) -> str:
    def walk(steps: list[dict[str, Any]]) -> None:
        for step in steps:
            for argument in step.get("arguments", ()):
                argument["name"] = None
            walk(step.get("steps", []))

    walk(whole["steps"])
    return json.dumps(whole)


@pytest.mark.parametrize("name", ["vector-add", "matmul-tiled", "histogram", "reduction", "nbody", "softmax"])
def test_the_ptx_of_an_example_is_the_same_kernel(name: str) -> None:
    """Parameters, resources and results are those of the CUDA C++ that the PTX was compiled from."""
    run = read_example(EXAMPLES / f"{name}.cu").payload.request
    first = language("cuda-c++").compile(CompileRequest(source=run.source)).kernel
    assert first is not None
    again = assembled(first.ptx)
    assert again.kernel is not None
    assert again.diagnostics == ()
    for mine, own in zip(again.kernel.entries, first.entries, strict=True):
        assert mine.resources == own.resources
        for found, want in zip(mine.parameters, own.parameters, strict=True):
            assert (found.kind, found.bytes, found.offset, found.components) == (
                *(want.kind, want.bytes, want.offset, want.components),
            )
            assert found.const == want.const
            assert found.dtype == want.dtype
    whole = of_cuda(run, first.ptx)
    one, other = ran(run), ran(whole)
    assert one.buffers
    if name == "reduction":
        # Blocks add to the total in any order, so that its last bits may differ from run to run.
        totals = [np.frombuffer(each.buffers["total"], np.float32) for each in (one, other)]
        np.testing.assert_allclose(*totals, rtol=1e-5)
    else:
        assert one.buffers == other.buffers


def add(n: int, text: str = ADD, **fields: Any) -> RunRequest:
    return request(
        text,
        buffers=[buffer("x", "float32", 64, "in", kind="arange"), buffer("y", "float32", 64, kind="full", value=1)],
        steps=[
            {
                "kind": "launch",
                "config": {"grid": [4], "block": [32]},
                "arguments": [
                    {"kind": "scalar", "name": "n", "value": n},
                    {"kind": "buffer", "name": "x", "buffer": "x"},
                    {"kind": "buffer", "name": "y", "buffer": "y"},
                ],
            }
        ],
        **fields,
    ).model_copy(update={"source": Source(language="ptx", text=text, file_name="kernel.ptx")})


def test_faults_and_findings_stand_at_lines_of_the_module() -> None:
    """Whatever .loc says: it tells of a file that is not here."""
    lines = ADD.splitlines()
    text = ADD.replace("    ld.global.f32 %f1", "    .loc 1 500 3\n    ld.global.f32 %f1") + '.file 1 "other.cu"\n'
    for source, line in ((ADD, lines.index("    ld.global.f32 %f1, [%rd4];") + 1), (text, None)):
        run = add(100, source)
        job = launched(run, compiled(run))
        (found,) = job.kind("found")
        assert "x[64], one past the end of x" in found["message"]
        assert found["span"]["line"] == (line or source.splitlines().index("    ld.global.f32 %f1, [%rd4];") + 1)
    run = add(64)
    assert array(ran(run), "y", "float32").tolist() == [1.0 + index for index in range(64)]


def test_what_the_emulator_cannot_run_is_told_at_its_line() -> None:
    """The assembler takes it, so that a GPU may run it."""
    alien = "    vadd.s32.s32.s32 %r5, %r5, %r5;"
    text = ADD.replace("    add.f32 %f3", f"{alien}\n    add.f32 %f3")
    job = compiled(add(64, text))
    told = [event["diagnostic"] for event in job.kind("diagnosed") if event["diagnostic"]["severity"] == "error"]
    assert [(item["span"]["line"], item["origin"]) for item in told] == [
        (text.splitlines().index(alien) + 1, "emulator")
    ]
    assert "cubin" in job.artifacts


PIECES = ("", "}", "{", '"', ')ptx"', "*/", "/*", "\\", "$", "%%", "é", ".param", "[", "\n")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_text_makes_the_compile_step_fail(data: st.DataObject) -> None:
    """A module with pieces cut, repeated and replaced is compiled or told of, at a line that it has."""
    text = ADD
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 30)))
        text = text[:start] + data.draw(st.sampled_from(PIECES)) + text[end:]
    if not text.strip():
        return
    result = assembled(text)
    count = text.count("\n") + 1
    assert result.kernel is not None or any(item.severity == "error" for item in result.diagnostics)
    assert all(item.span is None or 1 <= item.span.line <= count for item in result.diagnostics)
