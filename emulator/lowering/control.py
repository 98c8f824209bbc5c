"""Control flow of a gang: masks move along edges, lanes that went elsewhere wait as pending masks.

The mask discipline. `%M` holds the lanes that execute the block being entered, never none. `%P.b` holds the lanes
that wait for block b, which is always later in the graph's order than the running one. An edge goes to the earliest
block that has lanes: the static waiting sets say which blocks have to be looked at, mostly none. Every block blends
what it writes only where a waiting lane may still read the old value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from emulator.analysis.cfg import Block, Graph
from emulator.analysis.waiting import Waiting
from emulator.isa.lanes import Value
from emulator.lowering.emitter import LIKELY, Emitter


class Control(Protocol):
    """What the lowering of a kernel needs of its control flow; masks are names of LLVM values."""

    def enter(self, block: int) -> str: ...
    def edge(self, source: int, target: int, mask: str) -> None: ...
    def jump(self, block: Block, mask: str) -> None: ...
    def finish(self, source: int) -> None: ...
    def split(self, condition: Value, mask: str) -> tuple[str, str]: ...
    def exit_some(self, block: Block, leaving: str, staying: str) -> None: ...
    def branch_uniform(self, block: Block, condition: Value, mask: str) -> None: ...
    def branch_divergent(self, block: Block, condition: Value, mask: str) -> None: ...
    def switch_uniform(self, block: Block, index: Value, mask: str) -> None: ...
    def switch_divergent(self, block: Block, masks: list[str]) -> None: ...
    def others(self, source: int) -> str | None: ...
    def tire(self) -> None: ...
    def note_change(self, old: Value, new: Value) -> None: ...
    def note_wait(self, site: int, mask: str) -> None: ...
    def allocas(self) -> list[str]: ...
    def resets(self) -> list[str]: ...


class ChainControl:
    def __init__(self, emitter: Emitter, graph: Graph, waiting: Waiting, known: Mapping[int, str]) -> None:
        """`known`: masks of blocks that are the same whenever the block is entered."""
        self.emitter = emitter
        self.graph = graph
        self.waiting = waiting
        self.known = known
        self.word = f"i{emitter.width}"
        self.parked: set[int] = set()

    def enter(self, block: int) -> str:
        """Starts a block of the graph; returns its mask."""
        self.emitter.place(f"B{block}")
        return self.known.get(block) or self.emitter.put(f"load {self.word}, ptr %M")

    # Moves.

    def _sorted(self, blocks: Iterable[int]) -> list[int]:
        return sorted(blocks, key=self.graph.position.__getitem__)

    def go(self, block: int, mask: str) -> None:
        self.emitter.emit(f"store {self.word} {mask}, ptr %M")
        self.emitter.branch(f"B{block}")

    def park(self, block: int, mask: str) -> None:
        """Lanes wait for a block."""
        self.parked.add(block)
        old = self.emitter.put(f"load {self.word}, ptr %P.{block}")
        new = self.emitter.put(f"or {self.word} {old}, {mask}")
        self.emitter.emit(f"store {self.word} {new}, ptr %P.{block}")

    def _unpark(self, block: int) -> str:
        self.parked.add(block)
        mask = self.emitter.put(f"load {self.word}, ptr %P.{block}")
        self.emitter.emit(f"store {self.word} 0, ptr %P.{block}")
        return mask

    def drain(self, blocks: Iterable[int]) -> None:
        """Goes to the first of the blocks that has waiting lanes; falls through where none has."""
        for block in self._sorted(blocks):
            self.parked.add(block)
            mask = self.emitter.put(f"load {self.word}, ptr %P.{block}")
            some = self.emitter.put(f"icmp ne {self.word} {mask}, 0")
            yes, no = self.emitter.new_label("resume"), self.emitter.new_label("next")
            self.emitter.branch_if(some, yes, no)
            self.emitter.place(yes)
            self.emitter.emit(f"store {self.word} 0, ptr %P.{block}")
            self.go(block, mask)
            self.emitter.place(no)

    def finish(self, source: int) -> None:
        """The lanes of the source are done; others may wait."""
        self.drain(self.waiting[source])
        self.emitter.branch("done")

    def check_stop(self) -> None:
        """On back edges: a launch that was stopped, or is late, ends here."""
        emitter = self.emitter
        flag = emitter.put("load volatile i32, ptr %ctx")
        quiet = emitter.put(f"icmp eq i32 {flag}, 0")
        on = emitter.new_label("on")
        emitter.branch_if(quiet, on, "stopped", LIKELY)
        emitter.place(on)

    def edge(self, source: int, target: int, mask: str, also: frozenset[int] = frozenset()) -> None:
        """All lanes of `mask` go from source to target; `also` names blocks just given lanes."""
        if self.graph.is_exit(target):
            self.drain(self.waiting[source] | also)
            self.emitter.branch("done")
            return
        position = self.graph.position
        forward = position[target] > position[source]
        if not forward:
            self.check_stop()
        waiting = self.waiting[source] | also
        earlier = [block for block in waiting if forward and position[block] < position[target]]
        if earlier:
            self.park(target, mask)
            self.drain(earlier)
            mask = self._unpark(target)
        elif target in waiting:
            mask = self.emitter.put(f"or {self.word} {mask}, {self._unpark(target)}")
        self.go(target, mask)

    # Ends of blocks.

    def jump(self, block: Block, mask: str) -> None:
        self.edge(block.id, block.successors[0], mask)

    def branch_uniform(self, block: Block, condition: Value, mask: str) -> None:
        """All lanes take the same way."""
        yes, no = self.emitter.new_label("taken"), self.emitter.new_label("fallen")
        self.emitter.branch_if(condition.text, yes, no)
        for label, target in ((yes, block.successors[0]), (no, block.successors[1])):
            self.emitter.place(label)
            self.edge(block.id, target, mask)

    def split(self, condition: Value, mask: str) -> tuple[str, str]:
        """(lanes where the condition holds, lanes where it does not)."""
        bits = self.emitter.put(f"bitcast {condition} to {self.word}")
        taken = self.emitter.put(f"and {self.word} {mask}, {bits}")
        return taken, self.emitter.put(f"xor {self.word} {taken}, {mask}")

    def _if_any(self, mask: str) -> tuple[str, str]:
        some, none = self.emitter.new_label("some"), self.emitter.new_label("none")
        condition = self.emitter.put(f"icmp ne {self.word} {mask}, 0")
        self.emitter.branch_if(condition, some, none)
        return some, none

    def exit_some(self, block: Block, leaving: str, staying: str) -> None:
        """A guarded exit: some lanes end, the others fall through."""
        some, none = self._if_any(staying)
        self.emitter.place(none)
        self.finish(block.id)
        self.emitter.place(some)
        self.edge(block.id, block.successors[0], staying)

    def branch_divergent(self, block: Block, condition: Value, mask: str) -> None:
        taken, fallen = self.split(condition, mask)
        ways = [(block.successors[0], taken), (block.successors[1], fallen)]
        staying = [(target, lanes) for target, lanes in ways if not self.graph.is_exit(target)]
        if len(staying) < 2:
            if not staying:
                self.finish(block.id)
                return
            ((target, lanes),) = staying
            some, none = self._if_any(lanes)
            self.emitter.place(none)
            self.finish(block.id)
            self.emitter.place(some)
            self.edge(block.id, target, lanes)
            return
        position = self.graph.position
        (near, near_lanes), (far, far_lanes) = sorted(staying, key=lambda way: position[way[0]])
        if position[near] <= position[block.id] < position[far]:
            # A loop: those who leave wait until none goes round.
            self.park(far, far_lanes)
            some, none = self._if_any(near_lanes)
            self.emitter.place(some)
            self.edge(block.id, near, near_lanes, frozenset({far}))
            self.emitter.place(none)
            self.drain(w for w in self.waiting[block.id] if position[w] < position[far])
            self.go(far, self._unpark(far))
            return
        some_far, no_far = self._if_any(far_lanes)
        self.emitter.place(no_far)
        self.edge(block.id, near, near_lanes)
        self.emitter.place(some_far)
        some_near, no_near = self._if_any(near_lanes)
        self.emitter.place(no_near)
        self.edge(block.id, far, far_lanes)
        self.emitter.place(some_near)
        self.park(far, far_lanes)
        self.edge(block.id, near, near_lanes, frozenset({far}))

    def switch_uniform(self, block: Block, index: Value, mask: str) -> None:
        labels = [self.emitter.new_label("case") for _ in block.successors]
        cases = " ".join(f"i32 {number}, label %{label}" for number, label in enumerate(labels))
        self.emitter.emit(f"switch i32 {index.text}, label %faulted [{cases}]")
        for label, target in zip(labels, block.successors, strict=True):
            self.emitter.place(label)
            self.edge(block.id, target, mask)

    def switch_divergent(self, block: Block, masks: list[str]) -> None:
        targets: set[int] = set()
        for target, mask in zip(block.successors, masks, strict=True):
            if not self.graph.is_exit(target):
                self.park(target, mask)
                targets.add(target)
        self.check_stop()
        self.drain(self.waiting[block.id] | targets)
        self.emitter.branch("done")

    def others(self, source: int) -> str | None:
        """The mask of lanes that wait elsewhere while the source runs; None where none can."""
        total: str | None = None
        for block in self._sorted(self.waiting[source]):
            self.parked.add(block)
            mask = self.emitter.put(f"load {self.word}, ptr %P.{block}")
            total = mask if total is None else self.emitter.put(f"or {self.word} {total}, {mask}")
        return total

    def tire(self) -> None:
        """Lanes that move together have no loop in which they wait for others."""

    def note_change(self, old: Value, new: Value) -> None:
        """Nor is anything to be told of what they do."""

    def note_wait(self, site: int, mask: str) -> None:
        """Nor of what they look at."""

    # The frame of the function.

    def allocas(self) -> list[str]:
        return [f"  %M = alloca {self.word}", *(f"  %P.{block} = alloca {self.word}" for block in sorted(self.parked))]

    def resets(self) -> list[str]:
        """No lane waits when a gang begins, nor when it resumes."""
        return [f"  store {self.word} 0, ptr %P.{block}" for block in sorted(self.parked)]
