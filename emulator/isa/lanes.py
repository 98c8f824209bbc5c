"""The lane-wise builder that instruction rows are written in, and the values that they take and return."""

from __future__ import annotations

from emulator.isa.builder import Builder, Value
from emulator.isa.integers import IntegerLanes
from emulator.isa.rounding import FloatLanes

__all__ = ["Builder", "Lanes", "Value"]


class Lanes(IntegerLanes, FloatLanes):
    """Builds LLVM IR text for one operation on every lane.

    Constants, splats, casts, comparisons, `select` and intrinsic calls come from `Builder`; integer arithmetic
    from `IntegerLanes`; floating arithmetic with PTX's roundings, `.ftz`, `.sat` and NaNs from `FloatLanes`.
    Where all operands are uniform (`lanes == 0`) the result is uniform scalar code.
    """
