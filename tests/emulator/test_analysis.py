"""Orders of blocks, shapes of values and layouts of threads are what a brute-force look says they are."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from emulator.analysis import shapes
from emulator.analysis.cfg import Block, Graph, loop_aware_order
from emulator.analysis.gang import Gang
from emulator.analysis.shapes import AbstractScalars, Shape, affine, uniform, wrap
from emulator.analysis.together import meeting_blocks
from emulator.analysis.waiting import analyse_waiting
from emulator.syntax.nodes import Guard, Instruction

SCALARS = AbstractScalars()
GRAPHS = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3, unique=True), min_size=n, max_size=n)
)


def reachable(successors: list[list[int]], start: int) -> set[int]:
    seen, stack = {start}, [start]
    while stack:
        for node in successors[stack.pop()]:
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return seen


@settings(max_examples=200, deadline=None)
@given(GRAPHS)
def test_order_is_topological_but_for_cycles(successors: list[list[int]]) -> None:
    order, _ = loop_aware_order(successors, 0)
    assert order[0] == 0
    assert sorted(order) == sorted(reachable(successors, 0))
    position = {node: index for index, node in enumerate(order)}
    for node in order:
        for target in successors[node]:
            assert position[target] > position[node] or node in reachable(successors, target)


def test_loops_are_contiguous_and_exits_follow() -> None:
    # 0 → 1; 1 → 2 | 5; 2 → 3 | 4; 3 → 1; 4 → 1; 5 is the exit
    order, irreducible = loop_aware_order([[1], [5, 2], [3, 4], [1], [1], []], 0)
    assert order[-1] == 5 and set(order[1:5]) == {1, 2, 3, 4}
    assert not irreducible


def test_two_entries_are_irreducible() -> None:
    assert loop_aware_order([[1, 2], [2], [1, 3], []], 0)[1]


def graph_of(successors: list[list[int]], leaves: set[int]) -> Graph:
    """Blocks in `leaves` may end a thread where they have a successor."""
    order, irreducible = loop_aware_order(successors, 0)
    if irreducible:
        reject()
    ret = Instruction("ret", (), (), 1)
    blocks = [Block(number, successors=targets) for number, targets in enumerate(successors)]
    for block in blocks:
        if not block.successors:
            block.terminator = ret
        elif block.id in leaves and len(block.successors) == 1:
            block.terminator = replace(ret, guard=Guard("%p1", False))
    return Graph(blocks, order, {block: index for index, block in enumerate(order)}, irreducible)


@settings(max_examples=300, deadline=None)
@given(GRAPHS, st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)), st.randoms(use_true_random=False))
def test_all_lanes_are_in_a_block_that_they_enter_together(
    successors: list[list[int]], parting: set[int], leaves: set[int], chance: Random
) -> None:
    """Lanes take random ways, the earliest block that has some goes first."""
    graph = graph_of(successors, leaves)
    leaving = {n for n in leaves if n < len(successors) and len(successors[n]) == 1}
    divergent = {n for n in graph.order if n in parting and (len(successors[n]) > 1 or n in leaving)}
    together = meeting_blocks(graph, divergent, analyse_waiting(graph, divergent))
    assert 0 in together or divergent
    lanes: list[int | None] = [0] * 3
    for _ in range(60):
        here = min((n for n in lanes if n is not None), key=graph.position.__getitem__, default=None)
        if here is None:
            return
        assert here not in together or lanes == [here] * 3
        ways: list[int | None] = [*successors[here], *([None] if here in leaving or not successors[here] else [])]
        shared = chance.choice(ways)
        moved = [chance.choice(ways) if here in divergent else shared for _ in lanes]
        lanes = [way if lane == here else lane for lane, way in zip(lanes, moved, strict=True)]


def test_lanes_that_part_meet_behind_the_branch_and_not_behind_an_end() -> None:
    # 0 → 1 | 2; 1 → 2; 2 → 3 | 4; 3 → 4; 4 is the exit
    graph = graph_of([[1, 2], [2], [3, 4], [4], []], set())
    assert meeting_blocks(graph, {0}, analyse_waiting(graph, {0})) == {0, 2, 3, 4}
    # 0 → 1 | 3; 1 → 1 | 2; 2 → 3; 3 is the exit
    graph = graph_of([[1, 3], [1, 2], [3], []], set())
    assert meeting_blocks(graph, {0}, analyse_waiting(graph, {0})) == {0, 3}
    assert meeting_blocks(graph, {1}, analyse_waiting(graph, {1})) == {0, 2, 3}


def lanes_of(shape: Shape) -> list[int]:
    """The value of each lane of a shape with known scalars."""
    assert isinstance(shape.base, int) and isinstance(shape.step, int) and isinstance(shape.rest, int)
    if shape.kind == "uniform":
        return [shape.base] * 4
    axis = shape.axis or (0,) * len(shape.pattern)
    narrow = [wrap(shape.base + p + shape.step * a, 32) for p, a in zip(shape.pattern, axis, strict=True)]
    if shape.kind == "affine":
        return narrow
    extended = [v if shape.signed else v & 0xFFFFFFFF for v in narrow]
    extra = shape.extra or (0,) * len(extended)
    return [wrap(v * shape.scale + shape.rest + e, 64) for v, e in zip(extended, extra, strict=True)]


WORDS = st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-40, 40))
AFFINE = st.builds(
    lambda base, pattern: affine(base, tuple(pattern), 0, SCALARS),
    WORDS, st.lists(st.integers(-100, 100), min_size=4, max_size=4),
)  # fmt: skip
NARROW = st.one_of(AFFINE, st.builds(lambda v: uniform("i32", v), WORDS))


def check(result: Shape | None, expected: list[int], bits: int) -> None:
    if result is not None:
        assert lanes_of(result) == [wrap(value, bits) for value in expected]


@settings(max_examples=300, deadline=None)
@given(NARROW, NARROW, st.integers(0, 31), st.integers(-9, 9), st.booleans())
def test_algebra_is_lane_wise(a: Shape, b: Shape, count: int, factor: int, signed: bool) -> None:
    x, y = lanes_of(a), lanes_of(b)
    pairs = list(zip(x, y, strict=True))
    check(shapes.add(a, b, SCALARS), [p + q for p, q in pairs], 32)
    check(shapes.add(a, b, SCALARS, -1), [p - q for p, q in pairs], 32)
    check(shapes.multiply(a, b, SCALARS), [p * q for p, q in pairs], 32)
    check(shapes.bitwise_and(a, b, SCALARS), [p & q for p, q in pairs], 32)
    check(shapes.bitwise_or(a, b, SCALARS), [p | q for p, q in pairs], 32)
    check(
        shapes.shift_right(a, count, signed, SCALARS),
        [(p if signed else p & 0xFFFFFFFF) >> count for p in x], 32,
    )  # fmt: skip
    spans = [None, (min(x), max(x))]
    wides = [shapes.widen(replace(a, span=span), signed, SCALARS, factor) for span in spans]
    wides.append(shapes.widen(replace(b, span=(min(y), max(y))), signed, SCALARS, 12))
    for wide in (item for item in wides if item is not None):
        check(shapes.narrow(wide, SCALARS), lanes_of(wide), 32)
        check(shapes.multiply(wide, uniform("i64", factor), SCALARS), [p * factor for p in lanes_of(wide)], 64)
        check(shapes.add(wide, uniform("i64", 12345), SCALARS), [p + 12345 for p in lanes_of(wide)], 64)
        for other in (item for item in wides if item is not None):
            sums = list(zip(lanes_of(wide), lanes_of(other), strict=True))
            check(shapes.add(wide, other, SCALARS), [p + q for p, q in sums], 64)
            check(shapes.add(wide, other, SCALARS, -1), [p - q for p, q in sums], 64)
    for wide in wides[:2]:
        check(wide, [(p if signed else p & 0xFFFFFFFF) * factor for p in x], 64)


@pytest.mark.parametrize("block", [(32, 1, 1), (16, 16, 1), (8, 4, 2), (24, 5, 1), (7, 1, 1), (1, 64, 1), (33, 2, 1)])
def test_layouts_agree_with_coordinates(block: tuple[int, int, int]) -> None:
    gang = Gang(block)
    for axis in range(3):
        layout = gang.layout(axis)
        if layout.pattern is None:
            continue
        for number in range(gang.count):
            for lane in range(min(32, gang.threads - 32 * number)):
                want = gang.coordinate(axis, 32 * number + lane)
                assert layout.bases[number] + layout.pattern[lane] == want
