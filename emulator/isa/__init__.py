"""The instruction table: one documented row an opcode and family, and what each legal form does.

form = lookup(instruction)              # Form, or a Problem that says what is supported
results = form.lower(lanes, operands)   # emits LLVM IR for one lane, or one warp with `active`
"""

from emulator.isa.form import LLVM_TYPES, Atomic, Form, Row
from emulator.isa.lanes import Lanes, Value
from emulator.isa.special import SPECIAL_REGISTERS, SpecialRegister
from emulator.isa.table import lookup, rows, supported

__all__ = [
    "LLVM_TYPES",
    "SPECIAL_REGISTERS",
    "Atomic",
    "Form",
    "Lanes",
    "Row",
    "SpecialRegister",
    "Value",
    "lookup",
    "rows",
    "supported",
]
