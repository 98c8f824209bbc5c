"""What users are told about faulty sources: message, line, column, help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.languages import language
from engine.languages.compiled import Compiled
from protocol.diagnostics import Diagnostic
from protocol.run import CompileRequest
from protocol.source import Source

KERNEL = "__global__ void k(int *p) { p[0] = 1; }\n"


def compiled(text: str, *instantiations: str, file_name: str = "kernel.cu", architecture: str = "sm_90") -> Compiled:
    source = Source(text=text, file_name=file_name)
    request = CompileRequest(source=source, architecture=architecture, instantiations=instantiations)
    return language("cuda-c++").compile(request)


@dataclass(frozen=True)
class Case:
    text: str
    message: str
    line: int | None
    column: int | None = None
    end_column: int | None = None
    severity: str = "error"
    origin: str = "compiler"
    help: str = ""
    code: str = ""


CASES = {
    "undefined": Case("__global__ void k(int *p) {\n  p[0] = quux;\n}", 'identifier "quux" is undefined', 2, 10, 14),
    "tabs": Case("__global__ void k(int *p) {\n\t\tp[0] = quux;\n}", 'identifier "quux" is undefined', 2, 10, 14),
    "code points": Case('__global__ void k(int *p) { /* äö😀 */ q; }', 'identifier "q" is undefined', 1, 39, 40),
    "carriage returns": Case("__global__ void k(int *p) {\r\n  q;\r\n}\r\n", 'identifier "q" is undefined', 2, 3, 4),
    "byte order mark": Case("\ufeff__global__ void k(int *p) { q; }", 'identifier "q" is undefined', 1, 30, 31),
    "long line": Case(f"__global__ void k() {{ {' ' * 3000}q; }}", 'identifier "q" is undefined', 1, 3023, 3024),
    "other letters": Case(
        "__global__ void k() { int größe = 1; }", "'ö' (U+00F6) cannot stand here", 1, 29, help="ASCII"
    ),
    "cyrillic": Case("__global__ void k() { int а = 1; }", "'а' (U+0430) cannot stand here", 1, 27),
    "missing semicolon": Case("__global__ void k(int *p) {\n  int a = 3\n  p[0] = a;\n}", 'expected a ";"', 3, 3, 4),
    "unclosed brace": Case("__global__ void k(int *p) {\n  p[0] = 1;\n\n", 'expected a "}"', 2, 12),
    "unclosed comment": Case("__global__ void k() {} /* x", "comment unclosed at end of file", 1, 24),
    "return type": Case("__global__ int k() { return 1; }", "must have a void return type", 1, 1),
    "redefinition": Case(KERNEL + KERNEL, 'function "k" has already been defined', 2, 17, 18),
    "unused": Case(
        "__global__ void k() { int a; }", "declared but never referenced", 1, 27, 28, "warning", code="177-D"
    ),
    "printf format": Case(
        '__global__ void k() { printf("%d", 1.0); }', "incompatible with corresponding", 1, 36, severity="warning"
    ),
    "#error": Case("#error no\n" + KERNEL, "#error directive: no", 1, 2),
    "#warning": Case("#warning hm\n" + KERNEL, "#warning directive: hm", 1, 2, severity="warning"),
    "#pragma message": Case('#pragma message "hello"\n' + KERNEL, '#pragma message: "hello"', 1, severity="note"),
    "line directive": Case('#line 500 "other.cu"\n__global__ void k() { q; }', 'identifier "q"', 2, 23),
    "line marker": Case('# 7 "other.cu" 1\n__global__ void k() { q; }', 'identifier "q"', 2, 23),
    "digraph line": Case('%:line 9 "a"\n__global__ void k() { q; }', 'identifier "q"', 2, 23),
    "spliced line": Case('#li\\\nne 9 "a"\n__global__ void k() { q; }', 'identifier "q"', 3, 23),
    "commented line": Case('/* a */ # /* b\n*/ line 9 "a"\n__global__ void k() { q; }', 'identifier "q"', 3, 23),
    "line in raw string": Case(
        'constexpr char t[] = R"(\n#line 9 "a"\n)";\nstatic_assert(sizeof(t) == 14);\n__global__ void k() { q; }',
        'identifier "q"', 5, 23,
    ),
    "streams": Case("#include <iostream>\n" + KERNEL, "<iostream> does not exist", 1, 10, 20, help="printf"),
    "containers": Case("\n#include <vector>\n" + KERNEL, "<vector> does not exist", 2, 10, 18, help="cuda::std::array"),
    "in libcu++": Case("#include <array>\n" + KERNEL, "<array> of the host's library", 1, help="<cuda/std/array>"),
    "own file": Case('#include "mine.h"\n' + KERNEL, 'cannot open "mine.h"', 1, 10, 18, help="one file"),
    "folder": Case('#include "/dev/null"\n' + KERNEL, 'cannot open "/dev/null"', 1, 10, 21),
    "absolute path": Case('#include "/no/such/file"\n' + KERNEL, 'cannot open "/no/such/file"', 1, 10, 25),
    "thrust": Case("#include <thrust/sort.h>\n" + KERNEL, "<thrust/sort.h> cannot be used", 1, 10, help="cub/block"),
    "itself": Case("#include __FILE__\n" + KERNEL, "includes itself", 1),
    "main": Case(KERNEL + "int main() { return 0; }", "a function of the host", 2, 5, help="launch form"),
    "runtime": Case(
        KERNEL + "__device__ void f(int *p) { cudaMalloc(&p, 4); }", '"cudaMalloc" is', 2, 29, help="launch form"
    ),
    "host variable": Case("int table[3];\n" + KERNEL, "a variable of the host", 1, 5, help="__constant__"),
    "std": Case("__global__ void k(int *p) { *p = std::max(*p, 2); }", 'no member "max"', 1, 39, help="cuda::std"),
    "uint32_t": Case("__global__ void k(uint32_t *p) {}", '"uint32_t" is undefined', 1, 19, help="<cstdint>"),
    "half": Case("__global__ void k(half *p) {}", '"half" is undefined', 1, 19, help="<cuda_fp16.h>"),
    "assembler": Case(
        '__global__ void k(int *p) {\n  int x;\n  asm("bogus.u32 %0, 1;" : "=r"(x));\n  p[0] = x;\n}',
        "Not a name of any known instruction", 3, 3, origin="assembler", help="inline PTX",
    ),
    "assembler letters": Case(
        '__global__ void k(int *p) {\n  asm volatile("ä;");\n}', "non-ASCII character", 2, origin="assembler"
    ),
    "assembler types": Case(
        '__global__ void k(int *p) {\n  int x;\n\n  asm volatile("mov.u64 %0, 1;" : "=r"(x));\n  p[0] = x;\n}',
        "Arguments mismatch for instruction 'mov'", 4, origin="assembler",
    ),
    "shared memory": Case(
        "__global__ void k(int *p) {\n  __shared__ int a[1 << 18];\n  a[*p] = 1;\n  __syncthreads();\n  *p = a[3];\n}",
        "k declares 1,048,576 bytes of shared memory; 49,152", 1, origin="assembler", help="dynamic",
    ),
    "undefined function": Case(
        "namespace n { __device__ int f(int); }\n__global__ void k(int *p) {\n  p[0] = n::f(3);\n}",
        "n::f is declared and called, but nowhere defined", 3, origin="assembler",
    ),
    "no kernel": Case("__device__ int f() { return 1; }", "no kernel that can be launched", 1, code="no-kernel"),
    "template alone": Case(
        "\ntemplate <class T> __global__ void k(T *p) {}", "no kernel of the source is compiled", 2, help="as k<float>."
    ),
    "template of several": Case(
        "template <typename T, int N, bool B, class S = double>\n__global__ void __launch_bounds__(N) g(T *p) {}",
        "no kernel of the source is compiled", 2, help="as g<float, 16, true, double>.",
    ),
    "template in a macro": Case(
        "#define KERNEL template <class T> __global__ void\nKERNEL k(T *p) {}",
        "no kernel of the source is compiled", 1, help="as scale<float>.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_message(name: str) -> None:
    case = CASES[name]
    found = [item for item in compiled(case.text).diagnostics if case.message in item.message]
    assert len(found) == 1, compiled(case.text).diagnostics
    item = found[0]
    assert (item.severity, item.origin, item.file) == (case.severity, case.origin, "")
    assert case.help in (item.help or "")
    assert item.code == case.code or not case.code
    span = item.span
    assert span is not None
    assert span.line == case.line
    assert case.column in (None, span.column)
    assert case.end_column in (None, span.end_column)


def only_error(text: str, *instantiations: str) -> Diagnostic:
    errors = [item for item in compiled(text, *instantiations).diagnostics if item.severity == "error"]
    assert len(errors) == 1, errors
    return errors[0]


def test_template_context_is_labelled() -> None:
    error = only_error(
        "template <class T> __device__ T f(T a) { return a.x; }\n"
        "template <class T> __device__ T g(T a) { return f(a); }\n"
        "__global__ void k(int *p) { p[0] = g(3); }\n"
    )
    assert error.span is not None
    assert (error.span.line, error.span.column) == (1, 49)
    assert [(label.span.line, label.message) for label in error.labels] == [
        (2, 'instantiation of "T f(T) [with T=int]"'),
        (3, 'instantiation of "T g(T) [with T=int]"'),
    ]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("  int a = 3\n\n  p[0] = a;", (2, 11, 12)),
        ("  int a = *p\n  p[0] = a;", (2, 12, 13)),
        ("  int a = 3 // no semicolon\n  p[0] = a;", None),
        ("  int a = 3 p[0] = a;", None),
    ],
)
def test_a_missing_semicolon_is_shown_where_it_belongs(text: str, label: tuple[int, int, int] | None) -> None:
    error = only_error(f"__global__ void k(int *p) {{\n{text}\n}}")
    assert error.message == 'expected a ";"'
    places = [(item.span.line, item.span.column, item.span.end_column) for item in error.labels]
    assert places == ([] if label is None else [label])


def test_candidates_are_labelled() -> None:
    error = only_error(
        "__device__ void f(int a, int *b);\n__device__ void f(float *a);\n__global__ void k() { f(3); }\n"
    )
    assert error.notes == ("argument types are: (int)",)
    assert {label.span.line for label in error.labels} == {1, 2}


def test_errors_of_a_header_point_to_its_use() -> None:
    text = "#include <cooperative_groups.h>\n__global__ void k() {\n  cooperative_groups::tiled_partition<33>(3);\n}\n"
    errors = [item for item in compiled(text).diagnostics if item.severity == "error"]
    assert errors
    for item in errors:
        assert item.span is not None
        assert item.span.line in (1, 3)
        assert not item.file.startswith("/")


@pytest.mark.parametrize(
    ("expressions", "field", "message"),
    [
        (("scale<foo>",), "instantiations.0", 'scale<foo> cannot be instantiated: identifier "foo" is undefined'),
        (("scale<int>", "nope"), "instantiations.1", 'nope cannot be instantiated: identifier "nope" is undefined'),
        (("scale<float",), "instantiations.0", 'scale<float cannot be instantiated: expected a ">"'),
        (("scale",), "instantiations.0", "cannot determine which instance of function template"),
    ],
)
def test_instantiations_that_fail(expressions: tuple[str, ...], field: str, message: str) -> None:
    error = only_error("template <class T> __global__ void scale(T *x, T a) { x[0] *= a; }", *expressions)
    assert error.field == field
    assert message in error.message
    assert error.origin == "launch"


@pytest.mark.parametrize("statement", ["u{};", "int u{};"])
def test_floods_are_capped_and_told(statement: str) -> None:
    text = "__global__ void k() {\n" + "\n".join(statement.format(number) for number in range(2_000)) + "\n}"
    found = compiled(text).diagnostics
    assert len(found) == 100
    assert found[-1].code == "left-out"
    assert found[-1].message.startswith("2 more" if statement == "u{};" else "1,901 more")


def test_huge_messages_are_cut() -> None:
    name = "q" * 100_000
    found = compiled(f"__global__ void k() {{ {name}; }}").diagnostics
    assert found
    assert all(len(item.message) < 2_100 for item in found)
    assert any("more characters" in item.message for item in found)


@pytest.mark.parametrize("file_name", ["a.cu", "cstdint", "cuda_fp16.h", "k.x.y-z"])
def test_any_file_name_is_the_users(file_name: str) -> None:
    found = compiled("#include <cstdio>\n__global__ void k() { q; }", file_name=file_name).diagnostics
    assert [(item.file, item.span.line if item.span else None) for item in found] == [("", 2)]


def test_host_paths_are_nowhere() -> None:
    result = compiled("#include <cuda_fp16.h>\n__global__ void k(half *h) { h[0] = h[1] + 1; h[0].foo(); }")
    text = "".join(item.model_dump_json() for item in result.diagnostics)
    assert "cuda_fp16.h" in text
    assert "site-packages" not in text
    text = "#include <cooperative_groups.h>\n__global__ void k() { cooperative_groups::this_thread_block().sync(); }"
    kernel = compiled(text).kernel
    assert kernel is not None
    assert '"cooperative_groups.h"' in kernel.ptx
    assert '"kernel.cu"' in kernel.ptx
    assert "site-packages" not in kernel.ptx


def test_a_header_of_the_host_is_not_quoted(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("CANARY of the host\n")
    found = compiled(f'#include "{secret}"\n' + KERNEL).diagnostics
    assert [item.message for item in found] == [f'cannot open "{secret}"']
    assert "CANARY" not in found[0].model_dump_json()
