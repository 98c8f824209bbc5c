"""The seam for observers: what compiled code may tell about itself, chosen when it is compiled.

An instrument adds code at the points below; without instruments there is none, and nothing is paid. All methods do
nothing by default. Code that is too long to repeat stands in the instrument's own support library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from emulator.isa.lanes import Value

if TYPE_CHECKING:
    from emulator.lowering.access import Access
    from emulator.lowering.emitter import Emitter
    from emulator.lowering.memory import Mask
    from emulator.syntax.nodes import Instruction

AccessKind = Literal["read", "write", "atomic", "copy"]  # a copy is an asynchronous write


@dataclass(slots=True)
class Probe:
    """Where an instrument stands: the code being emitted and the lanes that run it.

    `%ctx`, `%tls`, `%counters` (i64 each) and `%w` (the gang's number) are at hand.
    """

    emitter: Emitter
    mask: Mask

    def add(self, counter: int, amount: str) -> None:
        """Adds an i64 to a counter of this thread."""
        place = self.emitter.put(f"getelementptr i64, ptr %counters, i64 {counter}")
        old = self.emitter.put(f"load i64, ptr {place}")
        self.emitter.emit(f"store i64 {self.emitter.put(f'add i64 {old}, {amount}')}, ptr {place}")

    def active_lanes(self, word: str) -> str:
        """How many lanes a mask has, as an i64."""
        width = self.emitter.width
        self.emitter.declare(f"declare i{width} @llvm.ctpop.i{width}(i{width})")
        count = self.emitter.put(f"call i{width} @llvm.ctpop.i{width}(i{width} {word})")
        return self.emitter.put(f"zext i{width} {count} to i64")

    def spilled(self, vector: Value, tag: int = 8) -> str:
        """A pointer to a vector's elements."""
        place = self.emitter.temporary(vector.type, vector.lanes, tag)
        self.emitter.emit(f"store {vector}, ptr {place}, align 64")
        return place


class Instrument:
    """Adds nothing anywhere. `counters` names its slots; `support` is LLVM IR that defines `symbols`."""

    name: str = ""
    counters: tuple[str, ...] = ()
    symbols: Mapping[str, str] = {}  # name → declaration
    support: str = ""

    def __init__(self, first_counter: int) -> None:
        self.first = first_counter

    def on_block(self, probe: Probe, instructions: Sequence[Instruction]) -> None:
        """A block of straight-line code, these instructions, begins."""

    def on_access(
        self, probe: Probe, kind: AccessKind, access: Access, addresses: Value, values: Sequence[Value], site: int
    ) -> None:
        """Memory is accessed; `addresses` are 64 bits, one a lane; `values` are what is stored."""

    def on_stretch(self, probe: Probe, kind: AccessKind, space: str, addresses: Value, sizes: Value, site: int) -> None:
        """An asynchronous copy reads or writes a stretch of memory: addresses (i64) and bytes (i32), one a lane."""

    def on_copies(self, probe: Probe, instruction: Instruction) -> None:
        """cp.async closes a group, waits for groups, or lets an mbarrier wait for them."""

    def on_branch(self, probe: Probe, taken: str | None) -> None:
        """A branch: the mask of lanes that take it, None where all go one way."""

    def on_barrier(self, probe: Probe, instruction: Instruction, others: str | None, site: int) -> None:
        """A barrier of the block; `others` is the mask of lanes that wait elsewhere, None where there are none."""

    def on_warp(
        self, probe: Probe, instruction: Instruction, members: Value | None, others: str | None, site: int
    ) -> None:
        """An instruction of the warp, `bar.warp.sync` included, with its member mask."""
