"""Floating arithmetic with PTX's four roundings, exact to the bit, without touching the CPU's rounding mode.

A directed rounding starts from the result rounded to nearest and a number with the sign of what rounding left out
(the residual: exact − rounded). Where the residual points the wrong way the result moves to its neighbour; that
also turns an overflow into the largest finite number and an underflow into the smallest subnormal one.
"""

from __future__ import annotations

from typing import Literal

from emulator.isa.builder import Builder, Value

Rounding = Literal["rn", "rz", "rm", "rp"]

INTEGER_OF = {"half": "i16", "bfloat": "i16", "float": "i32", "double": "i64"}
FRACTION_BITS = {"half": 10, "bfloat": 7, "float": 23, "double": 52}
# The NaN that the hardware returns from arithmetic: positive and all ones for single and half precision; for
# double the default of invalid operations, while a NaN among the operands is passed on, made quiet.
CANONICAL_NAN = {"half": 0x7FFF, "bfloat": 0x7FFF, "float": 0x7FFFFFFF, "double": 0xFFF8000000000000}


class FloatLanes(Builder):
    """Floating operations of the lane-wise builder. No fast-math flag is ever set.

    `lazy_nan`: set while a result's NaN bits cannot be observed, to save the instructions that make them canonical.
    """

    lazy_nan: bool = False

    # Bits of floating values.

    def to_bits(self, a: Value) -> Value:
        return self.bitcast(a, INTEGER_OF[a.type])

    def fneg(self, a: Value) -> Value:
        return self._put(f"fneg {a}", a.type, a.lanes)

    def fabs(self, a: Value) -> Value:
        return self.call("llvm.fabs", a)

    def copysign(self, magnitude: Value, sign: Value) -> Value:
        return self.call("llvm.copysign", magnitude, sign)

    def is_nan(self, a: Value) -> Value:
        return self.fcmp("uno", a, a)

    def canonical(self, a: Value, *operands: Value) -> Value:
        """A result with its NaNs as the hardware has them; a double's comes from the last NaN among `operands`."""
        if self.lazy_nan:
            return a
        nan = self.const_bits(a.type, CANONICAL_NAN[a.type])
        if a.type == "double":
            for operand in operands:  # the last one wins
                nan = self.select(self.is_nan(operand), self.quieted(operand), nan)
        return self.select(self.is_nan(a), nan, a)

    def quieted(self, a: Value) -> Value:
        """A NaN with its quiet bit set; other values make no sense here."""
        integer = INTEGER_OF[a.type]
        quiet = self.const(integer, 1 << (FRACTION_BITS[a.type] - 1))
        return self.bitcast(self.binary("or", self.to_bits(a), quiet), a.type)

    def flush(self, a: Value) -> Value:
        """`.ftz`: a subnormal becomes a zero of its sign."""
        integer = INTEGER_OF[a.type]
        bits = self.to_bits(a)
        exponent = self.const(integer, self._exponent_mask(a.type))
        subnormal = self.icmp("eq", self.binary("and", bits, exponent), self.const(integer, 0))
        zero = self.binary("and", bits, self.const(integer, 1 << (a.bits - 1)))
        return self.bitcast(self.select(subnormal, zero, bits), a.type)

    def saturate(self, a: Value) -> Value:
        """`.sat`: clamped to [0, 1]; NaN and −0 become +0."""
        zero, one = self.const(a.type, 0.0), self.const(a.type, 1.0)
        positive = self.select(self.fcmp("ogt", a, zero), a, zero)
        return self.select(self.fcmp("olt", positive, one), positive, one)

    def _exponent_mask(self, type: str) -> int:
        width = {"half": 5, "bfloat": 8, "float": 8, "double": 11}[type]
        return ((1 << width) - 1) << FRACTION_BITS[type]

    # Moving a result to its neighbour.

    def nudge(self, rounded: Value, residual: Value, mode: Rounding) -> Value:
        """The directed result, from the nearest one and a number with the sign of (exact − nearest).

        A NaN residual (an exact infinity or a NaN) moves nothing.
        """
        if mode == "rn":
            return rounded
        integer = INTEGER_OF[rounded.type]
        zero = self.const(residual.type, 0.0)
        one = self.const(integer, 1)
        bits = self.to_bits(rounded)
        negative = self.icmp("slt", bits, self.const(integer, 0))
        below, above = self.fcmp("olt", residual, zero), self.fcmp("ogt", residual, zero)
        up_magnitude, down_magnitude = self.binary("add", bits, one), self.binary("sub", bits, one)
        if mode == "rz":
            inward = self.select(negative, above, below)
            moved = self.select(inward, down_magnitude, bits)
        elif mode == "rm":
            moved = self.select(below, self.select(negative, up_magnitude, down_magnitude), bits)
        else:
            moved = self.select(above, self.select(negative, down_magnitude, up_magnitude), bits)
        return self.bitcast(moved, rounded.type)

    # Arithmetic. Operands are of one type, float or double; half types have their own file.

    def fadd(self, a: Value, b: Value, rounding: Rounding = "rn", ftz: bool = False, sat: bool = False) -> Value:
        a, b = self._sources(ftz, a, b)
        total = self.binary("fadd", a, b)
        if rounding != "rn":
            total = self._directed_sum(total, self._sum_residual(total, a, b), a, b, rounding)
        # No sum of normal numbers is inexact and subnormal: flushing after the rounding is right.
        return self._result(self.flush(total) if ftz else total, sat, a, b)

    def fsub(self, a: Value, b: Value, rounding: Rounding = "rn", ftz: bool = False, sat: bool = False) -> Value:
        a, b = self._sources(ftz, a, b)
        if rounding == "rn":
            difference = self.binary("fsub", a, b)
        else:
            minus = self.fneg(b)
            difference = self.binary("fadd", a, minus)
            difference = self._directed_sum(difference, self._sum_residual(difference, a, minus), a, minus, rounding)
        return self._result(self.flush(difference) if ftz else difference, sat, a, b)

    def fmul(self, a: Value, b: Value, rounding: Rounding = "rn", ftz: bool = False, sat: bool = False) -> Value:
        a, b = self._sources(ftz, a, b)
        product = self._product(a, b, rounding)
        if ftz:
            product = self._flush_tiny(product, self._product(self._raised(a), b, rounding))
        return self._result(product, sat, a, b)

    def _product(self, a: Value, b: Value, rounding: Rounding) -> Value:
        product = self.binary("fmul", a, b)
        return product if rounding == "rn" else self.nudge(product, self._product_residual(product, a, b), rounding)

    def fma(
        self, a: Value, b: Value, c: Value, rounding: Rounding = "rn", ftz: bool = False, sat: bool = False
    ) -> Value:
        a, b, c = self._sources(ftz, a, b, c)
        result = self._fused(a, b, c, rounding)
        if ftz:
            result = self._flush_tiny(result, self._fused(self._raised(a), b, self._raised(c), rounding))
        return self._result(result, sat, a, c, b)

    def _fused(self, a: Value, b: Value, c: Value, rounding: Rounding) -> Value:
        result = self.call("llvm.fma", a, b, c)
        if rounding == "rn":
            return result
        product = self.binary("fmul", a, b)  # for its sign
        return self._directed_sum(result, self._fma_residual(result, a, b, c), product, c, rounding)

    def fdiv(self, a: Value, b: Value, rounding: Rounding = "rn", ftz: bool = False) -> Value:
        a, b = self._sources(ftz, a, b)
        quotient = self._quotient_of(a, b, rounding)
        if ftz:
            quotient = self._flush_tiny(quotient, self._quotient_of(self._raised(a), b, rounding))
        return self._result(quotient, False, b, a)

    def _quotient_of(self, a: Value, b: Value, rounding: Rounding) -> Value:
        quotient = self.binary("fdiv", a, b)
        return quotient if rounding == "rn" else self.nudge(quotient, self._quotient_residual(quotient, a, b), rounding)

    def sqrt(self, a: Value, rounding: Rounding = "rn", ftz: bool = False) -> Value:
        (a,) = self._sources(ftz, a)
        root = self.call("llvm.sqrt", a)
        if rounding != "rn":
            root = self.nudge(root, self._root_residual(root, a), rounding)
        return self._result(root, False, a)

    def _sources(self, ftz: bool, *operands: Value) -> tuple[Value, ...]:
        return tuple(self.flush(operand) for operand in operands) if ftz else operands

    def _result(self, value: Value, sat: bool, *operands: Value) -> Value:
        return self.saturate(value) if sat else self.canonical(value, *operands)

    def _raised(self, a: Value) -> Value:
        return self.binary("fmul", a, self.const("float", 2.0**24))

    def _flush_tiny(self, result: Value, raised: Value) -> Value:
        """`.ftz` of a float result, given the same operation 2²⁴ times larger.

        The hardware calls a result tiny where it would round below 2⁻¹²⁶ with an unbounded exponent, so numbers just
        below 2⁻¹²⁶ are flushed that would round up to it. The raised result has the unbounded exponent; where
        raising an operand overflowed, the result is far from tiny and the comparison with ∞ or NaN fails.
        """
        tiny = self.fcmp("olt", self.fabs(raised), self.const("float", 2.0**-102))
        zero = self.bitcast(self.binary("and", self.to_bits(result), self.const("i32", 1 << 31)), "float")
        return self.select(tiny, zero, result)

    # Residuals: numbers with the sign of (exact − rounded), each with the reason why the sign is exact.

    def _wide(self, a: Value) -> Value:
        return self.cast(a, "fpext", "double")

    def _directed_sum(self, total: Value, residual: Value, a: Value, b: Value, mode: Rounding) -> Value:
        """IEEE 754 §6.3: an exact zero sum is −0 when rounding down, unless both terms are +0."""
        if mode == "rm":
            zero = self.fcmp("oeq", total, self.const(total.type, 0.0))
            zero = self.binary("and", zero, self.fcmp("oeq", residual, self.const(residual.type, 0.0)))
            integer = INTEGER_OF[a.type]
            signs = self.binary("or", self.to_bits(a), self.to_bits(b))
            signs = self.binary("and", signs, self.const(integer, 1 << (a.bits - 1)))
            total = self.select(zero, self.bitcast(signs, a.type), total)
        return self.nudge(total, residual, mode)

    def _sum_residual(self, total: Value, a: Value, b: Value) -> Value:
        """Fast2Sum on operands ordered by magnitude: exact for every sum that does not overflow.

        Where the sum overflows (finite operands, infinite total) the residual points back to the finite side.
        """
        swap = self.fcmp("olt", self.fabs(a), self.fabs(b))
        large, small = self.select(swap, b, a), self.select(swap, a, b)
        residual = self.binary("fsub", small, self.binary("fsub", total, large))
        return self._toward_finite(residual, total, a, b)

    def _toward_finite(self, residual: Value, total: Value, *operands: Value) -> Value:
        """−total where the operands are finite and the total is infinite; NaN where an operand is not finite."""
        infinity = self.const_bits(total.type, self._exponent_mask(total.type))
        overflowed = self.fcmp("oeq", self.fabs(total), infinity)
        for operand in operands:
            finite = self.fcmp("one", self.fabs(operand), infinity)
            overflowed = self.binary("and", overflowed, finite)
        return self.select(overflowed, self.fneg(total), residual)

    def _product_residual(self, product: Value, a: Value, b: Value) -> Value:
        if a.type == "float":
            # 24 + 24 bits fit a double, and so does the difference's sign.
            exact = self.binary("fmul", self._wide(a), self._wide(b))
            return self._difference(exact, self._wide(product))
        # fma(a, b, −p) is exact unless the product is so small that its low half underflows. Then both factors
        # are scaled by 2⁶⁰⁰ (neither can overflow: |ab| < 2⁻⁹⁰⁰ and |a|, |b| ≥ 2⁻¹⁰⁷⁴ leave both below 2¹⁷⁴),
        # after which the low half is a multiple of 2¹²⁰⁰⁻²¹⁴⁸.
        small = self.fcmp("olt", self.fabs(product), self.const("double", 2.0**-900))
        up = self.select(small, self.const("double", 2.0**600), self.const("double", 1.0))
        scaled = self.binary("fmul", self.binary("fmul", product, up), up)
        residual = self.call("llvm.fma", self.binary("fmul", a, up), self.binary("fmul", b, up), self.fneg(scaled))
        return self._toward_finite(residual, product, a, b)

    def _difference(self, exact: Value, rounded: Value) -> Value:
        """exact − rounded: the sign of a difference of doubles is exact; inf − inf is NaN and moves nothing."""
        return self.binary("fsub", exact, rounded)

    def _quotient_residual(self, quotient: Value, a: Value, b: Value) -> Value:
        """sign(a − q·b)·sign(b) = sign(a/b − q)."""
        if a.type == "float":
            product = self.binary("fmul", self._wide(quotient), self._wide(b))  # exact: 24 + 24 bits
            return self.copy_sign_product(self._difference(self._wide(a), product), self._wide(b))
        mantissa_a, exponent_a = self.normalise(a)
        mantissa_b, exponent_b = self.normalise(b)
        shift = self.binary("sub", exponent_b, exponent_a)
        scaled = self.scale(quotient, shift)
        # Mantissas lie in [1, 2) and the scaled quotient in [0, 4): neither half of q·b can underflow or overflow.
        residual = self.call("llvm.fma", self.fneg(scaled), mantissa_b, mantissa_a)
        residual = self.copy_sign_product(residual, b)
        zero = self.const("double", 0.0)
        nothing = self.binary("and", self.fcmp("oeq", quotient, zero), self.fcmp("one", a, zero))
        infinity = self.const_bits("double", self._exponent_mask("double"))
        nothing = self.binary("and", nothing, self.fcmp("one", self.fabs(b), infinity))
        residual = self.select(nothing, self.copysign(self.const("double", 1.0), quotient), residual)
        exact = self.fcmp("ueq", self.fabs(a), infinity)
        exact = self.binary("or", exact, self.fcmp("ueq", self.fabs(b), infinity))
        exact = self.binary("or", exact, self.fcmp("oeq", b, zero))
        exact = self.binary("or", exact, self.fcmp("oeq", a, zero))
        overflowed = self.fcmp("oeq", self.fabs(quotient), infinity)
        residual = self.select(overflowed, self.fneg(quotient), residual)
        return self.select(exact, zero, residual)

    def copy_sign_product(self, a: Value, b: Value) -> Value:
        """a times the sign of b."""
        integer = INTEGER_OF[a.type]
        sign = self.binary("and", self.to_bits(b), self.const(integer, 1 << (a.bits - 1)))
        return self.bitcast(self.binary("xor", self.to_bits(a), sign), a.type)

    def _root_residual(self, root: Value, a: Value) -> Value:
        """sign(a − r²) = sign(√a − r)."""
        if a.type == "float":
            wide = self._wide(root)
            return self._difference(self._wide(a), self.binary("fmul", wide, wide))  # exact: 24 + 24 bits
        # Below 2⁻⁸⁰⁰ the low half of r² would underflow: scale a by 2²⁰⁰ and so r by 2¹⁰⁰.
        small = self.fcmp("olt", a, self.const("double", 2.0**-800))
        one = self.const("double", 1.0)
        root = self.binary("fmul", root, self.select(small, self.const("double", 2.0**100), one))
        a = self.binary("fmul", a, self.select(small, self.const("double", 2.0**200), one))
        return self.call("llvm.fma", self.fneg(root), root, a)

    def _fma_residual(self, result: Value, a: Value, b: Value, c: Value) -> Value:
        if a.type == "float":
            # The product is exact in a double; the sum with c is s + e exactly (Fast2Sum). s and the result are
            # doubles, and s is the nearest double to the exact value: their order decides, then e's sign.
            product = self.binary("fmul", self._wide(a), self._wide(b))
            wide_c, rounded = self._wide(c), self._wide(result)
            total = self.binary("fadd", product, wide_c)
            rest = self._sum_residual(total, product, wide_c)
            differs = self.fcmp("une", total, rounded)
            return self.select(differs, self._difference(total, rounded), rest)
        return self._double_fma_residual(result, a, b, c)

    def normalise(self, a: Value) -> tuple[Value, Value]:
        """(m, e) with a = m·2ᵉ, 1 ≤ |m| < 2, for finite non-zero doubles; e is i64. Other values give no meaning."""
        tiny = self.fcmp("olt", self.fabs(a), self.const("double", 2.0**-1022))
        raised = self.select(tiny, self.binary("fmul", a, self.const("double", 2.0**54)), a)
        bits = self.to_bits(raised)
        field = self.binary("and", self.binary("lshr", bits, self.const("i64", 52)), self.const("i64", 0x7FF))
        bias = self.select(tiny, self.const("i64", 1023 + 54), self.const("i64", 1023))
        fraction = self.binary("and", bits, self.const("i64", 0x800FFFFFFFFFFFFF - (1 << 64)))
        mantissa = self.bitcast(self.binary("or", fraction, self.const("i64", 1023 << 52)), "double")
        return mantissa, self.binary("sub", field, bias)

    def scale(self, a: Value, exponent: Value) -> Value:
        """a·2^exponent for doubles and |exponent| ≤ 3000, exact where no step leaves the normal range.

        In four equal steps, so that each factor is a normal number.
        """
        quarter = self.binary("ashr", exponent, self.const("i64", 2))
        rest = self.binary("sub", exponent, self.binary("mul", quarter, self.const("i64", 3)))
        step, last = self._power_of_two(quarter), self._power_of_two(rest)
        for factor in (step, step, step, last):
            a = self.binary("fmul", a, factor)
        return a

    def _power_of_two(self, exponent: Value) -> Value:
        biased = self.binary("add", exponent, self.const("i64", 1023))
        return self.bitcast(self.binary("shl", biased, self.const("i64", 52)), "double")

    def two_sum(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Knuth's TwoSum: s + e = a + b exactly, for operands far from the ends of the range."""
        total = self.binary("fadd", a, b)
        back = self.binary("fsub", total, a)
        rest = self.binary(
            "fadd", self.binary("fsub", a, self.binary("fsub", total, back)), self.binary("fsub", b, back)
        )
        return total, rest

    def _double_fma_residual(self, result: Value, a: Value, b: Value, c: Value) -> Value:
        """The sign of a·b + c − r for doubles by exact expansion arithmetic, at any exponents.

        Everything is scaled so that the larger of |ab| and |c| is near 1. The smaller is kept above 2⁻³⁰⁰ by
        raising its exponent: it then still lies far below every bit of the others, and only its sign counts.
        """
        zero = self.const("double", 0.0)
        (ma, ea), (mb, eb), (mc, ec) = self.normalise(a), self.normalise(b), self.normalise(c)
        product_zero = self.binary("or", self.fcmp("oeq", a, zero), self.fcmp("oeq", b, zero))
        c_zero = self.fcmp("oeq", c, zero)
        low = self.const("i64", -3000)
        ep = self.select(product_zero, low, self.binary("add", ea, eb))
        ec = self.select(c_zero, low, ec)
        top = self.call("llvm.smax", ep, ec)
        floor = self.const("i64", -300)
        down_p = self.call("llvm.smax", self.binary("sub", ep, top), floor)
        down_c = self.call("llvm.smax", self.binary("sub", ec, top), floor)
        ma = self.select(product_zero, zero, ma)
        mc = self.select(c_zero, zero, mc)
        ma = self.binary("fmul", ma, self._power_of_two(down_p))
        mc = self.binary("fmul", mc, self._power_of_two(down_c))
        # The result is 0 or at least 2⁻¹⁰⁷⁴; below top = −1090 a non-zero one has been rounded away from zero.
        far = self.icmp("slt", top, self.const("i64", -1090))
        shift = self.binary("sub", self.const("i64", 0), self.call("llvm.smax", top, self.const("i64", -1090)))
        scaled = self.scale(result, shift)
        high = self.binary("fmul", ma, mb)
        tail = self.call("llvm.fma", ma, mb, self.fneg(high))
        # Shewchuk's grow-expansion: (tail, high) + c, then − r. The last non-zero component has the sum's sign.
        s1, e1 = self.two_sum(mc, tail)
        s2, e2 = self.two_sum(s1, high)
        minus = self.fneg(scaled)
        t1, f1 = self.two_sum(minus, e1)
        t2, f2 = self.two_sum(t1, e2)
        t3, f3 = self.two_sum(t2, s2)
        sign = t3
        for lower in (f3, f2, f1):
            sign = self.select(self.fcmp("oeq", sign, zero), lower, sign)
        away = self.select(self.fcmp("oeq", result, zero), s2, self.fneg(result))
        sign = self.select(far, away, sign)
        infinity = self.const_bits("double", self._exponent_mask("double"))
        overflowed = self.fcmp("oeq", self.fabs(result), infinity)
        sign = self.select(overflowed, self.fneg(result), sign)
        exact = self.is_nan(result)
        for operand in (a, b, c):
            exact = self.binary("or", exact, self.fcmp("oeq", self.fabs(operand), infinity))
        return self.select(exact, zero, sign)
