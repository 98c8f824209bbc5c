"""A kernel as one flat body: what inlining produces and everything after it works on."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.syntax.nodes import BranchTable, Function, Instruction, Label, Module, Variable

# Functions of the CUDA device runtime that the emulator provides itself.
HOST_FUNCTIONS = frozenset({"vprintf", "__assertfail", "malloc", "free"})

# Generic addresses of spaces that are no plain memory carry a tag in their top byte.
SHARED_TAG = 1 << 56
LOCAL_TAG = 2 << 56
CODE_TAG = 4 << 56


@dataclass(slots=True)
class FlatKernel:
    """An entry with its callees inlined: unique registers, labels and variables.

    `shared` and `local` give byte offsets in the block's shared and the thread's local memory. `globals` are the
    variables that the code or other such variables refer to, in the order of the address table.
    `code_addresses` gives the value of a function's address.
    """

    name: str
    entry: Function
    module: Module
    registers: dict[str, str] = field(default_factory=dict)
    body: list[Label | Instruction] = field(default_factory=list)
    tables: dict[str, BranchTable] = field(default_factory=dict)
    shared: dict[str, int] = field(default_factory=dict)
    shared_bytes: int = 0
    dynamic_alignment: int = 16
    dynamic: set[str] = field(default_factory=set)
    local: dict[str, int] = field(default_factory=dict)
    local_bytes: int = 0
    globals: dict[str, Variable] = field(default_factory=dict)
    code_addresses: dict[str, int] = field(default_factory=dict)
    has_recursion: bool = False
    stack_start: int = 0  # in local memory
    stack_bytes: int = 0  # of a thread, 0 where there is no stack


def align(value: int, alignment: int) -> int:
    return (value + alignment - 1) // alignment * alignment
