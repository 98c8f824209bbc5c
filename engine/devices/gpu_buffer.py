"""A buffer in a GPU's memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.values.dtypes import Array, numpy_dtype
from protocol.dtypes import ITEM_BYTES

if TYPE_CHECKING:
    from engine.devices.gpu import GpuDevice


@dataclass(slots=True)
class GpuBuffer:
    """A buffer in the GPU's memory. `kept`: its elements on the host, once further launches may change the GPU's."""

    device: GpuDevice
    address: int
    dtype: str
    count: int
    read_later: bool
    """Whether the run reads it at its end."""
    kept: Array | None = None

    @property
    def bytes(self) -> int:
        return self.count * ITEM_BYTES[self.dtype]

    def write(self, values: Array) -> None:
        contiguous = np.ascontiguousarray(values, numpy_dtype(self.dtype))
        self.device.copy_in(self.address, contiguous.ctypes.data, self.bytes)

    def read(self) -> Array:
        if self.kept is not None:
            return self.kept
        values = np.empty(self.count, numpy_dtype(self.dtype))
        self.device.copy_out(values.ctypes.data, self.address, self.bytes)
        return values
