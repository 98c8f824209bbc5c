"""The linter finds what is wrong with a launch, by code, and says nothing of launches that are right."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from engine.languages import language
from engine.languages.cooperation import with_cooperation
from engine.linting.linter import lint
from protocol.diagnostics import Diagnostic
from protocol.kernel import CompiledKernel
from protocol.run import CompileRequest, RunRequest, compile_request
from store.examples import load_examples
from tests.engine.test_launch_truth import TRUTH, measured_request

ROOT = Path(__file__).resolve().parents[2]
LINT = ROOT / "tests" / "data" / "lint"
KERNELS = (LINT / "kernels.cu").read_text()
TYPES = {"f": "float32", "i": "int32", "d": "float64", "b": "uint8", "u": "uint32"}

# Kernel, grid, block, arguments (name = number, or name : type [shape] = a buffer), codes of what is found; after a
# bar: bytes of dynamic shared memory. A grid of one word covers the buffer of that name.
WRONG = """
guarded 3 256 n=1000 x:f[1000] y:f[1000] -> grid-floor
guarded 2 256 n=1000 x:f[1000] y:f[1000] -> grid-too-small
guarded 9 256 n=1000 x:f[1000] y:f[1000] -> grid-too-large
returned 31 32 n=1000 x:f[1000] y:f[1000] -> grid-floor
picture 62,63 16,16 width=1000 height=1000 x:f[1000,1000] y:f[1000,1000] -> grid-floor
picture 63,62 16,16 width=1000 height=1000 x:f[1000,1000] y:f[1000,1000] -> grid-floor
picture 8,4 16,16 width=128 height=128 x:f[128,128] y:f[128,128] -> grid-too-small
volume 4,4,3 8,8,4 n=32 y:f[32,32,32] -> grid-too-small
quads 2 64 n=256 x:f[1024] y:f[1024] -> grid-too-small
bare 4 256 x:f[1000] y:f[1000] -> missing-guard
bare_with_n 4 256 n=1000 x:f[1000] y:f[1000] -> missing-guard
off_by_one 4 256 n=1000 x:f[1000] y:f[1000] -> out-of-bounds
shifted 4 256 n=1000 x:f[1000] y:f[1000] -> out-of-bounds
before 4 256 n=1000 x:f[1000] y:f[1000] -> out-of-bounds
guarded 8 256 n=2000 x:f[1000] y:f[1000] -> out-of-bounds
quads 4 64 n=256 x:f[1024] y:f[1020] -> out-of-bounds
guarded 10 100 n=1000 x:f[1000] y:f[1000] -> partial-warp
picture 13,13 10,10 width=128 height=128 x:f[128,128] y:f[128,128] -> partial-warp
guarded 1 2048 n=1000 x:f[1000] y:f[1000] -> block-threads
bounded 4 256 n=1000 y:f[1000] -> launch-bounds
guarded 0 256 n=1000 x:f[1000] y:f[1000] -> grid-zero
guarded 4 0 n=1000 x:f[1000] y:f[1000] -> block-zero
picture 13,13 8,0,1024 width=128 height=128 x:f[128,128] y:f[128,128] -> block-zero block-axis
volume 1,1,70000 8,8,1 n=32 y:f[32,32,32] -> grid-axis
volume 1,1,1 1,1,128 n=32 y:f[32,32,32] -> block-axis
reversed 4 256 x:f[1024] y:f[1024] | 300000 -> shared-memory
reversed 4 256 x:f[1024] y:f[1024] | 70000 -> other-gpus
reversed 4 256 x:f[1024] y:f[1024] -> shared-bounds
reversed 4 256 x:f[1024] y:f[1024] | 512 -> shared-bounds
half_waits 4 256 x:f[1024] y:f[1024] -> divergent-barrier
rows_wait 1 32,8 x:f[256] y:f[256] -> divergent-barrier
data_waits 1 256 x:i[256] y:i[256] -> divergent-barrier
rounds_wait 1 256 n=1000 x:f[1000] y:f[256] -> divergent-barrier
strided 4 256 n=1024 stride=32 x:f[32768] y:f[1024] -> uncoalesced
by_columns 2,32 32,8 width=256 height=64 x:f[64,256] y:f[64,256] -> uncoalesced
picture 256,1 1,256 width=256 height=256 x:f[256,256] y:f[256,256] -> uncoalesced
transposed 8,8 32,32 n=256 x:f[256,256] y:f[256,256] -> bank-conflict
far_index 64 256 n=16384 scale=1000000 x:f[16384] y:f[16384] -> index-overflow
four_each 1 256 n=1024 x:f[1024] y:f[1024] -> uncoalesced
guarded 4 256 n=1000 x:d[1000] y:f[1000] -> buffer-dtype
guarded 4 256 n=1000 x:i[1000] y:f[1000] -> buffer-dtype
small_blocks 16384 32 n=524288 y:f[524288] | 16384 -> low-occupancy
small_blocks 1024 32 n=32768 y:f[32768] | 16384 -> low-occupancy
guarded 4 256 n=1000 x:f[1000] -> argument-count
nothing 4 256 n=1000 x:f[1000] -> entry
"""
RIGHT = """
guarded 4 256 n=1000 x:f[1000] y:f[1000]
guarded y 256 n=1000 x:f[1000] y:f[1000]
guarded 4 256 n=1024 x:f[1024] y:f[1024]
guarded 1 1024 n=1000 x:f[1000] y:f[1000]
guarded 1 32 n=10 x:f[10] y:f[10]
returned 8 128 n=1000 x:f[1000] y:f[1000]
returned 40000 256 n=10240000 x:f[10240000] y:f[10240000]
bare 4 256 x:f[1024] y:f[1024]
bare_with_n 16 64 n=3 x:f[1024] y:f[1024]
grid_stride 4 256 n=100000 x:f[100000] y:f[100000]
grid_stride 1 128 n=1000 x:f[1000] y:f[1000]
grid_stride 264 256 n=1000000 x:f[1000000] y:f[1000000]
picture 63,63 16,16 width=1000 height=1000 x:f[1000,1000] y:f[1000,1000]
picture y 32,8 width=1000 height=700 x:f[700,1000] y:f[700,1000]
picture 4,16 32,8 width=128 height=128 x:f[128,128] y:f[128,128]
volume 4,4,8 8,8,4 n=32 y:f[32,32,32]
quads 4 64 n=256 x:f[1024] y:f[1024]
quads 1 256 n=250 x:f[1000] y:f[1000]
block_sums 4 256 n=1000 x:f[1000] sums:f[4]
block_sums 4 256 n=1024 x:f[1024] sums:f[4]
total 8 256 n=100000 x:f[100000] sum:f[1]
flag_waits 4 256 on=1 x:f[1024] y:f[1024]
flag_waits 4 256 on=0 x:f[1024] y:f[1024]
leave_then_wait 4 256 n=1000 x:f[1000] y:f[1000]
rounds_wait 1 256 n=1024 x:f[1024] y:f[256]
strided 4 256 n=1024 stride=1 x:f[1024] y:f[1024]
strided 4 256 n=1024 stride=2 x:f[2048] y:f[1024]
far_index 64 256 n=16384 scale=1 x:f[16384] y:f[16384]
far_index_wide 64 256 n=16384 scale=1 x:f[16384] y:f[16384]
hashed 64 256 n=16384 y:f[16384]
transposed_padded 8,8 32,32 n=256 x:f[256,256] y:f[256,256]
reversed 4 256 x:f[1024] y:f[1024] | 1024
bounded 8 128 n=1000 y:f[1000]
once 1 1 y:f[1]
bytes 4 256 n=1000 x:b[1000] y:b[1000]
rows 64 128 height=64 width=1000 x:f[64,1000] y:f[64]
gathered 4 256 n=1000 at:i[1000] x:f[5000] y:f[1000]
stencil 4 256 n=1000 x:f[1000] y:f[1000]
picture 32,16 8,64 width=256 height=1024 x:f[1024,256] y:f[1024,256]
"""
# The same, of kernels as people write them.
USUAL = """
halo 4 256 n=1000 x:f[1000] y:f[1000]
conv 7,7 16,16 w=100 h=100 x:f[100,100] y:f[100,100]
dot 4 256 n=100000 a:f[100000] b:f[100000] r:f[1]
matmul 5,4 16,16 m=50 n=70 k=33 a:f[50,33] b:f[33,70] c:f[50,70]
matmul_1d 40 256 n=100 a:f[100,100] b:f[100,100] c:f[100,100]
collatz 4 256 n=1000 steps:i[1000]
lcg 4000 256 n=1024000 seed=7 y:f[1024000]
table 4 256 n=1000 seed=7 x:f[1024] y:f[1000]
coop 4 256 n=1000 y:f[1000]
bitrev 4 256 n=1024 bits=10 x:f[1024] y:f[1024]
butterfly 2 256 n=1024 half=16 x:f[1024]
butterfly 2 256 n=1024 half=1 x:f[1024]
diag 4 256 n=1000 m:f[1000,1000] -> uncoalesced
rowsum 4 256 rows=1000 cols=64 m:f[1000,64] s:f[1000] -> uncoalesced
colsum 4 256 rows=64 cols=1000 m:f[64,1000] s:f[1000]
spmv 4 256 rows=1000 ptr:i[1001] idx:i[5000] val:f[5000] x:f[1000] y:f[1000]
two_each 2 256 n=1000 x:f[1000] y:f[1000]
rgb 4 256 n=1000 p:b[3000] g:b[1000]
interior 7,7 16,16 w=100 h=100 x:f[100,100] y:f[100,100]
interior_shift 7,7 16,16 w=100 h=100 x:f[100,100] y:f[100,100]
"""


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def request(row: str, source: str = KERNELS) -> RunRequest:
    row, _, shared = row.partition("->")[0].partition("|")
    entry, grid, block, *given = row.split()
    buffers: list[dict[str, Any]] = []
    arguments: list[dict[str, Any]] = []
    for text in given:
        name, kind, shape = re.fullmatch(r"(\w+)(?:=\d+|:(\w)\[([\d,]+)\])", text).groups()  # type: ignore[union-attr]
        if kind is None:
            arguments.append({"kind": "scalar", "value": int(text.partition("=")[2])})
            continue
        buffers.append({"name": name, "dtype": TYPES[kind], "shape": [int(one) for one in shape.split(",")]})
        arguments.append({"kind": "buffer", "buffer": name})
    extents: Any = {"kind": "cover", "buffer": grid} if grid.isalpha() else [int(one) for one in grid.split(",")]
    config = {
        "grid": extents,
        "block": [int(one) for one in block.split(",")],
        "dynamic_shared_bytes": int(shared or 0),
    }
    steps = [{"kind": "launch", "entry": entry, "config": config, "arguments": arguments}]
    return RunRequest.model_validate_json(json.dumps({"source": {"text": source}, "buffers": buffers, "steps": steps}))


def compiled(request: CompileRequest) -> CompiledKernel:
    found = language(request.source.language).compile(request, None)
    assert found.kernel is not None
    return with_cooperation(found.kernel)


@pytest.fixture(scope="module")
def kernel() -> CompiledKernel:
    return compiled(compile_request(request("once 1 1 y:f[1]")))


def told(found: tuple[Diagnostic, ...]) -> list[str]:
    """Codes, each once; the kernels of the other rows are not launched, which is no news."""
    return list(dict.fromkeys(item.code for item in found if item.code != "never-launched"))


@pytest.fixture(scope="module")
def usual() -> CompiledKernel:
    return compiled(compile_request(request("coop 1 32 n=1 y:f[1]", (LINT / "usual.cu").read_text())))


@pytest.mark.parametrize("row", rows(USUAL))
def test_usual_kernels(row: str, usual: CompiledKernel) -> None:
    run = request(row, (LINT / "usual.cu").read_text())
    assert told(lint(run, usual)) == row.partition("->")[2].split()


@pytest.mark.parametrize("row", rows(WRONG))
def test_what_is_wrong_is_found(row: str, kernel: CompiledKernel) -> None:
    run = request(row)
    found = lint(run, kernel)
    assert told(found) == row.partition("->")[2].split()
    for item in found:
        assert item.origin == "lint"
        assert item.field or item.span


@pytest.mark.parametrize("row", rows(RIGHT))
def test_what_is_right_is_left_alone(row: str, kernel: CompiledKernel) -> None:
    assert told(lint(request(row), kernel)) == []


KNOWN = {
    "transpose": ["uncoalesced", "bank-conflict"],
    "out-of-bounds": ["out-of-bounds"],
}
"""Examples that teach what the linter finds."""


@pytest.mark.parametrize("example", load_examples(ROOT / "examples"), ids=lambda example: example.id)
def test_examples_are_right(example: Any) -> None:
    run = example.payload.request
    if run.source.language == "numba":
        return
    assert told(lint(run, compiled(compile_request(run)))) == KNOWN.get(example.id, [])


# What the launches of the measured truth were made to show, or are; every other one is right.
TRUTHS = {
    "copy_coalesced_b32": ["low-occupancy"], "copy_coalesced_b100": ["partial-warp"],
    "dynamic_reverse": ["partial-warp"], "aos_read_x": ["uncoalesced"], "transpose_naive": ["uncoalesced"],
    "transpose_tiled": ["bank-conflict"], "warp_misc": ["uncoalesced"], "local_array": ["uncoalesced"],
    "float_ieee": ["uncoalesced"], "float_functions": ["uncoalesced"], "double_functions": ["uncoalesced"],
    "histogram_global": ["grid-too-large"], "bf16_scale": ["buffer-dtype"], "oob_read": ["out-of-bounds"],
    "oob_write": ["missing-guard"], "oob_negative": ["out-of-bounds"], "oob_far": ["out-of-bounds", "uncoalesced"],
    "oob_shared": ["shared-bounds"], "misaligned": ["buffer-dtype"], "divergent_barrier": ["divergent-barrier"],
    "integer_overflow_index": ["index-overflow"],
}  # fmt: skip
PATTERNS = (
    (r"(gather|scatter)_stride(4|8|16|32)$", "uncoalesced"),
    (r"shared_store_stride(4|8|16|32)$", "bank-conflict"),
)


def test_the_measured_launches() -> None:
    kernels: dict[str, CompiledKernel] = {}
    for case in json.loads((TRUTH / "cases.json").read_text()):
        if any("null" in item for item in case["arguments"]):
            continue
        run = measured_request(case)
        if case["file"] not in kernels:
            kernels[case["file"]] = compiled(compile_request(run))
        patterns = [code for pattern, code in PATTERNS if re.match(pattern, case["name"])]
        assert told(lint(run, kernels[case["file"]])) == TRUTHS.get(case["name"], patterns), case["name"]


# What a fix makes of a row that is wrong: the launch has nothing left that is.
MENDED = {
    "grid-floor", "grid-too-small", "grid-too-large", "missing-guard", "partial-warp", "block-threads", "block-zero",
    "launch-bounds", "shared-memory", "shared-bounds", "bank-conflict", "index-overflow", "buffer-dtype",
}  # fmt: skip
FIXED = [row for row in rows(WRONG) if row.partition("->")[2].strip() in MENDED]


@pytest.mark.parametrize("row", FIXED)
def test_a_fix_mends_what_was_found(row: str, kernel: CompiledKernel) -> None:
    run = request(row)
    for _ in range(3):
        found = [item for item in lint(run, kernel) if item.code == row.partition("->")[2].strip()]
        if not found:
            return
        assert found[0].fix is not None
        run = fixed(run, found[0])
        if found[0].fix.span is not None:
            kernel = compiled(compile_request(run))
    pytest.fail(f"{found[0]} is still found")


def fixed(run: RunRequest, finding: Diagnostic) -> RunRequest:
    """The request with the finding's fix, as the page makes it."""
    fix = finding.fix
    assert fix is not None
    if fix.field is not None:
        data = json.loads(run.model_dump_json())
        *path, last = fix.field.split(".")
        target: Any = data
        for key in path:
            target = target[int(key)] if key.isdigit() else target[key]
        target[int(last) if last.isdigit() else last] = fix.value
        return RunRequest.model_validate_json(json.dumps(data))
    span = fix.span
    assert span is not None
    lines = run.source.text.split("\n")
    head = lines[span.line - 1][: span.column - 1]
    end_line = span.end_line or span.line
    tail = lines[end_line - 1][(span.end_column or span.column) - 1 :]
    lines[span.line - 1 : end_line] = [head + fix.text + tail]
    return run.model_copy(update={"source": run.source.model_copy(update={"text": "\n".join(lines)})})


def test_without_a_kernel_the_launch_is_looked_at_alone() -> None:
    run = request("guarded 3 100 n=1000 x:f[1000] y:f[1000]", "__global__ void guarded( {}")
    assert told(lint(run, None)) == ["partial-warp", "grid-and-array"]
    run = request("guarded 10 2048 n=1000 x:f[1000] y:f[1000]", "__global__ void guarded( {}")
    assert told(lint(run, None)) == ["block-threads"]


def test_a_kernel_that_is_never_launched_is_named(kernel: CompiledKernel) -> None:
    found = {item.message: item for item in lint(request("once 1 1 y:f[1]"), kernel)}
    assert len(found) == len(kernel.entries) - 1
    item = found["guarded is never launched"]
    assert item.span is not None
    assert "void guarded" in KERNELS.splitlines()[item.span.line - 1]


MESSAGES = [line.split("\t") for line in (LINT / "messages.tsv").read_text().splitlines()]


@pytest.mark.parametrize(("row", "message"), MESSAGES)
def test_messages_have_the_numbers(row: str, message: str, kernel: CompiledKernel) -> None:
    assert message in [item.message for item in lint(request(row), kernel)]


def test_no_launch_is_too_odd(kernel: CompiledKernel) -> None:
    """Whatever extents and numbers are typed, the linter answers."""
    chance = random.Random(1)
    extents = [0, 1, 2, 7, 31, 32, 33, 100, 256, 1000, 1024, 5000, 65_535, 2**31 - 1, 2**32 - 1]
    for _ in range(400):
        entry, _, _, *given = chance.choice(rows(WRONG + RIGHT)).partition("->")[0].partition("|")[0].split()
        grid, block = (",".join(str(chance.choice(extents)) for _ in range(chance.randint(1, 3))) for _ in "gb")
        numbers = [re.sub(r"=\d+", f"={chance.choice([0, 1, 5, 1000, 2**31 - 1])}", item) for item in given]
        run = request(" ".join((entry, grid, block, *numbers)))
        for item in (*lint(run, kernel), *lint(run, None)):
            assert item.message
