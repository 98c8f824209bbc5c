"""Control flow of kernels whose lanes need independent progress: each lane has its own next block.

Used where a barrier is reached by some lanes of a gang only, where functions are recursive, and where lanes may spin
until others have moved. Registers live in the gang's frame. `FRAME_NEXT` holds every lane's next block, as its
position in the graph's order. The dispatcher runs the lanes of the earliest block together; every `PATIENCE` back
edges it gives way: to lanes that wait in later blocks, and to the other gangs of the block.
"""

from __future__ import annotations

from emulator.analysis.cfg import Block, Graph
from emulator.analysis.progress import spinning_blocks
from emulator.isa.builder import BITS
from emulator.isa.lanes import Value
from emulator.lowering import abi
from emulator.lowering.emitter import LIKELY, Emitter

PATIENCE = 256
SPIN = 16  # back edges that one counts for in a loop which only looks at memory
_CLUSTER_WAIT = [
    f"  %cluster.p = getelementptr i8, ptr %frame, i64 {abi.FRAME_CLUSTER_WAITING}",
    "  %clusterwait = load i32, ptr %cluster.p",
    "  %blocked = or i32 %anywait, %clusterwait",
]
_WARP_WAIT = [
    f"  %apart.p = getelementptr i8, ptr %frame, i64 {abi.FRAME_WARP_WAITING}",
    "  %apart.before = load i32, ptr %apart.p",
    "  %nobody.waits = icmp eq i32 %apart.before, 0",
    "  br i1 %nobody.waits, label %together, label %meet",
    "meet:",
    "  call void @meet_lanes(ptr %frame)",
    "  br label %together",
    "together:",
    "  %apart = load i32, ptr %apart.p",
    "  %apart.not = xor i32 %apart, -1",
    "  %can = and i32 %unblocked, %apart.not",
]
_NOBODY = 1 << 20  # the next block of a lane that cannot run


class DispatchControl:
    def __init__(self, emitter: Emitter, graph: Graph) -> None:
        self.emitter = emitter
        self.spinning = spinning_blocks(graph)
        self.lanes = emitter.lanes
        self.graph = graph
        self.word = f"i{emitter.width}"
        self.vector = f"<{emitter.width} x i32>"
        self.meets = False  # whether lanes may wait for others of their warp
        self.extra: list[str] = []  # labels of code behind barriers, numbered behind the blocks

    def enter(self, block: int) -> str:
        self.emitter.place(f"B{block}")
        return self.emitter.put(f"load {self.word}, ptr %M")

    def _field(self, offset: int) -> str:
        return self.emitter.put(f"getelementptr i8, ptr %frame, i64 {offset}")

    def set_next(self, mask: str, position: int) -> None:
        """The lanes of the mask continue at a position."""
        place = self._field(abi.FRAME_NEXT)
        old = self.emitter.put(f"load {self.vector}, ptr {place}, align 64")
        lanes = self.emitter.put(f"bitcast {self.word} {mask} to <{self.emitter.width} x i1>")
        new = self.emitter.put(
            f"select <{self.emitter.width} x i1> {lanes}, {self.vector} splat (i32 {position}), {self.vector} {old}"
        )
        self.emitter.emit(f"store {self.vector} {new}, ptr {place}, align 64")

    def _go(self, target: int, mask: str) -> None:
        self.emitter.emit(f"store {self.word} {mask}, ptr %M")
        self.emitter.branch(f"B{target}")

    def _give_way(self, source: int) -> None:
        """Counts down on back edges; at 0 the next dispatch starts behind the source, after the other gangs."""
        emitter = self.emitter
        flag = emitter.put("load volatile i32, ptr %ctx")
        quiet = emitter.put(f"icmp eq i32 {flag}, 0")
        on = emitter.new_label("on")
        emitter.branch_if(quiet, on, "stopped", LIKELY)
        emitter.place(on)
        place = self._field(abi.FRAME_PATIENCE)
        left = emitter.put(f"load i32, ptr {place}")
        less = emitter.put(f"sub i32 {left}, {SPIN if source in self.spinning else 1}")
        emitter.emit(f"store i32 {less}, ptr {place}")
        spent = emitter.put(f"icmp slt i32 {left}, 1")
        tired, fresh = emitter.new_label("tired"), emitter.new_label("fresh")
        emitter.branch_if(spent, tired, fresh)
        emitter.place(tired)
        emitter.emit(f"store i32 {PATIENCE}, ptr {place}")
        first = self.graph.position[source] + 1
        emitter.emit(f"store i32 {first}, ptr {self._field(abi.FRAME_FIRST)}")
        emitter.branch("yield")
        emitter.place(fresh)

    def edge(self, source: int, target: int, mask: str) -> None:
        if self.graph.is_exit(target):
            self.leave(mask)
            return
        position = self.graph.position
        back = position[target] <= position[source]
        emitter = self.emitter
        if back:
            self.set_next(mask, position[target])
            self._give_way(source)
        runnable = emitter.put(f"load {self.word}, ptr %runnable")
        alone = emitter.put(f"icmp eq {self.word} {runnable}, {mask}")
        direct, others = emitter.new_label("alone"), emitter.new_label("others")
        emitter.branch_if(alone, direct, others)
        emitter.place(others)
        if not back:
            self.set_next(mask, position[target])
        emitter.branch("dispatch")
        emitter.place(direct)
        self._go(target, mask)

    def leave(self, mask: str) -> None:
        """The lanes end."""
        place = self._field(abi.FRAME_ALIVE)
        alive = self.emitter.put(f"load {self.word}, ptr {place}")
        kept = self.emitter.put(f"xor {self.word} {mask}, -1")
        self.emitter.emit(f"store {self.word} {self.emitter.put(f'and {self.word} {alive}, {kept}')}, ptr {place}")
        self.emitter.branch("dispatch")

    # Ends of blocks.

    def jump(self, block: Block, mask: str) -> None:
        self.edge(block.id, block.successors[0], mask)

    def finish(self, source: int) -> None:
        self.leave(self.emitter.put(f"load {self.word}, ptr %M"))

    def branch_uniform(self, block: Block, condition: Value, mask: str) -> None:
        yes, no = self.emitter.new_label("taken"), self.emitter.new_label("fallen")
        self.emitter.branch_if(condition.text, yes, no)
        for label, target in ((yes, block.successors[0]), (no, block.successors[1])):
            self.emitter.place(label)
            self.edge(block.id, target, mask)

    def split(self, condition: Value, mask: str) -> tuple[str, str]:
        bits = self.emitter.put(f"bitcast {condition} to {self.word}")
        taken = self.emitter.put(f"and {self.word} {mask}, {bits}")
        return taken, self.emitter.put(f"xor {self.word} {taken}, {mask}")

    def exit_some(self, block: Block, leaving: str, staying: str) -> None:
        self.set_next(staying, self.graph.position[block.successors[0]])
        self.leave(leaving)

    def branch_divergent(self, block: Block, condition: Value, mask: str) -> None:
        emitter = self.emitter
        taken, fallen = self.split(condition, mask)
        for lanes, target in ((fallen, block.successors[0]), (taken, block.successors[1])):
            whole, mixed = emitter.new_label("whole"), emitter.new_label("mixed")
            emitter.branch_if(emitter.put(f"icmp eq {self.word} {lanes}, 0"), whole, mixed)
            emitter.place(whole)
            self.edge(block.id, target, mask)
            emitter.place(mixed)
        self._scatter(block, [(block.successors[0], taken), (block.successors[1], fallen)])

    def _scatter(self, block: Block, ways: list[tuple[int, str]]) -> None:
        position = self.graph.position
        leaving: list[str] = []
        for target, lanes in ways:
            if self.graph.is_exit(target):
                leaving.append(lanes)
            else:
                self.set_next(lanes, position[target])
        if any(position[target] <= position[block.id] for target, _ in ways):
            self._give_way(block.id)
        for lanes in leaving[:-1]:
            place = self._field(abi.FRAME_ALIVE)
            alive = self.emitter.put(f"load {self.word}, ptr {place}")
            kept = self.emitter.put(f"xor {self.word} {lanes}, -1")
            self.emitter.emit(f"store {self.word} {self.emitter.put(f'and {self.word} {alive}, {kept}')}, ptr {place}")
        if leaving:
            self.leave(leaving[-1])
        else:
            self.emitter.branch("dispatch")

    def switch_uniform(self, block: Block, index: Value, mask: str) -> None:
        vector = self.lanes.splat(index)
        masks = [
            self.split(self.lanes.icmp("eq", vector, self.lanes.const("i32", number)), mask)[0]
            for number in range(len(block.successors))
        ]
        self.switch_divergent(block, masks)

    def switch_divergent(self, block: Block, masks: list[str]) -> None:
        self._scatter(block, list(zip(block.successors, masks, strict=True)))

    def new_position(self) -> tuple[int, str]:
        """A position and label for code behind a barrier."""
        label = self.emitter.new_label("behind")
        self.extra.append(label)
        return len(self.graph.order) + len(self.extra) - 1, label

    def others(self, source: int) -> str | None:
        """The mask of lanes that are elsewhere: all that live but the running ones."""
        alive = self.emitter.put(f"load {self.word}, ptr {self._field(abi.FRAME_ALIVE)}")
        here = self.emitter.put(f"load {self.word}, ptr %M")
        return self.emitter.put(f"and {self.word} {alive}, {self.emitter.put(f'xor {self.word} {here}, -1')}")

    def missing(self, members: Value, waiting: str) -> str:
        """The living lanes that those who wait name, but that do not wait with them."""
        width = self.emitter.width
        lanes = self.emitter.value(f"bitcast {self.word} {waiting} to <{width} x i1>", "i1", width)
        named = self.lanes.select(lanes, members, self.lanes.splat(self.lanes.const("i32", 0)))
        self.emitter.declare(f"declare i32 @llvm.vector.reduce.or.v{width}i32(<{width} x i32>)")
        all_named = self.emitter.put(f"call i32 @llvm.vector.reduce.or.v{width}i32({named})")
        alive = self.emitter.put(f"load {self.word}, ptr {self._field(abi.FRAME_ALIVE)}")
        absent = self.emitter.put(f"xor {self.word} {waiting}, -1")
        return self.emitter.put(
            f"and {self.word} {all_named}, {self.emitter.put(f'and {self.word} {alive}, {absent}')}"
        )

    def wait_for(self, members: Value, waiting: str) -> None:
        """The lanes wait until all the members have come, see `meet_lanes` of the support library."""
        self.meets = True
        width = self.emitter.width
        place = self._field(abi.FRAME_MEMBERS)
        name = f"llvm.masked.store.v{width}i32.p0"
        self.emitter.declare(f"declare void @{name}(<{width} x i32>, ptr, <{width} x i1>)")
        lanes = self.emitter.put(f"bitcast {self.word} {waiting} to <{width} x i1>")
        self.emitter.emit(f"call void @{name}({members}, ptr align 64 {place}, <{width} x i1> {lanes})")
        field = self._field(abi.FRAME_WARP_WAITING)
        before = self.emitter.put(f"load {self.word}, ptr {field}")
        self.emitter.emit(f"store {self.word} {self.emitter.put(f'or {self.word} {before}, {waiting}')}, ptr {field}")

    def tire(self) -> None:
        """At the next back edge the gang gives way."""
        self.emitter.emit(f"store i32 0, ptr {self._field(abi.FRAME_PATIENCE)}")

    def _worker(self, offset: int) -> str:
        return self.emitter.put(f"getelementptr i8, ptr %tls, i64 {offset}")

    def note_change(self, old: Value, new: Value) -> None:
        """An atomic operation that leaves memory as it was, on a lock that is taken, is no activity."""
        emitter, bits = self.emitter, f"i{BITS[old.type]}"
        before, after = self.lanes.bitcast(old, bits), self.lanes.bitcast(new, bits)
        differs = emitter.put(f"zext i1 {self.lanes.icmp('ne', before, after).text} to i32")
        place = self._worker(abi.WORKER_ACTIVITY)
        seen = emitter.put(f"load i32, ptr {place}")
        emitter.emit(f"store i32 {emitter.put(f'or i32 {seen}, {differs}')}, ptr {place}")

    def note_wait(self, site: int, mask: str) -> None:
        """Where a deadlock is reported, if it comes to one; an address of −1 is no mbarrier's."""
        emitter = self.emitter
        emitter.declare("declare i32 @llvm.cttz.i32(i32, i1)")
        lane = emitter.put(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 true)")
        for offset, value in (
            (abi.WORKER_WAIT_SITE, f"i32 {site + 1}"), (abi.WORKER_WAIT_GANG, "i32 %w"),
            (abi.WORKER_WAIT_LANE, f"i32 {lane}"), (abi.WORKER_WAIT_ADDRESS, "i64 -1"),
        ):  # fmt: skip
            emitter.emit(f"store {value}, ptr {self._worker(offset)}")

    # The frame of the function.

    def allocas(self) -> list[str]:
        return [f"  %M = alloca {self.word}", f"  %runnable = alloca {self.word}"]

    def resets(self) -> list[str]:
        """All that outlives a suspension is in the gang's frame."""
        return []

    def entry(self, in_cluster: bool, meets: bool) -> list[str]:
        """Code that starts a gang or lets it continue.

        `in_cluster`: it may wait at the cluster's barrier. `meets`: its lanes may wait for each other.
        """
        width, word, vector = self.emitter.width, self.word, self.vector
        spread = f"<{width} x i32> zeroinitializer"
        return [
            "  %state = load i32, ptr %frame",
            "  %started = icmp ne i32 %state, 0",
            f"  %next.p = getelementptr i8, ptr %frame, i64 {abi.FRAME_NEXT}",
            f"  %alive.p = getelementptr i8, ptr %frame, i64 {abi.FRAME_ALIVE}",
            f"  %waiting.p = getelementptr i8, ptr %frame, i64 {abi.FRAME_WAITING}",
            f"  %first.p = getelementptr i8, ptr %frame, i64 {abi.FRAME_FIRST}",
            f"  %patience.p = getelementptr i8, ptr %frame, i64 {abi.FRAME_PATIENCE}",
            "  br i1 %started, label %dispatch, label %begin",
            "begin:",
            "  store i32 1, ptr %frame",
            f"  store i32 {PATIENCE}, ptr %patience.p",
            f"  store <{width} x i32> zeroinitializer, ptr %next.p, align 64",
            "  br label %dispatch",
            "dispatch:",
            f"  %alive = load {word}, ptr %alive.p",
            "  %waits = load <16 x i32>, ptr %waiting.p, align 4",
            "  %anywait = call i32 @llvm.vector.reduce.or.v16i32(<16 x i32> %waits)",
            *(_CLUSTER_WAIT if in_cluster else []),
            f"  %free = xor {word} %{'blocked' if in_cluster else 'anywait'}, -1",
            f"  %unblocked = and {word} %alive, %free",
            *(_WARP_WAIT if meets else [f"  %can = or {word} %unblocked, 0"]),
            f"  store {word} %can, ptr %runnable",
            f"  %nobody = icmp eq {word} %can, 0",
            "  br i1 %nobody, label %idle, label %choose",
            "idle:",
            f"  %over = icmp eq {word} %alive, 0",
            "  br i1 %over, label %done, label %yield",
            "yield:",
            f"  ret i32 {abi.SUSPENDED}",
            "choose:",
            f"  %canv = bitcast {word} %can to <{width} x i1>",
            f"  %next = load <{width} x i32>, ptr %next.p, align 64",
            "  %first = load i32, ptr %first.p",
            "  store i32 0, ptr %first.p",
            f"  %first0 = insertelement <{width} x i32> poison, i32 %first, i64 0",
            f"  %firstv = shufflevector {vector} %first0, {vector} poison, {spread}",
            # Positions before `first` come after all others.
            f"  %early = icmp ult <{width} x i32> %next, %firstv",
            f"  %late = add <{width} x i32> %next, splat (i32 {_NOBODY // 2})",
            f"  %turn = select <{width} x i1> %early, <{width} x i32> %late, <{width} x i32> %next",
            f"  %key = select <{width} x i1> %canv, <{width} x i32> %turn, <{width} x i32> splat (i32 {_NOBODY})",
            f"  %least = call i32 @llvm.vector.reduce.umin.v{width}i32(<{width} x i32> %key)",
            f"  %least0 = insertelement <{width} x i32> poison, i32 %least, i64 0",
            f"  %leastv = shufflevector {vector} %least0, {vector} poison, {spread}",
            f"  %chosen = icmp eq <{width} x i32> %key, %leastv",
            f"  %mask = bitcast <{width} x i1> %chosen to {word}",
            f"  store {word} %mask, ptr %M",
            f"  %target = and i32 %least, {_NOBODY // 2 - 1}",
            self._switch(),
        ]

    def _switch(self) -> str:
        labels = [f"B{block}" for block in self.graph.order] + self.extra
        cases = " ".join(f"i32 {position}, label %{label}" for position, label in enumerate(labels))
        return f"  switch i32 %target, label %faulted [{cases}]"

    def declarations(self) -> list[str]:
        width = self.emitter.width
        return [
            "declare i32 @llvm.vector.reduce.or.v16i32(<16 x i32>)",
            f"declare i32 @llvm.vector.reduce.umin.v{width}i32(<{width} x i32>)",
            "declare void @meet_lanes(ptr)",
        ]
