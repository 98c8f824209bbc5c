"""How many blocks of a launch are resident at once, and on which OS threads."""

from __future__ import annotations

from dataclasses import dataclass

MOST_BYTES = 256 << 20
"""For the blocks of one launch, of which only those that have begun are touched."""


@dataclass(frozen=True, slots=True)
class Seating:
    """Blocks that each OS thread may hold; `short`: fewer than wanted, for want of memory."""

    seats: tuple[int, ...]
    short: bool

    @classmethod
    def plan(
        cls, blocks: int, cluster_blocks: int, threads: int, seat_bytes: int, waits: bool, resident: int | None
    ) -> Seating:
        """Whole clusters, spread evenly; one block a thread where blocks do not wait for each other.

        At least one cluster is seated. `resident` is how many blocks a GPU would hold, None for any number.
        """
        if not waits:
            return cls((1,) * min(threads, blocks), False)
        wanted = max(1, (blocks if resident is None else min(blocks, resident)) // cluster_blocks)
        fitting = max(1, MOST_BYTES // (seat_bytes * cluster_blocks))
        clusters = min(wanted, fitting)
        crew = min(threads, clusters)
        counts = [clusters // crew + (index < clusters % crew) for index in range(crew)]
        return cls(tuple(count * cluster_blocks for count in counts), fitting < wanted)
