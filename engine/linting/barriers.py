"""Barriers of the block that only some of its threads come to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from emulator.analysis.classify import Classifier
from emulator.analysis.gang import Gang
from emulator.analysis.liveness import analyse_liveness
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
            branch = _by_data(launch, barrier)
            if branch is not None:
                yield finding(
                    "warning",
                    "divergent-barrier",
                    "whether a thread comes to this barrier depends on its own data, and the others wait for it",
                    span=span,
                    help="Every thread of a block must reach the same __syncthreads(): put it outside the condition.",
                )
            elif _uneven(launch, barrier):
                yield finding(
                    "warning",
                    "divergent-barrier",
                    "threads of one block leave the loop around this barrier after different numbers of rounds",
                    span=span,
                    help="Let every thread make as many rounds, and guard what it does in them.",
                )


def _goes_on(launch: Launched, barrier: Waiting) -> npt.NDArray[np.bool_]:
    """Threads that do something where the paths around the barrier come together: a thread that ends waits nowhere."""
    join = launch.flow.joins[barrier.block]
    goes = np.zeros(launch.sample.threads, np.bool_)
    while join is not None:
        if _busy(launch, join) and join in launch.walk.reached:
            goes = goes | launch.walk.reached[join]
        join = launch.flow.joins[join]
    return goes


def _by_data(launch: Launched, barrier: Waiting) -> int | None:
    """A branch on a value that differs between lanes, of which one way passes the barrier by and goes on."""
    here = barrier.reached | ~launch.sample.actual
    if here.all():
        return None
    graph, flow = launch.graph, launch.flow
    classes = Classifier(
        launch.flat, graph, analyse_liveness(graph, launch.flat.registers), Gang(launch.planned.block)
    ).run()
    for branch in classes.divergent:
        join = flow.joins[branch]
        if join is None or branch in launch.walk.decided or not _busy(launch, join):
            continue
        if graph.position[branch] < graph.position[barrier.block] < graph.position[join] and not flow.always(
            branch, barrier.block
        ):
            return branch
    return None


def _busy(launch: Launched, number: int) -> bool:
    """Whether a block does more than end the thread."""
    block = launch.graph.blocks[number]
    return bool(block.instructions) or bool(block.successors)


def _uneven(launch: Launched, barrier: Waiting) -> bool:
    position = launch.graph.position[barrier.block]
    return any(loop.first in launch.walk.uneven and loop.first <= position <= loop.last for loop in launch.flow.loops)
