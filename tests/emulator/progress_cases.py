"""Launches of tests/data/ptx/progress.cu with what Python says they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from progress_inputs import X, wrap
from progress_references import (
    ackermann,
    branch_table,
    by_pointer,
    byte_moves,
    call,
    dense,
    generic_atomics,
    heap_list,
    local_arrays,
    nested,
    pointer_argument,
    predicated,
    scopes,
    structures,
    three_entries,
    two_entries,
    virtual_functions,
)

Reference = Callable[[int], list[int]]


@dataclass(frozen=True)
class Case:
    """`expected` are the first elements of `out`, int32, after a launch of one block; `out` begins with zeros."""

    entry: str
    threads: int
    expected: list[int]


def each(function: Callable[[int], int]) -> Reference:
    """A reference that gives each thread's element."""
    return lambda n: [function(t) for t in range(n)]


def flat(function: Callable[[int], list[int]]) -> Reference:
    """A reference that gives each thread's elements."""
    return lambda n: [value for t in range(n) for value in function(t)]


def ones(word: int) -> int:
    return bin(word & 0xFFFFFFFF).count("1")


def word_of(lanes: list[int]) -> int:
    return wrap(sum(1 << lane for lane in lanes))


# Locks and hand-overs.


def goto_lock(n: int) -> list[int]:
    total = 0
    for _ in range(n):
        total = wrap(total * 3 + 1)
    return [total] * n


def ticket(n: int) -> list[int]:
    total = 0
    for k in range(n):
        total = wrap(total * 2 + k)
    return [total] * n


def buckets(n: int) -> list[int]:
    members = [[X[t] for t in range(n) if X[t] & 3 == b] for b in range(4)]
    return [len(m) for m in members] + [sum(m) for m in members]


def chain_down(n: int) -> list[int]:
    seen = [0] * n
    value = 5
    for t in reversed(range(n)):
        seen[t] = value
        value += X[t]
    return seen


def three_parts(n: int) -> list[int]:
    found = []
    for t in range(n):
        step = t % 3 + 1
        found.append(sum(step * (X[(t + step) % 32] + k) for k in range(4)))
    return found


def ring(n: int) -> list[int]:
    found = []
    for lane in range(32):
        total = 0
        for k in range(6):
            total = total * 2 + X[31 - lane] + k
        found.append(total)
    return found


def of_warps(n: int) -> list[int]:
    swapped = [X[t // 64 * 64 + 63 - t % 64] for t in range(n)]
    return [swapped[127 - t] for t in range(n)]


def reductions_of_barrier(n: int) -> list[int]:
    holds = [X[t] > 3 for t in range(n)]
    return [sum(holds) * 4 + all(holds) * 2 + any(not h for h in holds)] * n


def loop_rounds(n: int) -> list[int]:
    v, rounds = [X[t] % 16 for t in range(n)], 0
    while any(value > 0 for value in v):
        v = [v[t] - 1 - (v[(t + 1) % n] > v[t]) if v[t] > 0 else v[t] for t in range(n)]
        rounds += 1
    return [rounds] * n


def waterfall(n: int) -> list[int]:
    order: dict[int, int] = {}
    left, turn = list(range(n)), 0
    while left:
        value = X[left[0]] & 3
        same = [t for t in range(n) if X[t] & 3 == value and t not in order]
        for place, t in enumerate(same):
            order[t] = turn * 100 + place
        left = [t for t in left if t not in same]
        turn += 1
    return [order[t] for t in range(n)]


def shrinking(n: int) -> list[int]:
    # The last n, and how many lanes stayed when this one left: each round raises n by one while some stay.
    found = [0] * n
    mask, counts = set(range(n)), dict.fromkeys(range(n), 0)
    while mask:
        stay = {t for t in mask if X[t] % 7 > counts[t]}
        for t in mask - stay:
            found[t] = counts[t] * 1000 + len(stay)
        for t in stay:
            counts[t] += 1 + (len(stay) == 0)
        mask = stay
    return found


def matches(t: int) -> list[int]:
    lanes = range(32)
    half = range(16) if t < 16 else range(16, 32)
    bits = 1 if t < 16 else 3
    return [
        word_of([o for o in lanes if X[o] & 7 == X[t] & 7]),
        wrap(0xFFFFFFFF + 1),
        word_of([o for o in lanes if X[o] & 1 == X[t] & 1]),
        word_of([o for o in half if X[o] & bits == X[t] & bits]),
    ]


def reductions(t: int) -> list[int]:
    u = X[:32]
    last = sum(u[1::2]) if t % 2 else 16
    return [
        sum(u) - 500 * 32, min(u) - 500, max(u) - 500, max(u), int(np.bitwise_and.reduce([x | 0x80 for x in u])),
        int(np.bitwise_or.reduce(u)), int(np.bitwise_xor.reduce(u)), last,
    ]  # fmt: skip


def segments(t: int) -> list[int]:
    down = X[t + 3] if t % 8 + 3 < 8 else X[t]
    up = X[t - 2] if t % 16 >= 2 else X[t]
    return [down, up, X[t // 4 * 4 + (t + 5) % 4], X[t ^ (X[t] & 7)]]


def groups(t: int) -> list[int]:
    tile = [X[o] for o in range(t // 8 * 8, t // 8 * 8 + 8)]
    odd = [o for o in range(32) if X[o] & 1]
    same = [o for o in range(32) if X[o] % 3 == X[t] % 3]
    place = t % 8
    return [
        sum(tile), max(tile), sum(tile[:place]), sum(tile[: place + 1]),
        len(odd) * 100 + odd.index(t) if t in odd else -1, same.index(t), len(same), sum(X[o] for o in same),
    ]  # fmt: skip


REFERENCES: dict[str, tuple[int, Reference]] = {
    "lock_spin": (64, lambda n: [n] * n),
    "lock_flag": (96, lambda n: [0, sum(X[:n])]),
    "lock_goto": (40, goto_lock),
    "lock_ticket": (64, ticket),
    "lock_buckets": (96, buckets),
    "lock_backoff": (64, lambda n: [sum(X[:n])] * n),
    "lock_acquire": (64, lambda n: [2 * n] * n),
    "stack_push": (64, lambda n: [n, sum(range(n))]),
    "pairs": (32, lambda n: [7 * X[k] for k in range(16)]),
    "chain_down": (32, chain_down),
    "chain_up": (32, each(lambda t: 3 + sum(X[:t]))),
    "ping_pong": (32, lambda n: [100] * n),
    "warps_in_turn": (128, lambda n: [i % 4 + i // 4 * 10 for i in range(20)]),
    "waits_for_counters": (32, each(lambda t: 9300 if t == 7 else t)),
    "last_lane_first": (32, each(lambda t: 31 - t)),
    "fenced_message": (64, lambda n: [3 * X[k] for k in range(32)]),
    "syncwarp_halves": (32, each(lambda t: X[15 - t] if t < 16 else X[47 - t] + 1)),
    "syncwarp_apart": (32, each(lambda t: 3 * X[t + 16] if t < 16 else X[t - 16])),
    "syncwarp_three": (32, three_parts),
    "syncwarp_after_exit": (32, each(lambda t: X[31 - t] if t % 5 else 0)),
    "barrier_ring": (64, ring),
    "barrier_of_warps": (128, of_warps),
    "barrier_reductions": (96, reductions_of_barrier),
    "barrier_apart": (64, each(lambda t: X[63 - t] if t & 1 else -X[63 - t])),
    "barrier_after_exits": (128, each(lambda t: 0 if t >= 96 or t % 4 == 3 else X[127 - t])),
    "barrier_in_loop": (64, loop_rounds),
    "barrier_count": (
        100,
        lambda n: [sum(x & 1 for x in X[:n]) * 100 + all(x < 900 for x in X[:n]) * 10 + (7 in X[:n])] * n,
    ),
    "active_masks": (
        32,
        each(lambda t: wrap((0x88888888 if t & 2 else 0x2222222D) if t & 1 else 0x55555555)),
    ),
    "waterfall": (32, waterfall),
    "shrinking": (32, shrinking),
    "matches": (32, flat(matches)),
    "reductions": (32, flat(reductions)),
    "elected": (32, each(lambda t: 3 if t == 1 else 2 if t % 3 else int(t == 0))),
    "segments": (32, flat(segments)),
    "groups": (32, flat(groups)),
    "three_entries": (96, each(three_entries)),
    "two_entries_ptx": (64, each(two_entries)),
    "branch_table": (64, each(branch_table)),
    "switch_dense": (128, each(dense)),
    "predicated": (32, flat(predicated)),
    "scopes": (64, each(scopes)),
    "nested_exits": (96, each(nested)),
    "pointer_table": (64, each(lambda t: call(X[t] & 3, X[t]) + call((2, 0, 1)[(X[t] >> 2) % 3], t))),
    "pointer_argument": (64, each(pointer_argument)),
    "virtual_functions": (64, each(virtual_functions)),
    "recursion_deep": (32, each(lambda t: ackermann(t % 3, t % 8))),
    "recursion_sort": (32, flat(lambda t: sorted(X[(t * 5 + k * 11) % 256] for k in range(12)))),
    "recursion_pointers": (32, each(lambda t: by_pointer(t % 9))),
    "structures": (64, each(structures)),
    "local_arrays": (64, each(local_arrays)),
    "heap_list": (64, each(heap_list)),
    "byte_moves": (64, each(byte_moves)),
    "generic_atomics": (64, generic_atomics),
    "clocks": (64, lambda n: [31] * n),
    "clock_wait": (64, lambda n: [1] * n),
}


def cases() -> list[Case]:
    return [Case(entry, threads, reference(threads)) for entry, (threads, reference) in REFERENCES.items()]
