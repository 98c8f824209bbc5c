"""Types: of a launch's arguments in Numba's words, and of a kernel's parameters in those of the protocol."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, cast, get_args

import numpy as np

from protocol.dtypes import ITEM_BYTES, DType
from protocol.kernel import ArgumentType, Parameter

_WORD = 8
_HEAD = 5
"""Words before an array's shape: its owner, its parent, its elements, their size, its address."""
ADDRESS = 4
"""Which of an array's words is the address."""
_DTYPES = get_args(DType)


class Unfit(Exception):
    """An argument, or a type of a signature, that has no counterpart; the text says which, in plain words."""


def numba_type(argument: ArgumentType, name: str, state: bool = False) -> Any:
    """Numba's type for an argument: a contiguous array, or a number. Unfit.

    `state`: the kernel takes it as states of numba.cuda.random, which are two words each.
    """
    types = importlib.import_module("numba.cuda.types")
    if state:
        if (argument.kind, argument.dtype, argument.dimensions) != ("array", "uint64", 2):
            raise Unfit(f"{name} holds states of random numbers: give a buffer of uint64 with the shape n × 2")
        return types.Array(importlib.import_module("numba.cuda.random").xoroshiro128p_type, 1, "C")
    if argument.kind == "other" or argument.dtype is None:
        raise Unfit(f"{name}: a kernel of Numba takes buffers and numbers")
    if argument.dtype == "bfloat16":
        raise Unfit(f"{name}: Numba's arrays have no bfloat16")
    support = importlib.import_module("numba.cuda.np.numpy_support")
    scalar = support.from_dtype(np.dtype(argument.dtype))
    return types.Array(scalar, argument.dimensions, "C") if argument.kind == "array" else scalar


def argument_type(kind: Any, name: str) -> ArgumentType:
    """The reverse, for a type of a signature that the source gives. Unfit."""
    types = importlib.import_module("numba.cuda.types")
    array = isinstance(kind, types.Array)
    scalar = str(kind.dtype if array else kind)
    if scalar not in _DTYPES or (array and not 1 <= kind.ndim <= 4):
        raise Unfit(f"{name} is {kind} in the signature, which the launch form cannot give")
    return ArgumentType(
        name=name if name.isidentifier() and name.isascii() else None,
        kind="array" if array else "number",
        dtype=cast(DType, scalar),
        dimensions=kind.ndim if array else 0,
    )


def ordered(names: Sequence[str], arguments: Sequence[ArgumentType], display: str) -> list[ArgumentType]:
    """One argument a parameter: by name where all are named, as for every launch. Unfit."""
    signature = f"{display}({', '.join(names)})"
    if arguments and all(item.name is not None for item in arguments):
        given = {item.name: item for item in arguments}
        strange = [str(name) for name in given if name not in names]
        missing = [name for name in names if name not in given]
        if strange:
            raise Unfit(f"{', '.join(strange)} {'is' if len(strange) == 1 else 'are'} no parameter of {signature}")
        if missing:
            raise Unfit(f"{', '.join(missing)} {'has' if len(missing) == 1 else 'have'} no argument in {signature}")
        return [given[name] for name in names]
    if len(arguments) != len(names):
        count = f"{len(arguments)} argument{' is' if len(arguments) == 1 else 's are'} given"
        raise Unfit(f"{count}, but {signature} takes {len(names)}")
    return list(arguments)


def parameter(name: str, argument: ArgumentType, const: bool, state: bool = False) -> Parameter:
    """How the kernel gets an argument; `const`: an array that it only reads; `state` as above."""
    assert argument.dtype is not None
    size = ITEM_BYTES[argument.dtype]
    if argument.kind == "array":
        axes = argument.dimensions - state
        words = _HEAD + 2 * axes
        return Parameter(
            name=name,
            type="xoroshiro128p[:]" if state else f"{argument.dtype}[{', '.join(':' * axes)}]",
            components=2 if state else 1,
            kind="pointer",
            dtype=argument.dtype,
            const=const,
            dimensions=axes,
            pieces=(_WORD,) * words,
            bytes=_WORD * words,
            offset=0,
        )
    # A complex number goes as its two parts.
    pieces = (size // 2,) * 2 if argument.dtype.startswith("complex") else (size,)
    return Parameter(
        name=name, type=argument.dtype, kind="scalar", dtype=argument.dtype, pieces=pieces, bytes=size, offset=0
    )
