"""Integer arithmetic on every lane, total where PTX is: wide shifts, division by zero and INT_MIN / −1 are defined."""

from __future__ import annotations

from emulator.isa.builder import Builder, Value


class IntegerLanes(Builder):
    """Integer operations of the lane-wise builder. Operands of one operation have one type unless said."""

    def add(self, a: Value, b: Value) -> Value:
        return self.binary("add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return self.binary("sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        return self.binary("mul", a, b)

    def and_(self, a: Value, b: Value) -> Value:
        return self.binary("and", a, b)

    def or_(self, a: Value, b: Value) -> Value:
        return self.binary("or", a, b)

    def xor(self, a: Value, b: Value) -> Value:
        return self.binary("xor", a, b)

    def not_(self, a: Value) -> Value:
        return self.xor(a, self.const(a.type, -1 if a.type != "i1" else 1))

    def neg(self, a: Value) -> Value:
        return self.sub(self.const(a.type, 0), a)

    def abs(self, a: Value) -> Value:
        """Two's complement magnitude; the most negative number stays as it is."""
        return self.call("llvm.abs", a, self.const("i1", 0))

    def umin(self, a: Value, b: Value) -> Value:
        return self.call("llvm.umin", a, b)

    def umax(self, a: Value, b: Value) -> Value:
        return self.call("llvm.umax", a, b)

    def smin(self, a: Value, b: Value) -> Value:
        return self.call("llvm.smin", a, b)

    def smax(self, a: Value, b: Value) -> Value:
        return self.call("llvm.smax", a, b)

    # Shifts: the amount is an unsigned number of any integer type; amounts of the width and beyond shift all out.

    def _amount(self, a: Value, amount: Value, limit: int) -> tuple[Value, bool]:
        """The amount in a's type, at most `limit`, and whether it is surely below a's width."""
        known = amount.constant
        if known is not None:
            known &= (1 << amount.bits) - 1
            return self.const(a.type, min(known, limit)), known < a.bits
        bounded = self.umin(amount, self.const(amount.type, limit))
        return self.resize(bounded, a.type), limit < a.bits

    def shl(self, a: Value, amount: Value) -> Value:
        shift, safe = self._amount(a, amount, a.bits)
        return self._shift("shl", a, shift, safe)

    def lshr(self, a: Value, amount: Value) -> Value:
        shift, safe = self._amount(a, amount, a.bits)
        return self._shift("lshr", a, shift, safe)

    def ashr(self, a: Value, amount: Value) -> Value:
        shift, _ = self._amount(a, amount, a.bits - 1)
        return self.binary("ashr", a, shift)

    def _shift(self, operation: str, a: Value, shift: Value, safe: bool) -> Value:
        if safe:
            return self.binary(operation, a, shift)
        # Masking the amount keeps LLVM's shift defined; the select gives PTX's zero.
        masked = self.binary(operation, a, self.and_(shift, self.const(a.type, a.bits - 1)))
        return self.select(self.icmp("ult", shift, self.const(a.type, a.bits)), masked, self.const(a.type, 0))

    # Division: x / 0 is all ones, as the hardware's sequence leaves it; INT_MIN / −1 wraps to INT_MIN.

    def udiv(self, a: Value, b: Value) -> Value:
        quotient, zero = self._quotient(a, b, signed=False)
        return quotient if zero is None else self.select(zero, self.const(a.type, -1), quotient)

    def sdiv(self, a: Value, b: Value) -> Value:
        quotient, zero = self._quotient(a, b, signed=True)
        return quotient if zero is None else self.select(zero, self.const(a.type, -1), quotient)

    def urem(self, a: Value, b: Value) -> Value:
        return self._remainder(a, b, signed=False)

    def srem(self, a: Value, b: Value) -> Value:
        """The remainder with the sign of the dividend."""
        return self._remainder(a, b, signed=True)

    def _remainder(self, a: Value, b: Value, signed: bool) -> Value:
        quotient, zero = self._quotient(a, b, signed)
        rest = self.sub(a, self.mul(quotient, b))
        return rest if zero is None else self.select(zero, self.const(a.type, -1), rest)

    def _quotient(self, a: Value, b: Value, signed: bool) -> tuple[Value, Value | None]:
        """The quotient, and where the divisor is zero (None: nowhere)."""
        zero = None
        if b.constant in (None, 0, -1):
            zero = self.icmp("eq", b, self.const(b.type, 0))
            avoid = zero
            if signed:
                lowest = self.icmp("eq", a, self.const(a.type, 1 << (a.bits - 1)))
                minus = self.icmp("eq", b, self.const(b.type, -1))
                avoid = self.or_(zero, self.and_(lowest, minus))
            b = self.select(avoid, self.const(b.type, 1), b)
            if (a.lanes or b.lanes) and a.bits <= 32:
                # No vector unit divides integers; a double holds both exactly. The nearest double to a quotient
                # never crosses an integer from below: a non-integer quotient stays 1/|b| ≥ 2⁻³² short of the next
                # one, and its rounding error is at most |a/b|·2⁻⁵³ < 2⁻²¹/|b|.
                to, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
                ratio = self.binary("fdiv", self.cast(a, to, "double"), self.cast(b, to, "double"))
                return self.cast(ratio, back, a.type), zero
        return self.binary("sdiv" if signed else "udiv", a, b), zero

    # Bits.

    def popc(self, a: Value) -> Value:
        """The number of ones, in a's type."""
        return self.call("llvm.ctpop", a)

    def clz(self, a: Value) -> Value:
        """Leading zeros, in a's type; the width for 0."""
        return self.call("llvm.ctlz", a, self.const("i1", 0))

    def ctz(self, a: Value) -> Value:
        """Trailing zeros, in a's type; the width for 0."""
        return self.call("llvm.cttz", a, self.const("i1", 0))

    def brev(self, a: Value) -> Value:
        return self.call("llvm.bitreverse", a)

    def bfind(self, a: Value, signed: bool) -> Value:
        """Position of the highest bit that differs from the sign (from zero if unsigned); −1 where none does."""
        if signed:
            a = self.xor(a, self.ashr(a, self.const(a.type, a.bits - 1)))
        return self.sub(self.const(a.type, a.bits - 1), self.clz(a))

    # Saturation, and products wider than their factors.

    def add_saturated(self, a: Value, b: Value) -> Value:
        return self.call("llvm.sadd.sat", a, b)

    def sub_saturated(self, a: Value, b: Value) -> Value:
        return self.call("llvm.ssub.sat", a, b)

    def add_carry(self, a: Value, b: Value, carry: Value | None = None) -> tuple[Value, Value]:
        """a + b + carry and the carry out (i1)."""
        total = self.add(a, b)
        out = self.icmp("ult", total, a)
        if carry is None:
            return total, out
        final = self.add(total, self.resize(carry, a.type))
        return final, self.or_(out, self.icmp("ult", final, total))

    def sub_borrow(self, a: Value, b: Value, borrow: Value | None = None) -> tuple[Value, Value]:
        """a − (b + borrow) and the borrow out (i1)."""
        difference = self.sub(a, b)
        out = self.icmp("ult", a, b)
        if borrow is None:
            return difference, out
        taken = self.resize(borrow, a.type)
        return self.sub(difference, taken), self.or_(out, self.icmp("ult", difference, taken))

    def mul_wide(self, a: Value, b: Value, signed: bool) -> Value:
        """The whole product, in the type of twice the width."""
        wide = f"i{2 * a.bits}"
        return self.mul(self.resize(a, wide, signed), self.resize(b, wide, signed))

    def mul_high(self, a: Value, b: Value, signed: bool) -> Value:
        """The upper half of the product."""
        product = self.mul_wide(a, b, signed)
        return self.resize(self.lshr(product, self.const(product.type, a.bits)), a.type)
