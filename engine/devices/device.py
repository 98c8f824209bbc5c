"""What a device does for a launch, and what it reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from engine.values.dtypes import Array
from protocol.diagnostics import Diagnostic
from protocol.events import DeviceKind, Found
from protocol.kernel import CompiledKernel
from protocol.run import LaunchRequest
from protocol.source import Source
from protocol.timing import Series

if TYPE_CHECKING:
    # Checks of a launch look up the limits that lie beside this module.
    from engine.launching.plan import Plan, PlannedLaunch

Print = Callable[[str], None]


class DeviceRefusal(Exception):
    """The device cannot run a kernel as it is; the diagnostics say what it lacks and where."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics[0].message if diagnostics else "")
        self.diagnostics = tuple(diagnostics)


@dataclass(frozen=True, slots=True)
class Code:
    """What a launch gets of a kernel. `quick`: it was made in a hurry, and better code could be made."""

    data: bytes
    quick: bool = False


class DeviceLost(Exception):
    """What the device's memory holds cannot be read any more: a fault took its context along."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """Further runs of a launch on the data that the first one found, for their time alone; in seconds."""

    warm: Series
    cold: Series
    """With the L2 cache emptied before each."""
    floor: float
    """An empty kernel."""
    wall: float
    """All of it, by the host's clock."""


@dataclass(frozen=True, slots=True)
class Residency:
    """How hardware would hold a launch: its model, its SMs, and the blocks an SM that its driver answers."""

    gpu: str
    sm_count: int
    blocks_per_sm: int


@dataclass(frozen=True, slots=True)
class LaunchReport:
    """How one launch went: seconds on the device's own clock, findings, and what instruments counted."""

    seconds: float
    found: tuple[Found, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    timed_out: bool = False
    lost: bool = False
    """The device's memory cannot be read any more."""
    repeated: Repeated | None = None
    note: str = ""
    """Why a launch that might have been repeated was not."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Where one is an error the device refused the launch."""

    @property
    def ran(self) -> bool:
        """Whether the launch took place at all."""
        return not self.diagnostics or not any(item.severity == "error" for item in self.diagnostics)

    @property
    def ended_the_run(self) -> bool:
        return self.timed_out or not self.ran or (bool(self.found) and any(item.fatal for item in self.found))


class DeviceBuffer(Protocol):
    """One allocation in device memory."""

    @property
    def address(self) -> int: ...

    def write(self, values: Array) -> None:
        """Takes all elements, flat and of the buffer's own type."""
        ...

    def read(self) -> Array:
        """All elements, flat; valid until the device is closed. DeviceLost."""
        ...


class Device(Protocol):
    """Runs launches one after another, in the process that asks."""

    kind: DeviceKind
    clock: Literal["wall", "gpu-events"]

    @property
    def name(self) -> str:
        """For people, such as 'PTX emulator (2 threads)'."""
        ...

    @staticmethod
    def prewarm() -> None:
        """Does once what every later job of this process's children would have to do."""
        ...

    @staticmethod
    def prepare(kernel: CompiledKernel, plan: Plan, source: Source, final: bool = False) -> Mapping[str, Code]:
        """Code that the compile step makes ahead: key of protocol.frames.object_key -> code. DeviceRefusal.

        `final`: none that launches are still to replace.
        """
        ...

    @classmethod
    def open(cls, request: LaunchRequest, blobs: Mapping[str, memoryview]) -> Device:
        """The device, ready for the launches of a request."""
        ...

    def allocate(self, name: str, dtype: str, count: int, values: Array | None) -> DeviceBuffer:
        """A buffer of `count` elements. None leaves it uninitialised. DeviceRefusal where there is no room."""
        ...

    def residency(self, launch: PlannedLaunch) -> Residency | None:
        """How the device's hardware holds the launch; None where none of it is a GPU's."""
        ...

    def launch(
        self,
        launch: PlannedLaunch,
        arguments: Sequence[bytes],
        names: Mapping[str, str],
        on_print: Print,
        deadline_seconds: float,
        sole: bool,
    ) -> LaunchReport:
        """Runs one launch to its end. `names`: what the user calls an allocation now, after swaps.

        `sole`: the run is this launch alone, so that it may be repeated for its time; the results stay the first's.
        """
        ...

    def close(self) -> None: ...
