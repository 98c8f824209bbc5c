"""What is said of a launch before anything runs: entry, grid, block, shared memory, registers, arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.launching.arguments import argument_bytes
from engine.launching.plan import plan
from protocol.diagnostics import Diagnostic
from protocol.kernel import CompiledKernel, Entry, Parameter, Resources
from protocol.run import RunRequest

PARAMETERS = (
    Parameter(name="n", type="int", kind="scalar", dtype="int32", bytes=4, offset=0),
    Parameter(name="x", type="const float *", kind="pointer", dtype="float32", const=True, bytes=8, offset=8),
    Parameter(name="y", type="float4 *", kind="pointer", dtype="float32", components=4, bytes=8, offset=16),
)
OTHERS = {
    "u": Parameter(name="u", type="unsigned int", kind="scalar", dtype="uint32", bytes=4, offset=0),
    "h": Parameter(name="h", type="half", kind="scalar", dtype="float16", bytes=2, offset=0),
    "z": Parameter(name="z", type="cuComplex", kind="scalar", dtype="complex64", bytes=8, offset=0),
    "v": Parameter(name="v", type="float3", kind="vector", dtype="float32", components=3, bytes=12, offset=0),
    "s": Parameter(name="s", type="Body", kind="struct", bytes=4, offset=0),
    "q": Parameter(name="q", type="?", kind="unknown", bytes=4, offset=0),
    "p": Parameter(name="p", type="void *", kind="pointer", bytes=8, offset=0),
    "d": Parameter(name="d", type="double *", kind="pointer", dtype="float64", bytes=8, offset=0),
}
SMALL = Resources(registers=32, static_shared_bytes=1000)


def kernel(*entries: Entry, architecture: str = "sm_90") -> CompiledKernel:
    return CompiledKernel(language="cuda-c++", architecture=architecture, toolchain="", ptx="", entries=entries)


ENTRY = Entry(name="_Z1k", display="k", parameters=PARAMETERS, resources=SMALL)
GOOD = [
    {"kind": "scalar", "value": 3},
    {"kind": "buffer", "buffer": "a"},
    {"kind": "buffer", "buffer": "b"},
]


def found(
    compiled: CompiledKernel,
    arguments: list[dict[str, Any]] = GOOD,
    entry: str = "",
    role: str = "in",
    after: tuple[dict[str, Any], ...] = (),
    **config: Any,
) -> list[Diagnostic]:
    run = RunRequest.model_validate_json(
        json.dumps(
            {
                "source": {"text": "x"},
                "buffers": [
                    {"name": "a", "dtype": "float32", "shape": [64], "role": "in"},
                    {"name": "b", "dtype": "float32", "shape": [8, 8], "role": role},
                    {"name": "c", "dtype": "float32", "shape": [8, 8], "role": "in"},
                    {"name": "bytes", "dtype": "uint8", "shape": [63], "role": "in"},
                    {"name": "odd", "dtype": "float32", "shape": [63], "role": "in"},
                ],
                "steps": [
                    {
                        "kind": "launch",
                        "entry": entry,
                        "config": {"grid": [1], "block": [32], **config},
                        "arguments": arguments,
                    },
                    *after,
                ],
            }
        )
    )
    return list(plan(run, compiled).diagnostics)


def only(items: list[Diagnostic], severity: str, field: str, message: str) -> Diagnostic:
    assert len(items) == 1, items
    assert (items[0].severity, items[0].field, items[0].origin) == (severity, field, "launch")
    assert message in items[0].message
    return items[0]


def test_nothing_is_said_of_a_good_launch() -> None:
    assert found(kernel(ENTRY)) == []


CONFIGURATIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"block": [1025]}, "block", "the block has 1,025 threads along x; at most 1,024 are possible"),
    ({"block": [33, 32]}, "block", "a block of 33 × 32 × 1 has 1,056 threads; sm_90 allows 1,024"),
    ({"block": [1, 1, 65]}, "block", "65 threads along z; at most 64"),
    ({"block": [0]}, "block", "the block has 0 threads along x; give at least 1"),
    ({"grid": [0]}, "grid", "the grid has 0 blocks along x; give at least 1"),
    ({"grid": [1, 65536]}, "grid", "65,536 blocks along y; sm_90 allows 65,535"),
    ({"grid": [2147483648]}, "grid", "2,147,483,648 blocks along x"),
    ({"grid": [1, 1, 65536]}, "grid", "along z"),
    (
        {"dynamic_shared_bytes": 231_449},
        "dynamic_shared_bytes",
        "needs 232,449 bytes of shared memory (1,000 bytes static and 231,449 dynamic); sm_90 has 232,448 a block",
    ),
]


@pytest.mark.parametrize(("config", "field", "message"), CONFIGURATIONS)
def test_configuration(config: dict[str, Any], field: str, message: str) -> None:
    items = [item for item in found(kernel(ENTRY), **config) if message in item.message]
    only(items, "error", f"steps.0.config.{field}", message)


def test_cover_of_a_zero_block_is_told_as_the_block() -> None:
    items = found(kernel(ENTRY), block=[0], grid={"kind": "cover", "buffer": "a"})
    assert "steps.0.config.block" in {item.field for item in items}


def test_shared_memory_beyond_the_default_is_a_note() -> None:
    item = only(
        found(kernel(ENTRY), dynamic_shared_bytes=48_153),
        "note",
        "steps.0.config.dynamic_shared_bytes",
        "49,152 are usual",
    )
    assert "cudaFuncSetAttribute" in (item.help or "")
    assert found(kernel(ENTRY), dynamic_shared_bytes=48_152) == []
    only(
        found(kernel(ENTRY, architecture="sm_75"), dynamic_shared_bytes=64_537),
        "error", "steps.0.config.dynamic_shared_bytes", "sm_75 has 65,536",
    )  # fmt: skip


def test_registers() -> None:
    greedy = ENTRY.model_copy(update={"resources": Resources(registers=128)})
    item = only(
        found(kernel(greedy), block=[1024]), "error", "steps.0.config.block",
        "k takes 128 registers a thread, 131,072 for a block of 1,024 threads; sm_90 gives a block 65,536",
    )  # fmt: skip
    assert item.help is not None
    assert item.help.startswith("At most 512 threads")
    assert found(kernel(greedy), block=[512]) == []


def test_launch_bounds() -> None:
    bound = ENTRY.model_copy(update={"resources": Resources(registers=8, max_threads_per_block=128)})
    only(found(kernel(bound), block=[129]), "error", "steps.0.config.block", "k is compiled for at most 128")
    assert found(kernel(bound), block=[128]) == []


SCALE = Entry(name="_Z5scaleIf", display="scale<float, 3>", resources=SMALL)
TWICE = [Entry(name=f"t{kind}", display=f"twice({kind} *)", resources=SMALL) for kind in ("int", "float")]


@pytest.mark.parametrize(
    ("entries", "name", "message"),
    [
        ((SCALE, *TWICE), "", "the source has 3 kernels; name the one to launch"),
        ((SCALE,), "other", "no kernel is called other"),
        ((SCALE,), "scale", "no kernel is called scale"),
        ((SCALE, *TWICE), "twice", "twice is overloaded; name it with its parameters"),
        ((SCALE,), "scale<float,3>", ""),
        ((SCALE,), " scale < float , 3 > ", ""),
        ((SCALE,), "_Z5scaleIf", ""),
        ((SCALE, *TWICE), "twice(float*)", ""),
        ((SCALE,), "", ""),
    ],
)
def test_entry(entries: tuple[Entry, ...], name: str, message: str) -> None:
    items = found(kernel(*entries), [], name)
    if message:
        assert "There are: " in (only(items, "error", "steps.0.entry", message).help or "")
    else:
        assert items == []


def with_name(name: str, argument: dict[str, Any]) -> dict[str, Any]:
    return {**argument, "name": name}


NAMED = [with_name(name, argument) for name, argument in zip("nxy", GOOD, strict=True)]
MATCHES: list[tuple[list[dict[str, Any]], str, str, str]] = [
    (GOOD[:2], "error", "arguments", "2 arguments are given, but k takes 3"),
    (GOOD[:1], "error", "arguments", "1 argument is given, but k takes 3"),
    ([], "error", "arguments", "0 arguments are given, but k takes 3"),
    ([*GOOD, GOOD[0]], "error", "arguments", "4 arguments are given, but k takes 3"),
    (NAMED[:2], "error", "arguments", "y has no argument"),
    ([*NAMED[:2], with_name("w", GOOD[2])], "error", "arguments.2", "w is no parameter of the kernel"),
    ([*NAMED, NAMED[0]], "error", "arguments.3", "n is given twice"),
    ([GOOD[1], *GOOD[1:]], "error", "arguments.0", "n is one int32 (int), but a buffer is given"),
    ([GOOD[0], GOOD[0], GOOD[2]], "error", "arguments.1", "x is a pointer (const float *), but a number is given"),
    ([{"kind": "scalar", "value": 1.5}, *GOOD[1:]], "error", "arguments.0", "n: '1.5' is not a whole number"),
    ([{"kind": "scalar", "value": "3000000000"}, *GOOD[1:]], "error", "arguments.0", "n: 3000000000 does not"),
    (
        [{"kind": "scalar", "value": 1, "dtype": "float32"}, *GOOD[1:]],
        "error", "arguments.0", "n is one int32 (int), but the number given is float32",
    ),
    (
        [GOOD[0], {"kind": "buffer", "buffer": "bytes"}, GOOD[2]],
        "error", "arguments.1", "x points to const float (4 bytes), but bytes has 63 bytes of uint8",
    ),
    ([GOOD[0], GOOD[1], {"kind": "buffer", "buffer": "odd"}], "note", "arguments.2", "the last vector is cut short"),
    ([GOOD[0], {"kind": "null"}, GOOD[2]], "", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "severity", "field", "message"), MATCHES)
def test_arguments(arguments: list[dict[str, Any]], severity: str, field: str, message: str) -> None:
    items = found(kernel(ENTRY), arguments)
    if severity:
        only(items, severity, f"steps.0.{field}", message)
    else:
        assert items == []


def test_a_buffer_that_nothing_writes_is_a_note() -> None:
    items = found(kernel(ENTRY), [GOOD[0], GOOD[2], {"kind": "null"}], role="inout")
    only(items, "note", "buffers.1.role", "b has role inout, but no kernel gets it as something to write")
    assert found(kernel(ENTRY), [GOOD[0], GOOD[2], GOOD[2]], role="inout") == []


@pytest.mark.parametrize(
    "step", [{"kind": "swap", "first": "b", "second": "c"}, {"kind": "fill", "buffer": "b", "value": 0}]
)
def test_a_buffer_that_another_step_changes_is_no_note(step: dict[str, Any]) -> None:
    """As in a stencil that reads one buffer, writes another, and lets them change places."""
    read_only = [GOOD[0], GOOD[2], {"kind": "null"}]
    assert found(kernel(ENTRY), read_only, role="inout", after=(step,)) == []


def test_arguments_by_name_go_in_any_order() -> None:
    assert found(kernel(ENTRY), NAMED[::-1]) == []
    items = found(kernel(ENTRY), [NAMED[2], NAMED[1], with_name("n", {"kind": "null"})])
    only(items, "error", "steps.0.arguments.2", "n is one int32 (int), but a null pointer is given")


SINGLE: list[tuple[str, dict[str, Any], str]] = [
    ("u", {"kind": "scalar", "value": -1}, "u: -1 does not fit uint32"),
    ("h", {"kind": "scalar", "value": 1e6}, "h: element 0 is 1000000.0, which does not fit float16"),
    ("z", {"kind": "scalar", "value": "1+2i"}, "z: '1+2i' is not a complex number"),
    ("z", {"kind": "vector", "dtype": "float32", "values": [1, 2]}, "z is one complex64 (cuComplex), but a vector"),
    (
        "v",
        {"kind": "vector", "dtype": "float32", "values": [1, 2]},
        "v is a float3 (3 × float32), but 2 values are given",
    ),
    ("v", {"kind": "vector", "dtype": "int32", "values": [1, 2, 3]}, "v is a float3 (3 × float32), but int32 is given"),
    ("v", {"kind": "scalar", "value": 1}, "v is a float3 (3 × float32), but a number is given"),
    ("s", {"kind": "struct", "hex": "0011"}, "s is a Body of 4 bytes, but 2 are given"),
    ("s", {"kind": "scalar", "value": 1}, "s is a Body of 4 bytes, but a number is given"),
    ("q", {"kind": "scalar", "value": 1}, "q takes 4 bytes of a type that is not known"),
    ("q", {"kind": "buffer", "buffer": "a"}, "q is a ? of 4 bytes, but a buffer is given"),
]


@pytest.mark.parametrize(("name", "argument", "message"), SINGLE)
def test_single_argument(name: str, argument: dict[str, Any], message: str) -> None:
    entry = ENTRY.model_copy(update={"parameters": (OTHERS[name],)})
    only(found(kernel(entry), [argument]), "error", "steps.0.arguments.0", message)


def test_a_buffer_of_another_type_that_fits_is_a_note() -> None:
    entry = ENTRY.model_copy(update={"parameters": (OTHERS["d"],)})
    items = found(kernel(entry), [{"kind": "buffer", "buffer": "a"}])
    only(
        items, "note", "steps.0.arguments.0", "d points to float64, and a is float32: the kernel reads its bytes as 32"
    )
    void = ENTRY.model_copy(update={"parameters": (OTHERS["p"],)})
    assert found(kernel(void), [{"kind": "buffer", "buffer": "bytes"}]) == []


BYTES: list[tuple[str, dict[str, Any], str]] = [
    ("u", {"kind": "scalar", "value": "0xfffffffe"}, "feffffff"),
    ("h", {"kind": "scalar", "value": 1.5}, "003e"),
    ("z", {"kind": "scalar", "value": "1+2j"}, "0000803f00000040"),
    ("v", {"kind": "vector", "dtype": "float32", "values": [1, 2, "nan"]}, "0000803f000000400000c07f"),
    ("s", {"kind": "struct", "hex": "DEADbeef"}, "deadbeef"),
    ("q", {"kind": "scalar", "dtype": "float32", "value": 1}, "0000803f"),
    ("q", {"kind": "struct", "hex": "01020304"}, "01020304"),
    ("p", {"kind": "null"}, "0000000000000000"),
    ("p", {"kind": "buffer", "buffer": "a"}, "8877665544332211"),
]


@pytest.mark.parametrize(("name", "argument", "want"), BYTES)
def test_bytes(name: str, argument: dict[str, Any], want: str) -> None:
    entry = ENTRY.model_copy(update={"parameters": (OTHERS[name],)})
    assert found(kernel(entry), [argument]) == []
    run = RunRequest.model_validate_json(
        json.dumps(
            {
                "source": {"text": "x"},
                "buffers": [{"name": "a", "dtype": "uint8", "shape": [8], "role": "in"}],
                "steps": [{"kind": "launch", "config": {"grid": [1], "block": [1]}, "arguments": [argument]}],
            }
        )
    )
    (match,) = plan(run, kernel(entry)).launches["steps.0"].matches
    assert argument_bytes(match, lambda _: 0x1122334455667788).hex() == want
