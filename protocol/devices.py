"""What a worker says of the device that it runs kernels on."""

from typing import Annotated, Literal

from pydantic import Field

from protocol.base import Bytes, Model
from protocol.events import DeviceKind
from protocol.timing import Peaks


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
    sm_mhz: Annotated[int, Field(ge=0)] = 0
    memory_mhz: Annotated[int, Field(ge=0)] = 0
    """The highest clocks; 0 where they are not known."""
    driver: str = ""
    """Version of a GPU's driver."""
    peaks: Peaks | None = None
    """What its worker measured when it started."""
    queued: Annotated[int, Field(ge=0)] = 0
    """Runs that wait for it."""
    notes: tuple[str, ...] = ()
    """What its worker could not find out, and why."""
    isolation: Literal["strong", "weak", "none"]
    workers: Annotated[int, Field(ge=1)] = 1
    version: str = ""
