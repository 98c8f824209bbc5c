"""Checks a flat kernel before anything is derived from it: forms, operands, names and widths.

Behind this pass every register and symbol exists and every operand has the kind and width that its form wants, so
that whatever a PTX text says ends either in code or in problems that name the instruction.
"""

from __future__ import annotations

from emulator.analysis.alloca import MOST_ALIGNMENT, is_alignment
from emulator.analysis.classify import special_shape
from emulator.analysis.flat import FlatKernel
from emulator.analysis.gang import Gang
from emulator.analysis.operands import destination_count, is_sink
from emulator.analysis.rules import REGISTER_TYPES
from emulator.isa.builder import BITS
from emulator.isa.form import LLVM_TYPES, Form
from emulator.isa.rows.sparse import selectors_of
from emulator.isa.special import SPECIAL_REGISTERS
from emulator.isa.table import lookup
from emulator.lowering.asynchronous import is_asynchronous, operand_pattern
from emulator.syntax.nodes import (
    TYPE_SIZES,
    AddressOperand,
    ImmediateOperand,
    Instruction,
    Operand,
    PairOperand,
    Problem,
    RegisterOperand,
    SymbolOperand,
    VectorOperand,
)

# What the operands of forms that the table leaves open must be: D and V registers or vectors to write and to read,
# A an address, R a register or constant, S one that holds an address, P a predicate, Q a register for either, L a
# label, N an alignment, T a branch table, C a cache policy (where the form has a hint), M a register of 64 bits to
# write or the sink, X a predicate or 32 bits, ? marks what may be absent.
_PATTERNS = {
    "ld": "DA", "ldu": "DA", "st": "AV", "atom": "DAV", "atom.cas": "DARR", "red": "AV", "cvta": "DR", "isspacep": "QR",
    "bra": "L", "brx": "RT", "ret": "", "exit": "", "trap": "", "brkpt": "", "membar": "", "fence": "",
    "nanosleep": "R", "pmevent": "R", "griddepcontrol": "", "setmaxnreg": "R",
    "alloca": "DRN?", "stacksave": "D", "stackrestore": "R",
    "prefetch": "A", "prefetchu": "A", "discard": "AR", "applypriority": "AR",
    "wmma.load": "DAR?", "wmma.store": "AVR?", "ldmatrix": "DA", "stmatrix": "AV",
    "mapa": "DSR", "getctarank": "DR", "bar.cluster": "",
    "bar.sync": "RR?", "bar.arrive": "RR", "bar.warp": "R", "bar.red": "QRR?P",
}  # fmt: skip
_TYPED = ("ld", "ldu", "st", "atom", "red", "alloca", "stacksave", "stackrestore")
_BARRIER_PARTS = ("cluster", "warp", "arrive", "red", "sync")


class _Bad(Exception):
    """Raised and caught inside this pass."""


def validate(flat: FlatKernel) -> list[Problem]:
    """All that is wrong with the kernel's instructions, at most one problem each, in their order."""
    checker = _Checker(flat)
    problems: list[Problem] = []
    for item in flat.body:
        if isinstance(item, Instruction):
            try:
                problem = checker.check(item)
            except _Bad as bad:
                problem = Problem(str(bad), item.line, item.location, item.form)
            if problem is not None:
                problems.append(problem)
    return problems


class _Checker:
    def __init__(self, flat: FlatKernel) -> None:
        self.flat = flat
        self.gang = Gang((32, 1, 1))
        self.parameters = {p.name for p in flat.entry.parameters}

    def check(self, item: Instruction) -> Problem | None:
        if item.guard is not None and self._bits(item.guard.register) != 1:
            raise _Bad(f"the guard {item.guard.register} is no predicate")
        if item.opcode == "call" and item.call is not None:
            for argument in item.call.arguments:
                self._readable(argument, None)
            return None
        if item.opcode == "trap" and "callee" in item.modifiers:
            return None
        if item.opcode == "copy":
            self._writable(item.operands[0], None)
            self._readable(item.operands[1], None)
            return None
        form = lookup(item)
        if isinstance(form, Problem):
            return form
        if form.row.notation.positions is None:
            pattern = pattern_of(item)
            if pattern is None:
                return Problem(f"{item.form} is not supported", item.line, item.location, item.form)
            self._pattern(item, pattern)
        else:
            self._row(item, form)
        return None

    # Forms whose operands the table describes.

    def _row(self, item: Instruction, form: Form) -> None:
        count = destination_count(item)
        targets, sources = _flat(item.operands[:count]), _flat(item.operands[count:])
        target_types = [t for t in form.destinations if t != "cc"]
        source_types = [t for t in form.sources if t != "cc"]
        if len(targets) != len(target_types) or len(sources) != len(source_types):
            raise _Bad(f"{item.form} has a wrong number of operands")
        wider = item.opcode == "cvt"
        for operand, type in zip(targets, target_types, strict=True):
            self._writable(operand, type, wider)
        for operand, type in zip(sources, source_types, strict=True):
            self._readable(operand, type, wider)
        selectors = selectors_of(form)
        if selectors is not None:
            selector = sources[-1]
            if not isinstance(selector, ImmediateOperand) or selector.value not in range(selectors):
                raise _Bad(f"the selector of {item.form} must be a constant from 0 to {selectors - 1}")

    # Forms whose operands stand in the patterns above.

    def _pattern(self, item: Instruction, pattern: str) -> None:
        operands = item.operands
        kinds = pattern.replace("?", "")
        if len(operands) < len(kinds) and "?" in pattern:
            # The one optional operand is absent.
            at = pattern.index("?") - 1
            kinds = kinds[:at] + kinds[at + 1 :]
        if len(operands) != len(kinds):
            raise _Bad(f"{item.form} has a wrong number of operands")
        has_type = item.opcode in _TYPED and "bulk" not in item.modifiers
        type = item.types[-1] if has_type and item.types else None
        if has_type and (type is None or type not in LLVM_TYPES or type == "pred"):
            raise _Bad(f"{item.form} names no type that can be in memory")
        for kind, operand in zip(kinds, operands, strict=True):
            self._one(item, kind, operand, type)

    def _one(self, item: Instruction, kind: str, operand: Operand, type: str | None) -> None:
        if kind == "A":
            self._address(operand)
        elif kind == "D":
            for element in _flat((operand,)):
                self._writable(element, type, wider=True)
        elif kind == "V":
            elements = _flat((operand,))
            present = [element for element in elements if not is_sink(element)]
            # Stores of 32 bytes may leave elements out.
            parts = present if item.opcode == "st" and {"v8", "v4"} & set(item.modifiers) and present else elements
            if len(parts) < len(elements) and TYPE_SIZES.get(type or "", 0) * len(elements) != 32:
                parts = elements
            for element in parts:
                self._readable(element, type, wider=True)
        elif kind == "Q":
            if not isinstance(operand, RegisterOperand) or operand.name not in self.flat.registers:
                raise _Bad("a result needs a register")
        elif kind == "M":
            self._writable(operand, "b64")
        elif kind == "X":
            if not isinstance(operand, RegisterOperand) or self._bits(operand.name) != 1:
                self._readable(operand, "b32")
        elif kind == "P":
            self._readable(operand, "pred")
        elif kind in "RS":
            self._readable(operand, type, wider=True)
        elif kind == "N":
            if not isinstance(operand, ImmediateOperand) or not is_alignment(operand.value):
                raise _Bad(f"the alignment of {item.form} must be a power of two up to {MOST_ALIGNMENT}")
        elif kind == "C":
            self._readable(operand, "b64")
        elif not isinstance(operand, SymbolOperand):
            raise _Bad(f"{item.form} needs the name of a {'label' if kind == 'L' else 'list of targets'}")
        elif kind == "T" and operand.name not in self.flat.tables:
            raise _Bad(f"the list of targets '{operand.name}' is not defined")

    # Operands.

    def _bits(self, register: str) -> int:
        if register in self.flat.registers:
            return BITS[REGISTER_TYPES[self.flat.registers[register]]]
        if register in SPECIAL_REGISTERS:
            return BITS[special_shape(register, self.gang).type]
        raise _Bad(f"the register {register} is not declared or not supported")

    def _known(self, name: str) -> bool:
        flat = self.flat
        tables = (flat.shared, flat.dynamic, flat.local, flat.globals, flat.code_addresses, self.parameters)
        return any(name in table for table in tables)

    def _fits(self, register: str, type: str | None, wider: bool) -> None:
        bits = self._bits(register)
        if type is None:
            if bits == 1:
                raise _Bad(f"the predicate {register} stands where a value is needed")
            return
        wanted = 1 if type == "pred" else 8 * TYPE_SIZES[type]
        # Bytes live in wider registers everywhere.
        if bits == wanted or (bits > wanted > 1 and (wider or wanted == 8 or register in SPECIAL_REGISTERS)):
            return
        raise _Bad(f"the register {register} has {bits} bits where .{type} is needed")

    def _writable(self, operand: Operand, type: str | None, wider: bool = False) -> None:
        if is_sink(operand):
            return
        if not isinstance(operand, RegisterOperand) or operand.name not in self.flat.registers:
            raise _Bad("a result needs a register")
        self._fits(operand.name, type, wider)

    def _readable(self, operand: Operand, type: str | None, wider: bool = False) -> None:
        if isinstance(operand, RegisterOperand):
            self._fits(operand.name, type, wider)
            if operand.negated and self._bits(operand.name) != 1:
                raise _Bad(f"!{operand.name} negates what is no predicate")
        elif isinstance(operand, SymbolOperand):
            if is_sink(operand):
                raise _Bad("'_' holds no value and can be written alone")
            if not self._known(operand.name):
                raise _Bad(f"'{operand.name}' is not defined")
            if type is not None and TYPE_SIZES.get(type, 0) not in (4, 8):
                raise _Bad(f"the address of '{operand.name}' does not fit .{type}")
        elif not isinstance(operand, ImmediateOperand):
            raise _Bad("an address or vector stands where a value is needed")

    def _address(self, operand: Operand) -> None:
        if not isinstance(operand, AddressOperand):
            raise _Bad("an address in brackets is needed")
        if operand.base is None:
            return
        if operand.base[0] == "%":
            if self._bits(operand.base) not in (32, 64):
                raise _Bad(f"the register {operand.base} cannot hold an address")
        elif not self._known(operand.base):
            raise _Bad(f"'{operand.base}' is not defined")


def pattern_of(item: Instruction) -> str | None:
    """The pattern of the operands of a form that the table leaves open, None where there is none."""
    pattern = operand_pattern(item) if is_asynchronous(item) else _PATTERNS.get(_pattern_name(item))
    if pattern is not None and "L2::cache_hint" in item.modifiers:
        # The policy stands behind everything but a mask of bytes.
        pattern = pattern[:-1] + "CR" if "cp_mask" in item.modifiers else pattern + "C"
    return pattern


def _pattern_name(item: Instruction) -> str:
    opcode, modifiers = item.opcode, item.modifiers
    if opcode in ("bar", "barrier"):
        return "bar." + next((part for part in _BARRIER_PARTS if part in modifiers), "")
    if opcode == "atom" and "cas" in modifiers:
        return "atom.cas"
    if opcode == "wmma":
        return f"wmma.{modifiers[0]}"
    return opcode


def _flat(operands: tuple[Operand, ...]) -> list[Operand]:
    found: list[Operand] = []
    for operand in operands:
        if isinstance(operand, VectorOperand):
            found += operand.elements
        elif isinstance(operand, PairOperand):
            found += [operand.first, operand.second]
        else:
            found.append(operand)
    return found
