"""The stack of a thread: its place, and alloca, stacksave and stackrestore as arithmetic on its pointer.

The stack holds the activations of recursive functions (see `stack`) and what alloca gives out. Its pointer is a
register of each lane, an offset in local memory that grows upwards and stays a multiple of 16. Where nothing recurses,
no access to local memory may lie beyond it: what an access through a pointer runs into is then nobody's.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.analysis.flat import FlatKernel, align
from emulator.syntax.nodes import (
    TYPE_SIZES,
    AddressOperand,
    Function,
    Guard,
    ImmediateOperand,
    Instruction,
    Label,
    Operand,
    RegisterOperand,
    SymbolOperand,
)

# Behind a # no register of a program can have these names.
STACK = "%stack#"
_PLACE, _SIZE, _ROOM, _OVERFLOWS = "%alloca#place", "%alloca#size", "%alloca#room", "%alloca#overflows"
_END, _BEYOND = "%access#end", "%access#beyond"
STACK_BYTES = 16 << 10  # of a thread
FRAME_ALIGNMENT = 16
MOST_ALIGNMENT = 1 << 23
_OPCODES = ("alloca", "stacksave", "stackrestore")


def moves_stack(function: Function) -> bool:
    """Whether a function takes memory from the stack, which its return gives back."""
    return any(isinstance(item, Instruction) and item.opcode in _OPCODES for item in function.body or ())


def place_stack(flat: FlatKernel) -> None:
    """Puts the stack behind the kernel's variables in local memory, where it needs one."""
    if not flat.has_recursion and not moves_stack(replace(flat.entry, body=tuple(flat.body))):
        return
    flat.registers[STACK] = "b64"
    flat.stack_start = align(flat.local_bytes, FRAME_ALIGNMENT)
    flat.stack_bytes = STACK_BYTES
    flat.local_bytes = flat.stack_start + STACK_BYTES
    start = ImmediateOperand(flat.stack_start)
    flat.body.insert(0, Instruction("mov", ("u64",), (RegisterOperand(STACK), start), flat.entry.line))


def is_alignment(value: object) -> bool:
    """Whether alloca takes a value as its alignment."""
    return isinstance(value, int) and 0 < value <= MOST_ALIGNMENT and value & (value - 1) == 0


def expand_stack_instructions(flat: FlatKernel) -> None:
    """Replaces the validated instructions of the stack by arithmetic.

    An alloca beyond the stack's end is a trap, and so is an access to local memory beyond the stack's pointer.
    """
    if not any(isinstance(item, Instruction) and item.opcode in _OPCODES for item in flat.body):
        return
    flat.registers |= {_PLACE: "b64", _SIZE: "b64", _ROOM: "b64", _OVERFLOWS: "pred", _END: "b64", _BEYOND: "pred"}
    body: list[Label | Instruction] = []
    for number, item in enumerate(flat.body):
        if not isinstance(item, Instruction) or item.opcode not in _OPCODES:
            if isinstance(item, Instruction) and not flat.has_recursion:
                body += _bounds(flat, item)
            body.append(item)
            continue
        after = f"$after_{item.opcode}#{number}"
        if item.guard is not None:
            guard = Guard(item.guard.register, not item.guard.negated)
            body.append(Instruction("bra", (), (SymbolOperand(after),), item.line, guard, item.location))
        body += _alloca(flat, item) if item.opcode == "alloca" else [_copied(item)]
        if item.guard is not None:
            body.append(Label(after, item.line))
    flat.body = body


def _bounds(flat: FlatKernel, item: Instruction) -> list[Instruction]:
    """What stops an access through a pointer to local memory beyond the stack's pointer, for the lanes that make it."""
    address = next((operand for operand in item.operands if isinstance(operand, AddressOperand)), None)
    is_access = item.opcode in ("ld", "st") and "local" in item.modifiers
    if not is_access or address is None or address.base not in flat.registers:
        return []
    count = next((int(part[1:]) for part in item.modifiers if part in ("v2", "v4", "v8")), 1)
    last = ImmediateOperand(address.offset + count * TYPE_SIZES[item.types[-1]])
    end, stack, beyond = RegisterOperand(_END), RegisterOperand(STACK), RegisterOperand(_BEYOND)
    narrow = TYPE_SIZES[flat.registers[address.base]] == 4
    compared: tuple[Operand, ...] = (beyond, end, stack)
    relation: tuple[str, ...] = ("gt", "u64")
    if item.guard is not None:
        compared = (*compared, RegisterOperand(item.guard.register, item.guard.negated))
        relation = ("gt", "and", "u64")
    steps = [
        _assign(item, end, RegisterOperand(address.base), ("u64", "u32") if narrow else ()),
        Instruction("add", ("s64",), (end, end, last), item.line, None, item.location),
        Instruction("setp", relation, compared, item.line, None, item.location),
    ]
    trap = Instruction("trap", ("beyond", item.opcode, *item.modifiers), (), item.line, Guard(_BEYOND, False))
    return [*steps, replace(trap, location=item.location)]


def _copied(item: Instruction) -> Instruction:
    """stacksave and stackrestore."""
    narrow = item.modifiers[-1] == "u32"
    (operand,) = item.operands
    stack: Operand = RegisterOperand(STACK)
    if item.opcode == "stacksave":
        return _assign(item, operand, stack, ("u32", "u64") if narrow else ())
    return _assign(item, stack, operand, ("u64", "u32") if narrow else ())


def _alloca(flat: FlatKernel, item: Instruction) -> list[Instruction]:
    target, size, *rest = item.operands
    narrow = item.modifiers[-1] == "u32"
    alignment = rest[0].value if rest and isinstance(rest[0], ImmediateOperand) else 0
    stack, place, room = (RegisterOperand(name) for name in (STACK, _PLACE, _ROOM))
    amount, overflows = RegisterOperand(_SIZE), RegisterOperand(_OVERFLOWS)
    end = ImmediateOperand(flat.stack_start + flat.stack_bytes)

    def step(opcode: str, modifiers: str, *operands: Operand) -> Instruction:
        return Instruction(opcode, tuple(modifiers.split(".")), operands, item.line, None, item.location)

    def rounded(register: Operand, source: Operand, multiple: int) -> list[Instruction]:
        return [
            step("add", "s64", register, source, ImmediateOperand(multiple - 1)),
            step("and", "b64", register, register, ImmediateOperand(-multiple)),
        ]

    aligned = isinstance(alignment, int) and alignment > FRAME_ALIGNMENT
    trap = step("trap", "stack")
    return [
        *(rounded(place, stack, int(alignment)) if aligned else [_assign(item, place, stack, ())]),
        _assign(item, amount, size, ("u64", "u32") if narrow else ()),
        step("sub", "s64", room, end, place),
        step("setp", "gt.u64", overflows, place, end),
        step("setp", "gt.or.u64", overflows, amount, room, overflows),
        replace(trap, guard=Guard(_OVERFLOWS, False)),
        step("add", "s64", stack, place, amount),
        *rounded(stack, stack, FRAME_ALIGNMENT),
        _assign(item, target, place, ("u32", "u64") if narrow else ()),
    ]


def _assign(item: Instruction, target: Operand, source: Operand, conversion: tuple[str, ...]) -> Instruction:
    opcode, modifiers = ("cvt", conversion) if conversion else ("mov", ("u64",))
    return Instruction(opcode, modifiers, (target, source), item.line, None, item.location)
