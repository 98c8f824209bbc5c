"""Barriers of the block that only some of its threads come to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.linting.context import Launched, finding
from engine.linting.walk import Waiting
from protocol.diagnostics import Diagnostic


def divergent(launch: Launched) -> Iterator[Diagnostic]:
    """One finding a barrier: which thread waits, and which one of its block goes another way."""
    size = launch.sample.size
    for barrier in launch.walk.barriers:
        if len(barrier.instruction.operands) > 1:
            continue  # it names how many threads it is for
        span = launch.span(barrier.instruction)
        for number in range(launch.sample.real):
            here = launch.sample.threads_of(number)
            absent = ~barrier.possible[here] & _goes_on(launch, barrier)[here]
            if not barrier.reached[here].any() or not absent.any():
                continue
            waits = int(np.argmax(barrier.reached[here])) + number * size
            other = int(np.argmax(absent)) + number * size
            yield finding(
                "warning",
                "divergent-barrier",
                f"{launch.sample.name(waits)} waits at this barrier, and {launch.sample.name(other)} never comes to it",
                span=span,
                help="Every thread of a block must reach the same __syncthreads(): put it outside the condition.",
            )
            break
        else:
            if _uneven(launch, barrier):
                yield finding(
                    "warning",
                    "divergent-barrier",
                    "threads of one block leave the loop around this barrier after different numbers of rounds",
                    span=span,
                    help="Let every thread make as many rounds, and guard what it does in them.",
                )


def _goes_on(launch: Launched, barrier: Waiting) -> np.ndarray:
    """Threads that do something where the paths around the barrier come together: a thread that ends waits nowhere."""
    graph = launch.graph
    join: int | None = barrier.block
    goes = np.zeros(launch.sample.threads, np.bool_)
    while (join := launch.flow.joins[join]) is not None:
        block = graph.blocks[join]
        busy = bool(block.instructions) or (block.terminator is not None and block.terminator.opcode in ("bar", "barrier"))
        if busy and join in launch.walk.reached:
            goes = goes | launch.walk.reached[join]
        if not block.successors:
            break
    return goes


def _uneven(launch: Launched, barrier: Waiting) -> bool:
    position = launch.graph.position[barrier.block]
    return any(
        loop.first in launch.walk.uneven and loop.first <= position <= loop.last for loop in launch.flow.loops
    )


