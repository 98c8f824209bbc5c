"""How diagnostics, findings and results look in the terminal."""

import io

import pytest

from cli.report import array_of, milliseconds, occupancy_line
from cli.terminal import Terminal, diagnostic_text, plain
from protocol.diagnostics import Diagnostic, Label, Span
from protocol.events import BufferRead
from protocol.kernel import Occupancy, OccupancyLimit

SOURCE = "__global__ void k(int *x)\n{\n\tx[0] = foo;\n    x[1] = π + bar;\n}\n"
TERMINAL = Terminal(io.StringIO())


@pytest.mark.parametrize(
    ("diagnostic", "text"),
    [
        (
            Diagnostic(severity="error", message='identifier "foo" is undefined', span=Span(line=3, column=9)),
            'k.cu:3:9: error: identifier "foo" is undefined\n    3 | \tx[0] = foo;\n      | \t       ^',
        ),
        (
            Diagnostic(severity="error", message="bar", span=Span(line=4, column=16, end_column=19)),
            "k.cu:4:16: error: bar\n    4 |     x[1] = π + bar;\n      |                ^~~",
        ),
        (
            Diagnostic(severity="warning", message="unused", code="177", span=Span(line=99)),
            "k.cu:99:1: warning: unused [177]",
        ),
        (
            Diagnostic(severity="error", message="too large", field="steps.0.config.block", help="at most 1024"),
            "steps.0.config.block: error: too large\n  = help: at most 1024",
        ),
        (
            Diagnostic(severity="error", message="in a header", file="cuda_fp16.h", span=Span(line=3)),
            "cuda_fp16.h:3:1: error: in a header",
        ),
        (
            Diagnostic(
                severity="error",
                message="twice",
                span=Span(line=5),
                labels=(Label(span=Span(line=1), message="first here"),),
                notes=("a\x1b[2Jb",),
            ),
            "k.cu:5:1: error: twice\n    5 | }\n      | ^\nk.cu:1:1: note: first here\n"
            "    1 | __global__ void k(int *x)\n      | ^\n  = note: a\\x1b[2Jb",
        ),
    ],
)
def test_diagnostics_look_like_a_compilers(diagnostic: Diagnostic, text: str) -> None:
    assert diagnostic_text(TERMINAL, diagnostic, SOURCE, "k.cu") == text


def test_a_kernel_cannot_steer_the_terminal() -> None:
    assert plain("a\x1b]0;title\x07\r\tb\n\x9b2J\x00") == "a\\x1b]0;title\\x07\\x0d\tb\n\\x9b2J\\x00"


def test_occupancy_names_the_limiting_resource() -> None:
    occupancy = Occupancy(
        architecture="sm_90",
        blocks_per_sm=4,
        warps_per_sm=32,
        max_warps_per_sm=64,
        limits=(OccupancyLimit(resource="warps", blocks=8), OccupancyLimit(resource="shared", blocks=4)),
        limiters=("shared",),
        gpu="H200",
        sm_count=132,
        waves=1.9393,
        tail=0.06,
    )
    assert occupancy_line(occupancy) == (
        "occupancy  50 %: 4 blocks, 32 of 64 warps an SM on sm_90, limited by shared "
        "(blocks allowed: warps 8, shared 4); 1.94 waves on H200 (132 SMs)"
    )


@pytest.mark.parametrize(
    ("dtype", "data", "values"),
    [
        ("int16", b"\xff\xff\x02\x00", [-1, 2]),
        ("bfloat16", b"\x80\x3f\x00\xc0", [1.0, -2.0]),
        ("bool", b"\0\1", [0, 1]),
    ],
)
def test_buffers_are_arrays_of_their_dtype(dtype: str, data: bytes, values: list[float]) -> None:
    event = BufferRead.model_validate(
        {"name": "x", "dtype": dtype, "shape": (2,), "digest": "0" * 64, "bytes": len(data)}
    )
    assert array_of(event, data).tolist() == values


@pytest.mark.parametrize(("seconds", "text"), [(0.00352, "3.52 ms"), (0.1234, "123 ms"), (1.2, "1.20 s")])
def test_times(seconds: float, text: str) -> None:
    assert milliseconds(seconds) == text
