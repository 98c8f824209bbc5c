"""The hyperbolic tangent within the error that the manual documents: the quick function without a measured table."""

from __future__ import annotations

import math

from emulator.isa.builder import Value
from emulator.isa.interpolation import power
from emulator.isa.lanes import Lanes

# Taylor's series of tanh a / a in a², from a¹⁰ down, by Bernoulli's numbers.
_BERNOULLI = ((10, 5 / 66), (8, -1 / 30), (6, 1 / 42), (4, -1 / 30), (2, 1 / 6))
_TANH = [2**n * (2**n - 1) * b / math.factorial(n) for n, b in _BERNOULLI]


def tanh(x: Lanes, a: Value) -> Value:
    """tanh in single precision: 2⁻²⁰ relative, where the manual allows 2⁻¹¹."""
    magnitude = x.fabs(a)
    exponential = power(x, x.binary("fmul", magnitude, x.const("float", 2 / math.log(2))), gradual=False)
    one = x.const("float", 1.0)
    large = x.binary("fsub", one, x.binary("fdiv", x.const("float", 2.0), x.binary("fadd", exponential, one)))
    square = x.binary("fmul", a, a)
    series = x.const("float", _TANH[0])
    for coefficient in _TANH[1:]:
        series = x.call("llvm.fma", series, square, x.const("float", coefficient))
    near = x.fcmp("olt", magnitude, x.const("float", 0.35))
    return x.copysign(x.select(near, x.binary("fmul", magnitude, series), large), a)
