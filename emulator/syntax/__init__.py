"""PTX text of every dialect to a tree of frozen dataclasses."""

from emulator.syntax.nodes import (
    AddressOperand,
    Function,
    Guard,
    ImmediateOperand,
    Instruction,
    Module,
    Operand,
    PairOperand,
    Parameter,
    Problem,
    RegisterOperand,
    SourceLocation,
    SymbolOperand,
    Variable,
    VectorOperand,
)
from emulator.syntax.parser import parse

__all__ = [
    "AddressOperand",
    "Function",
    "Guard",
    "ImmediateOperand",
    "Instruction",
    "Module",
    "Operand",
    "PairOperand",
    "Parameter",
    "Problem",
    "RegisterOperand",
    "SourceLocation",
    "SymbolOperand",
    "Variable",
    "VectorOperand",
    "parse",
]
