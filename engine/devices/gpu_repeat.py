"""Runs a launch again and again on the data that it found, for its time alone."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from engine.devices import gpu_timing
from engine.devices.device import Repeated
from engine.devices.gpu_probes import Probes
from protocol.timing import Series

if TYPE_CHECKING:
    from engine.devices.gpu import Card

_TO_HOST, _ON_DEVICE = 2, 3
_STREAM = 0
_FLUSHED = 4
"""Times the L2 cache's size that is read to empty it: a hashed cache keeps some lines of what is only a little more."""
_FLAG_BYTES = 16
_FLOOR_SAMPLES = 25

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
    """A launch's memory as it is before the launch, memory to empty the L2 cache with, and one int for findings."""

    card: Card
    probes: Probes
    copies: tuple[_Copy, ...]
    flush: int
    flag: int

    @classmethod
    def prepared(
        cls, card: Card, probes: Probes, memory: Sequence[tuple[int, int]], take: Callable[[int], int]
    ) -> Self | None:
        """Copies (address, bytes) of all that a launch may change; None where the GPU has no room for that."""
        runtime = card.runtime
        flush_bytes = _FLUSHED * card.l2_bytes
        if sum(size for _, size in memory) + 2 * flush_bytes > card.free_bytes():
            return None
        copies = tuple(_Copy(address, take(size), size) for address, size in memory)
        for copy in copies:
            runtime.memcpyAsync(copy.kept, copy.address, copy.bytes, _ON_DEVICE, _STREAM)
        flush, flag = take(flush_bytes), take(_FLAG_BYTES)
        runtime.memsetAsync(flush, 0, flush_bytes, _STREAM)
        runtime.deviceSynchronize()
        return cls(card, probes, copies, flush, flag)

    def measure(self, once: Once, end: float) -> Repeated | None:
        """Two series, warm and cold, and the floor. None where a launch did not end well, or not by `end`."""
        begin = time.perf_counter()
        changed = self._changed()
        warm = self._series("warm", once, changed, end)
        cold = self._series("cold", once, changed, end) if warm else None
        if warm is None or cold is None:
            return None
        return Repeated(warm, cold, self._floor(), time.perf_counter() - begin)

    def _changed(self) -> tuple[_Copy, ...]:
        """Of the copies those whose originals the first launch changed: the others need not be restored."""
        runtime, found = self.card.runtime, []
        answer = ctypes.c_int()
        for copy in self.copies:
            runtime.memsetAsync(self.flag, 0, _FLAG_BYTES, _STREAM)
            self.probes.compares(copy.address, copy.kept, copy.bytes, self.flag)
            runtime.memcpy(ctypes.addressof(answer), self.flag, ctypes.sizeof(answer), _TO_HOST)
            if answer.value:
                found.append(copy)
        return tuple(found)

    def _series(
        self, cache: Literal["warm", "cold"], once: Once, changed: Sequence[_Copy], end: float
    ) -> Series | None:
        begin = time.perf_counter()
        allowed = gpu_timing.budget(end - begin)
        times: list[float] = []
        discarded = 0
        while True:
            for copy in changed:
                self.card.runtime.memcpyAsync(copy.address, copy.kept, copy.bytes, _ON_DEVICE, _STREAM)
            if cache == "cold":
                self.probes.empty_cache(self.flush, _FLUSHED * self.card.l2_bytes, self.flag)
            self.probes.delay()
            seconds, fault = once(end)
            if fault is not None:
                return None
            if discarded < gpu_timing.DISCARDED:
                discarded += 1
                continue
            times.append(seconds)
            stopped = gpu_timing.stop(times, time.perf_counter() - begin, allowed)
            if stopped is not None:
                return gpu_timing.series(cache, times, stopped)

    def _floor(self) -> float:
        """Seconds that an empty kernel takes between two events, the same way."""
        card = self.card
        times: list[float] = []
        for _ in range(_FLOOR_SAMPLES):
            self.probes.delay()
            card.runtime.eventRecord(card.start, _STREAM)
            self.probes.nothing()
            card.runtime.eventRecord(card.stop, _STREAM)
            card.runtime.deviceSynchronize()
            times.append(card.runtime.eventElapsedTime(card.start, card.stop) / 1e3)
        return statistics.median(times)
