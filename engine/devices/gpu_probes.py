"""Kernels of our own that stand beside a run's: they empty the L2 cache, compare memory, and do nothing at all."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from engine.devices.gpu import Card

BLOB = "probes"
"""The CUBIN of sandbox/probes.py among a launch's blobs."""
_BLOCK = 256
_BLOCKS_PER_SM = 8
_STREAM = 0


@dataclass(frozen=True, slots=True)
class Probes:
    """The module of these kernels, loaded."""

    card: Card
    module: int
    flush: int
    compare: int
    empty: int
    spin: int

    @classmethod
    def loaded(cls, card: Card, cubin: bytes) -> Self:
        """CUDADriverError where the driver does not take the code."""
        module = card.driver.moduleLoadData(cubin)
        return cls(
            card,
            module,
            *(card.driver.moduleGetFunction(module, name) for name in ("flush", "compare", "empty", "spin")),
        )

    def empty_cache(self, address: int, size: int, sink: int) -> None:
        """Reads `size` bytes, more than the L2 cache holds: what it had to write is written, its lines are clean."""
        self._launch(self.flush, ctypes.c_void_p(address), ctypes.c_ulonglong(size // 16), ctypes.c_void_p(sink))

    def compares(self, first: int, second: int, size: int, flag: int) -> None:
        """Sets the int at `flag` where two ranges of `size` bytes differ."""
        given = (ctypes.c_void_p(first), ctypes.c_void_p(second), ctypes.c_ulonglong(size), ctypes.c_void_p(flag))
        self._launch(self.compare, *given)

    def nothing(self) -> None:
        """The shortest launch that there is."""
        self.card.driver.launchKernel(self.empty, 1, 1, 1, 1, 1, 1, 0, _STREAM, 0, 0)

    def delay(self) -> None:
        """Keeps the GPU busy, and its caches as they are, while the host queues what is to be timed."""
        self.card.driver.launchKernel(self.spin, 1, 1, 1, 1, 1, 1, 0, _STREAM, 0, 0)

    def unload(self) -> None:
        self.card.driver.moduleUnload(self.module)

    def _launch(self, function: int, *arguments: ctypes.c_void_p | ctypes.c_ulonglong) -> None:
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        blocks = self.card.sm_count * _BLOCKS_PER_SM
        given = ctypes.addressof(pointers)
        self.card.driver.launchKernel(function, blocks, 1, 1, _BLOCK, 1, 1, 0, _STREAM, given, 0)
