"""What a worker says of the device that it runs kernels on."""

from typing import Annotated, Literal

from pydantic import Field

from protocol.base import Bytes, Model
from protocol.events import DeviceKind


class DeviceInfo(Model):
    """One device that live workers offer."""

    id: str
    """As a request names it: emulator, gpu:h200."""
    kind: DeviceKind
    name: str
    """For people: 'PTX emulator (2 threads)', 'NVIDIA H200'."""
    architecture: str | None = None
    """A GPU's own; None where every architecture runs."""
    sm_count: int | None = None
    memory_bytes: Bytes = 0
    isolation: Literal["strong", "weak", "none"]
    workers: Annotated[int, Field(ge=1)] = 1
    version: str = ""
