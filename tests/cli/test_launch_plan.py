"""The request that a typed launch becomes, given the kernel's parameters."""

import json
from typing import Any

import pytest

from cli.argument_syntax import parse_argument
from cli.launch_plan import NpyFile, Typed, choose_entry, plan
from cli.usage import Refused
from protocol.kernel import Entry, Parameter, Resources
from protocol.launch import LaunchConfig, resolve_grid
from protocol.run import CompileRequest, RunRequest
from protocol.source import Source

INT = Parameter(name="n", type="int", kind="scalar", dtype="int32", bytes=4, offset=0)
FLOAT = Parameter(name="a", type="float", kind="scalar", dtype="float32", bytes=4, offset=4)
IN = Parameter(name="x", type="const float *", kind="pointer", dtype="float32", const=True, bytes=8, offset=8)
OUT = Parameter(name="y", type="float *", kind="pointer", dtype="float32", bytes=8, offset=16)
VECTOR = Parameter(name="v", type="float4", kind="vector", dtype="float32", components=4, bytes=16, offset=32)
SMALL = Resources(registers=8)
SAXPY = Entry(name="_Z5saxpyifPKfPf", display="saxpy", parameters=(INT, FLOAT, IN, OUT), resources=SMALL)
COMPILATION = CompileRequest(source=Source(text="__global__ void saxpy(int n, float a, const float *x, float *y) {}"))
PLAIN = ("n=1024", "a=2", "x=float32[1024]:random=1", "y=float32[1024]:zeros")


def planned(*arguments: str, entry: Entry = SAXPY, **typed: Any) -> RunRequest:
    given = [parse_argument(text) for text in arguments]
    return plan(COMPILATION, entry, Typed(arguments=given, **typed), "emulator")


def dump(request: RunRequest) -> dict[str, Any]:
    return request.model_dump(mode="json")


def test_const_pointers_are_inputs_and_scalars_take_the_kernels_type() -> None:
    request = dump(planned(*PLAIN))
    assert [(item["name"], item["role"]) for item in request["buffers"]] == [("x", "in"), ("y", "inout")]
    assert request["steps"][0]["arguments"] == [
        {"kind": "scalar", "name": "n", "dtype": "int32", "value": 1024},
        {"kind": "scalar", "name": "a", "dtype": "float32", "value": 2},
        {"kind": "buffer", "name": "x", "buffer": "x"},
        {"kind": "buffer", "name": "y", "buffer": "y"},
    ]
    assert request["device"] == "emulator"


def test_arguments_may_come_in_any_order() -> None:
    assert [item["name"] for item in dump(planned(*reversed(PLAIN)))["steps"][0]["arguments"]] == ["n", "a", "x", "y"]


@pytest.mark.parametrize(
    ("shape", "typed", "grid", "block"),
    [
        ("[1024]", {}, {"kind": "cover", "buffer": "y", "components": 1}, [256]),
        ("[64,64]", {}, {"kind": "cover", "buffer": "y", "components": 1}, [16, 16]),
        ("[1024]", {"grid": "4"}, [4], [256]),
        ("[1024]", {"grid": "4x2", "block": "32,4,2"}, [4, 2], [32, 4, 2]),
        ("[1024]", {"grid": "cover:x"}, {"kind": "cover", "buffer": "x", "components": 1}, [256]),
    ],
)
def test_grid_and_block(shape: str, typed: dict[str, str], grid: object, block: list[int]) -> None:
    request = planned("n=1", "a=1", f"x=float32{shape}", f"y=float32{shape}", **typed)
    config = dump(request)["steps"][0]["config"]
    assert (config["grid"], config["block"]) == (grid, block)


@pytest.mark.parametrize("shape", ["[4096]", "[1024,4]"])
def test_a_thread_gets_a_whole_vector(shape: str) -> None:
    pointer = Parameter(name="q", type="float4 *", kind="pointer", dtype="float32", components=4, bytes=8, offset=0)
    entry = Entry(name="k", display="k", parameters=(pointer,), resources=SMALL)
    request = planned(f"q=float32{shape}", entry=entry)
    config = dump(request)["steps"][0]["config"]
    assert config["grid"] == {"kind": "cover", "buffer": "q", "components": 4}
    assert config["block"] == [256]
    assert resolve_grid(LaunchConfig.model_validate_json(json.dumps(config)), request.buffers) == (4, 1, 1)


def test_launch_bounds_hold_the_default_block_down() -> None:
    small = SAXPY.model_copy(update={"resources": Resources(registers=8, max_threads_per_block=128)})
    assert dump(planned(*PLAIN, entry=small))["steps"][0]["config"]["block"] == [128]


def test_an_alias_passes_a_buffer_twice_and_makes_it_writable() -> None:
    request = dump(planned("n=1", "a=1", "x=float32[8]:arange", "y=&x"))
    assert [(item["name"], item["role"]) for item in request["buffers"]] == [("x", "inout")]
    assert request["steps"][0]["arguments"][3]["buffer"] == "x"


def test_a_file_gives_dtype_and_shape() -> None:
    npy = NpyFile("0" * 64, "float32", (2, 4))
    request = dump(planned("n=1", "a=1", "x=@in.npy", "y=float32[8]", uploads={"x": npy}))
    assert request["buffers"][0]["shape"] == [2, 4]
    assert request["buffers"][0]["init"] == {"kind": "upload", "digest": "0" * 64}


def test_vectors() -> None:
    entry = Entry(name="k", display="k", parameters=(VECTOR,), resources=Resources(registers=8))
    argument = dump(planned("v=1,2,3,4", entry=entry))["steps"][0]["arguments"][0]
    assert argument == {"kind": "vector", "name": "v", "dtype": "float32", "values": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("arguments", "typed", "said"),
    [
        (PLAIN[:2], {}, "saxpy needs more arguments, for example:\n  --arg 'x=float32[1024]:random'"),
        ((*PLAIN, "m=3"), {}, "--arg m: saxpy has no such parameter (it has: n, a, x, y)"),
        ((*PLAIN, "n=3"), {}, "--arg n is given twice"),
        (("n=1", "a=1", "x=3", "y=float32[8]"), {}, "--arg x: the parameter is a pointer (const float *)"),
        (("n=int32[3]", *PLAIN[1:]), {}, "--arg n: the parameter is no pointer (int), so it takes a value"),
        (("n=null", *PLAIN[1:]), {}, "--arg n: the parameter is no pointer (int), so it takes a value"),
        (("n=4000000000", *PLAIN[1:]), {}, "--arg n: 4000000000 does not fit int32: -2147483648 to 2147483647"),
        (("n=1.5", *PLAIN[1:]), {}, "--arg n: '1.5' is not a whole number"),
        (("n=1,2", *PLAIN[1:]), {}, "--arg n: int takes 1 numbers, not 2"),
        (("n=1", "a=1", "x=float32[3]:1,2", "y=float32[8]"), {}, "--arg x: x has 3 elements, but 2 values are given"),
        (("n=1", "a=1", "x=&z", "y=float32[8]"), {}, "--arg x: no buffer is called z"),
        (("n=1", "a=1", "x=int8[4]:integers=0,300", "y=int8[8]"), {}, "--arg x: x: random integers of int8 need"),
        (PLAIN, {"grid": "many"}, "--grid many: expected one to three whole numbers, such as 256 or 16,16 or cover"),
        (PLAIN, {"grid": "cover:z"}, "--grid: no buffer is called z"),
        (PLAIN, {"block": "1,2,3,4"}, "--block 1,2,3,4: expected one to three whole numbers"),
        (PLAIN, {"grid": "-1"}, "--grid: "),
        (("n=1", "a=1", "x=float32[600000000]", "y=float32[8]"), {}, "--arg x: x has 2,400,000,000 bytes; the limit"),
    ],
)
def test_refusals(arguments: tuple[str, ...], typed: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused) as refusal:
        planned(*arguments, **typed)
    assert said in str(refusal.value)


def test_a_file_that_is_not_what_was_written_is_refused() -> None:
    npy = NpyFile("0" * 64, "float64", (4,))
    with pytest.raises(Refused, match=r"--arg x: in.npy holds float64\[4\], not what is written there"):
        planned("n=1", "a=1", "x=float32[4]:@in.npy", "y=float32[8]", uploads={"x": npy})


@pytest.mark.parametrize("wanted", ["", "saxpy", "_Z5saxpyifPKfPf"])
def test_choosing_the_only_kernel(wanted: str) -> None:
    assert choose_entry([SAXPY], wanted) is SAXPY


@pytest.mark.parametrize(
    ("entries", "wanted", "said", "code"),
    [
        ([], "", "the source holds no __global__ function that can be launched", 1),
        ([SAXPY, SAXPY.model_copy(update={"display": "copy"})], "", "choose one with --entry (saxpy, copy)", 2),
        ([SAXPY], "saxpi", "no kernel is called saxpi; did you mean saxpy? (there are: saxpy)", 2),
    ],
)
def test_choosing_none(entries: list[Entry], wanted: str, said: str, code: int) -> None:
    with pytest.raises(Refused) as refusal:
        choose_entry(entries, wanted)
    assert said in str(refusal.value)
    assert refusal.value.code == code


@pytest.mark.parametrize(
    ("type_name", "dtype", "said"),
    [
        ("const unsigned char *", "uint8", "--arg 'p=uint8[1024]:integers=0,100,1'"),
        ("const bool *", "bool", "--arg 'p=bool[1024]:integers=0,2,1'"),
        ("const double *", "float64", "--arg 'p=float64[1024]:random'"),
        ("const Body *", None, "--arg 'p=uint8[1024]:zeros'"),
        ("cudaTextureObject_t", "uint64", "--arg p=0    (cudaTextureObject_t: a launch here has none"),
    ],
)
def test_what_is_asked_for_is_suggested_in_values_that_it_holds(type_name: str, dtype: str | None, said: str) -> None:
    pointer = type_name.endswith("*")
    parameter = Parameter.model_validate(
        {"name": "p", "type": type_name, "kind": "pointer" if pointer else "scalar", "dtype": dtype}
        | {"const": type_name.startswith("const"), "bytes": 8, "offset": 0}
    )
    with pytest.raises(Refused) as refusal:
        planned(entry=Entry(name="k", display="k", parameters=(parameter,), resources=SMALL))
    assert said in str(refusal.value)
