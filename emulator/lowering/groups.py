"""Accesses of one block of code at fixed distances from one register, whose bounds are checked together.

All of them run under one mask, so their range is in bounds exactly where each of them is: `a[i-1] + a[i] + a[i+1]`
needs one check. The first access of a group makes the condition, with a limit that leaves room for the last one.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.analysis.operands import definitions
from emulator.lowering.access import access_of
from emulator.syntax.nodes import AddressOperand, Instruction

_WIDEST = 2048  # bytes from the first to the last access
_SPACES = ("global", "shared", "const")


@dataclass(slots=True)
class Group:
    """`low` and `high` are the least and greatest offset, `condition` the i1 once it has been made."""

    size: int
    low: int
    high: int
    members: int = 1
    condition: str | None = None

    @property
    def extra(self) -> int:
        """How many accesses follow the first one."""
        return (self.high - self.low) // self.size


class Groups:
    def __init__(self) -> None:
        self._groups: dict[int, Group] = {}

    def begin_block(self, instructions: list[Instruction]) -> None:
        """Finds the groups of a block; guarded accesses have masks of their own and stay alone."""
        self._groups = {}
        versions: dict[str, int] = {}
        found: dict[tuple[str, int, str, int, int], Group] = {}
        for instruction in instructions:
            if instruction.opcode in ("ld", "st") and instruction.guard is None:
                operand = instruction.operands[1 if instruction.opcode == "ld" else 0]
                if isinstance(operand, AddressOperand) and operand.base is not None and operand.base[0] == "%":
                    access = access_of(instruction)
                    if access.space in _SPACES:
                        phase = operand.offset % access.size
                        key = (operand.base, versions.get(operand.base, 0), access.space, access.size, phase)
                        self._join(found, key, instruction, operand.offset)
            for name in definitions(instruction):
                versions[name] = versions.get(name, 0) + 1

    def _join(
        self, found: dict[tuple[str, int, str, int, int], Group], key: tuple[str, int, str, int, int],
        instruction: Instruction, offset: int,
    ) -> None:  # fmt: skip
        group = found.get(key)
        if group is None or max(group.high, offset) - min(group.low, offset) > _WIDEST:
            group = found[key] = Group(key[3], offset, offset)
        else:
            group.low, group.high = min(group.low, offset), max(group.high, offset)
            group.members += 1
        self._groups[id(instruction)] = group

    def of(self, instruction: Instruction) -> Group | None:
        """The group of an access, None where it is alone."""
        group = self._groups.get(id(instruction))
        return group if group is not None and group.members > 1 else None
