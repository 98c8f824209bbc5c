"""Which instructions a fixpoint has to look at again when a register changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from emulator.analysis.operands import definitions, uses
from emulator.syntax.nodes import Instruction


def affected(instructions: Sequence[Instruction]) -> Mapping[str, Sequence[int]]:
    """Of each register the places of the instructions that read it, and of all its writers where it has several."""
    found: dict[str, list[int]] = defaultdict(list)
    writers: dict[str, list[int]] = defaultdict(list)
    for place, instruction in enumerate(instructions):
        for name in dict.fromkeys(uses(instruction)):
            found[name].append(place)
        for name in dict.fromkeys(definitions(instruction)):
            writers[name].append(place)
    for name, places in writers.items():
        if len(places) > 1:
            found[name] += places
    return found
