"""Runs a launch again and again on the data that it found, for its time alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from engine.devices import gpu_timing
from engine.devices.device import Repeated

if TYPE_CHECKING:
    from engine.devices.gpu import Card

_ON_DEVICE = 3
_STREAM = 0

Once = Callable[[float], tuple[float, int | None]]
"""One launch that must end by an instant: its seconds by the GPU's events, or the error that it met."""


@dataclass(frozen=True, slots=True)
class _Copy:
    """Memory of a run, and its content beside it."""

    address: int
    kept: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Repetition:
    """A launch's memory as it is before the launch, and memory to flush the L2 cache with."""

    card: Card
    copies: tuple[_Copy, ...]
    flush: int

    @classmethod
    def prepared(cls, card: Card, memory: Sequence[tuple[int, int]], take: Callable[[int], int]) -> Self | None:
        """Copies (address, bytes) of all that a launch may change; None where the GPU has no room for that."""
        runtime = card.runtime
        flush_bytes = 2 * card.l2_bytes
        if sum(size for _, size in memory) + 2 * flush_bytes > card.free_bytes():
            return None
        copies = tuple(_Copy(address, take(size), size) for address, size in memory)
        for copy in copies:
            runtime.memcpyAsync(copy.kept, copy.address, copy.bytes, _ON_DEVICE, _STREAM)
        flush = take(flush_bytes)
        runtime.deviceSynchronize()
        return cls(card, copies, flush)

    def measure(self, once: Once, first_seconds: float, end: float) -> Repeated | None:
        """Two series, warm and cold. None where a launch did not end well, or not by `end`."""
        count = gpu_timing.repetitions(first_seconds)
        end = min(end, time.perf_counter() + 2 * gpu_timing.BUDGET_SECONDS)
        series: dict[bool, list[float]] = {False: [], True: []}
        for cold, times in series.items():
            for index in range(count):
                # Also keeps the GPU busy until the launch is queued, so that no event waits for the host.
                self._restore(index & 1, cold)
                seconds, fault = once(end)
                if fault is not None:
                    return None
                times.append(seconds)
        return gpu_timing.medians(series[False], series[True])

    def _restore(self, filling: int, cold: bool) -> None:
        """Warm: the buffers are written last, so that the cache holds of them what fits. Cold: the cache is flushed."""
        runtime = self.card.runtime
        for restoring in (cold, not cold):
            if not restoring:
                runtime.memsetAsync(self.flush, filling, 2 * self.card.l2_bytes, _STREAM)
                continue
            for copy in self.copies:
                runtime.memcpyAsync(copy.address, copy.kept, copy.bytes, _ON_DEVICE, _STREAM)
