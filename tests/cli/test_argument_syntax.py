"""What each form of --arg means, and what is said of a wrong one."""

from pathlib import Path

import pytest

from cli.argument_syntax import (
    Given,
    GivenAlias,
    GivenBuffer,
    GivenBytes,
    GivenNull,
    GivenValue,
    parse_argument,
    parse_initialiser,
)
from cli.usage import Refused


def buffer(init: dict[str, object], role: str | None = None, shape: tuple[int, ...] = (4,)) -> GivenBuffer:
    return GivenBuffer("x", "float32", shape, init, None, role)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n=int32:1048576", GivenValue("n", "int32", (1048576,))),
        ("n=1_048_576", GivenValue("n", None, (1048576,))),
        ("n=-3", GivenValue("n", None, (-3,))),
        ("n=0xff", GivenValue("n", None, (255,))),
        ("n=uint64:18446744073709551615", GivenValue("n", "uint64", ("18446744073709551615",))),
        ("a=2.5", GivenValue("a", None, (2.5,))),
        ("a=float32:nan", GivenValue("a", "float32", ("nan",))),
        ("a=-inf", GivenValue("a", None, ("-inf",))),
        ("a=complex64:1+2j", GivenValue("a", "complex64", ("1+2j",))),
        ("b=bool:true", GivenValue("b", "bool", ("true",))),
        ("v=1,2,3,4", GivenValue("v", None, (1, 2, 3, 4))),
        ("v=float32:1,2.5", GivenValue("v", "float32", (1, 2.5))),
        ("p=null", GivenNull("p")),
        ("y=&x", GivenAlias("y", "x")),
        ("s=hex:00ffAA", GivenBytes("s", "00ffAA")),
        ("x=float32[4]", buffer({"kind": "zeros"})),
        ("x=float32[4]:out", buffer({"kind": "zeros"}, "out")),
        ("x=float32[2,2]:zeros:in", buffer({"kind": "zeros"}, "in", (2, 2))),
        ("x=float32[2x2]:zeros", buffer({"kind": "zeros"}, shape=(2, 2))),
        ("x=float32[4]:1,2,3,nan:inout", buffer({"kind": "literals", "values": (1, 2, 3, "nan")}, "inout")),
        ("x=float32[4]:formula=i > 2 ? 1 : 0:out", buffer({"kind": "formula", "text": "i > 2 ? 1 : 0"}, "out")),
        ("x=@data/in.npy", GivenBuffer("x", None, None, None, Path("data/in.npy"))),
        ("x=@in:1.npy:in", GivenBuffer("x", None, None, None, Path("in:1.npy"), "in")),
        ("x=float32[4]:@in.npy", GivenBuffer("x", "float32", (4,), None, Path("in.npy"))),
    ],
)
def test_forms(text: str, expected: Given) -> None:
    assert parse_argument(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zeros", {"kind": "zeros"}),
        ("full=3", {"kind": "full", "value": 3}),
        ("arange", {"kind": "arange"}),
        ("arange=1", {"kind": "arange", "start": 1}),
        ("arange=0,2", {"kind": "arange", "start": 0, "step": 2}),
        ("linspace=-1,1", {"kind": "linspace", "start": -1, "stop": 1}),
        ("random", {"kind": "uniform"}),
        ("random=7", {"kind": "uniform", "seed": 7}),
        ("random=-1,1,7", {"kind": "uniform", "low": -1, "high": 1, "seed": 7}),
        ("normal=7", {"kind": "normal", "seed": 7}),
        ("normal=5,0.5", {"kind": "normal", "mean": 5, "deviation": 0.5}),
        ("integers=0,10", {"kind": "integers", "low": 0, "high": 10}),
        ("integers=0,10,7", {"kind": "integers", "low": 0, "high": 10, "seed": 7}),
        ("formula=sin(i/nx)", {"kind": "formula", "text": "sin(i/nx)"}),
        ("1.5", {"kind": "literals", "values": (1.5,)}),
        ("true,false", {"kind": "literals", "values": ("true", "false")}),
        ("uninitialised", {"kind": "uninitialised"}),
        ("uninitialized", {"kind": "uninitialised"}),
    ],
)
def test_initialisers(text: str, expected: dict[str, object]) -> None:
    assert parse_initialiser(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n", "--arg n: expected NAME=…"),
        ("2n=3", "expected NAME=…"),
        ("n=", "--arg n: nothing follows the ="),
        ("n=int23:4", "--arg n: int23 is not a dtype; did you mean int32?"),
        ("n=int32:four", "--arg n: 'four' is not a number"),
        ("n=int32", "--arg n: int32 is a dtype: add a value (int32:1) or a shape"),
        ("x=float32[]:zeros", "--arg x: [] is not a shape"),
        ("x=float32[0]:zeros", "--arg x: [0] is not a shape: each extent is at least 1"),
        ("x=float99[4]:zeros", "--arg x: float99 is not a dtype"),
        ("x=float32[4]:zeroes", "--arg x: 'zeroes' is no way to start a buffer; did you mean zeros?"),
        ("x=float32[4]:full", "--arg x: full takes VALUE, not 0 values"),
        ("x=float32[4]:linspace=1", "--arg x: linspace takes nothing or START,STOP, not 1 values"),
        ("x=float32[4]:1,2,,4", "--arg x: a number is missing"),
        ("x=@", "--arg x: no file follows the @"),
        ("y=&", "--arg y: '' is not the name of a buffer"),
        ("s=hex:0f0", "--arg s: hex: needs pairs of hexadecimal digits"),
    ],
)
def test_faults(text: str, said: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_argument(text)
    assert said in str(refusal.value)
    assert refusal.value.code == 2
