"""The syntax of --arg: a buffer, a scalar, a vector, raw bytes or a null pointer, each with its name."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from cli.usage import Refused, did_you_mean
from protocol.arguments import Role
from protocol.dtypes import DType, Number

Initialiser = dict[str, object]
"""An initialiser of the protocol, as JSON; the protocol itself checks it."""
DTYPES: tuple[str, ...] = get_args(DType)
ROLES: tuple[str, ...] = get_args(Role)
CHOICES = (
    "zeros, full=3, arange, arange=START,STEP, linspace=START,STOP, random=SEED, normal=SEED, "
    "integers=LOW,HIGH,SEED, formula=…, 1,2,3 (all elements), uninitialised, @file.npy"
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_BUFFER = re.compile(r"(?P<dtype>[A-Za-z0-9_]+)\[(?P<shape>[^\]]*)\](?P<rest>:.*)?", re.DOTALL)
_TYPED = re.compile(r"(?P<dtype>[A-Za-z][A-Za-z0-9_]*):(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class GivenBuffer:
    """A buffer. A file may leave dtype and shape open; a role left open follows the kernel's const."""

    name: str
    dtype: str | None
    shape: tuple[int, ...] | None
    init: Initialiser | None
    file: Path | None = None
    role: str | None = None


@dataclass(frozen=True)
class GivenValue:
    """A scalar (one number) or a vector (several). A dtype left open follows the kernel's parameter."""

    name: str
    dtype: str | None
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class GivenAlias:
    """A pointer to a buffer that another argument declares."""

    name: str
    buffer: str


@dataclass(frozen=True)
class GivenBytes:
    """A struct by value, as its bytes in hexadecimal."""

    name: str
    hex: str


@dataclass(frozen=True)
class GivenNull:
    name: str


Given = GivenBuffer | GivenValue | GivenAlias | GivenBytes | GivenNull


def parse_argument(text: str) -> Given:
    """One --arg. Raises Refused, naming the argument and what was expected."""
    name, equals, rest = text.partition("=")
    name = name.strip()
    if not equals or not _NAME.fullmatch(name):
        raise Refused(f"--arg {text}: expected NAME=…, such as n=int32:1024 or 'x=float32[1024]:random'")
    try:
        return _parse(name, rest.strip())
    except ValueError as error:
        raise Refused(f"--arg {name}: {error}") from None


def _parse(name: str, rest: str) -> Given:
    if not rest:
        raise ValueError("nothing follows the =")
    if rest == "null":
        return GivenNull(name)
    if rest.startswith("&"):
        if not _NAME.fullmatch(rest[1:]):
            raise ValueError(f"{rest[1:]!r} is not the name of a buffer")
        return GivenAlias(name, rest[1:])
    if rest.startswith("@"):
        path, role = _split_role(rest[1:])
        return GivenBuffer(name, None, None, None, _file(path), role)
    buffer = _BUFFER.fullmatch(rest)
    if buffer:
        return _buffer(name, _dtype(buffer["dtype"]), _shape(buffer["shape"]), (buffer["rest"] or "")[1:])
    typed = _TYPED.fullmatch(rest)
    if typed and typed["dtype"] == "hex":
        if not re.fullmatch(r"([0-9a-fA-F]{2})*", typed["value"]):
            raise ValueError("hex: needs pairs of hexadecimal digits")
        return GivenBytes(name, typed["value"])
    if typed:
        return GivenValue(name, _dtype(typed["dtype"]), _numbers(typed["value"]))
    if rest in DTYPES:
        raise ValueError(f"{rest} is a dtype: add a value ({rest}:1) or a shape ('{rest}[1024]:zeros')")
    return GivenValue(name, None, _numbers(rest))


def _buffer(name: str, dtype: str, shape: tuple[int, ...], rest: str) -> GivenBuffer:
    text, role = _split_role(rest)
    if text.startswith("@"):
        return GivenBuffer(name, dtype, shape, None, _file(text[1:]), role)
    return GivenBuffer(name, dtype, shape, parse_initialiser(text) if text else {"kind": "zeros"}, None, role)


def _split_role(text: str) -> tuple[str, str | None]:
    init, _, last = text.rpartition(":")
    return (init, last) if last in ROLES else (text, None)


def _dtype(word: str) -> str:
    if word not in DTYPES:
        raise ValueError(f"{word} is not a dtype{did_you_mean(word, DTYPES)} (known: {', '.join(DTYPES)})")
    return word


def _shape(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(part) for part in re.split(r"[,x]", text.strip()))
    except ValueError:
        raise ValueError(f"[{text}] is not a shape: give extents, such as [1024] or [512,512]") from None
    if min(shape) < 1:
        raise ValueError(f"[{text}] is not a shape: each extent is at least 1")
    return shape


def _file(path: str) -> Path:
    if not path:
        raise ValueError("no file follows the @")
    return Path(path)


def _numbers(text: str) -> tuple[Number, ...]:
    return tuple(number(part) for part in text.split(","))


def number(text: str) -> Number:
    """A number as typed: int or float where JSON carries it exactly, else the text itself."""
    text = text.strip()
    if not text:
        raise ValueError("a number is missing")
    try:
        whole = int(text.replace("_", ""), 0)
        return whole if abs(whole) < 1 << 53 else str(whole)
    except ValueError:
        pass
    try:
        value = float(text)
        return value if abs(value) < float("inf") else text
    except ValueError:
        pass
    try:
        complex(text.replace(" ", ""))
    except ValueError:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{text!r} is not a number") from None
    return text


def parse_initialiser(text: str) -> Initialiser:
    """How a buffer starts, from its word. Raises ValueError in words for the user."""
    word, equals, rest = text.partition("=")
    word = word.strip()
    if word == "formula":
        return {"kind": "formula", "text": rest}
    if word in _WORDS:
        kind, forms = _WORDS[word]
        values = _numbers(rest) if equals else ()
        for form in forms:
            if len(form) == len(values):
                return {"kind": kind, **dict(zip(form, values, strict=True))}
        wanted = " or ".join(",".join(form).upper() or "nothing" for form in forms)
        raise ValueError(f"{word} takes {wanted}, not {len(values)} values")
    if "," in text or text[0].isdigit() or text[0] in "+-." or text.lower() in ("nan", "inf", "true", "false"):
        return {"kind": "literals", "values": _numbers(text)}
    raise ValueError(
        f"{word!r} is no way to start a buffer{did_you_mean(word, [*_WORDS, 'formula'])} (known: {CHOICES})"
    )


_WORDS: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "zeros": ("zeros", ((),)),
    "full": ("full", (("value",),)),
    "arange": ("arange", ((), ("start",), ("start", "step"))),
    "linspace": ("linspace", ((), ("start", "stop"))),
    "random": ("uniform", ((), ("seed",), ("low", "high"), ("low", "high", "seed"))),
    "normal": ("normal", ((), ("seed",), ("mean", "deviation"), ("mean", "deviation", "seed"))),
    "integers": ("integers", (("low", "high"), ("low", "high", "seed"))),
    "uninitialised": ("uninitialised", ((),)),
    "uninitialized": ("uninitialised", ((),)),
}
"""Word -> (kind in the protocol, the fields that its values fill, for each number of values)."""
