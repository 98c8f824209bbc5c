"""The quick functions of the special function unit by opcode, each compiled once a kernel."""

from __future__ import annotations

from collections.abc import Callable

from emulator.isa import interpolation
from emulator.isa.builder import Value
from emulator.isa.lanes import Lanes
from emulator.isa.outline import once
from emulator.isa.tangent import tanh

_FUNCTIONS: dict[str, Callable[[Lanes, Value], Value]] = {
    "rcp": interpolation.reciprocal,
    "rsqrt": interpolation.reciprocal_root,
    "sqrt": interpolation.root,
    "ex2": lambda x, a: interpolation.power(x, a, gradual=True),
    "ex2.ftz": lambda x, a: interpolation.power(x, a, gradual=False),
    "lg2": interpolation.logarithm,
    "sin": lambda x, a: interpolation.sine(x, a, cosine=False),
    "cos": lambda x, a: interpolation.sine(x, a, cosine=True),
    "tanh": tanh,
}


def quick(x: Lanes, opcode: str, a: Value, ftz: bool = False) -> Value:
    """The function of a float; `ftz` flushes subnormal numbers that go in and come out."""
    if not ftz:
        return once(x, f"quick.{opcode}", _FUNCTIONS[opcode], a)
    name = "ex2.ftz" if opcode == "ex2" else opcode
    return once(x, f"quick.{opcode}.ftz", lambda inner, v: inner.flush(_FUNCTIONS[name](inner, inner.flush(v))), a)
