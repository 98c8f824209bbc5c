"""Conversions of half precision for processors without instructions for them, under the names that LLVM calls."""

from __future__ import annotations

HALVES = """
define float @__extendhfsf2(half %x) nounwind {
  %bits = bitcast half %x to i16
  %wide = zext i16 %bits to i32
  %magnitude = and i32 %wide, 32767
  %sign0 = and i32 %wide, 32768
  %sign = shl i32 %sign0, 16
  %moved = shl i32 %magnitude, 13
  ; the exponent's bias grows by 112; a product does this for subnormal numbers too
  %small = bitcast i32 %moved to float
  %scaled = fmul float %small, 0x46F0000000000000
  %finite = bitcast float %scaled to i32
  %special = icmp uge i32 %magnitude, 31744
  %infinite = or i32 %moved, 2139095040
  %is.nan = icmp ugt i32 %magnitude, 31744
  %quiet = select i1 %is.nan, i32 4194304, i32 0
  %strange = or i32 %infinite, %quiet
  %chosen = select i1 %special, i32 %strange, i32 %finite
  %result = or i32 %chosen, %sign
  %float = bitcast i32 %result to float
  ret float %float
}

define half @__truncsfhf2(float %x) nounwind {
  %bits = bitcast float %x to i32
  %magnitude = and i32 %bits, 2147483647
  %sign0 = lshr i32 %bits, 16
  %sign = and i32 %sign0, 32768
  ; normal numbers: rebias, and round to nearest with ties to even
  %odd0 = lshr i32 %magnitude, 13
  %odd = and i32 %odd0, 1
  %rebiased = add i32 %magnitude, -939520001
  %rounded = add i32 %rebiased, %odd
  %normal = lshr i32 %rounded, 13
  ; below 2^-14: adding 0.5 leaves the rounded mantissa in the low bits
  %value = bitcast i32 %magnitude to float
  %raised = fadd float %value, 0.5
  %raised.bits = bitcast float %raised to i32
  %subnormal = sub i32 %raised.bits, 1056964608
  %tiny = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %tiny, i32 %subnormal, i32 %normal
  %large = icmp uge i32 %magnitude, 1199566848
  %bounded = select i1 %large, i32 31744, i32 %finite
  %is.nan = icmp ugt i32 %magnitude, 2139095040
  %payload0 = lshr i32 %magnitude, 13
  %payload = and i32 %payload0, 1023
  %nan = or i32 %payload, 32256
  %chosen = select i1 %is.nan, i32 %nan, i32 %bounded
  %result = or i32 %chosen, %sign
  %half.bits = trunc i32 %result to i16
  %half = bitcast i16 %half.bits to half
  ret half %half
}
"""
HALF_SYMBOLS = ("__extendhfsf2", "__truncsfhf2")
