"""What a device does for a launch, and what it reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from engine.values.dtypes import Array
from protocol.diagnostics import Diagnostic
from protocol.events import DeviceKind, Found
from protocol.kernel import CompiledKernel
from protocol.run import LaunchRequest
from protocol.source import Source

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
class LaunchReport:
    """How one launch went: seconds on the device's own clock, findings, and what instruments counted."""

    seconds: float
    found: tuple[Found, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    timed_out: bool = False

    @property
    def ended_the_run(self) -> bool:
        return self.timed_out or any(item.fatal for item in self.found)


class DeviceBuffer(Protocol):
    """One allocation in device memory."""

    @property
    def address(self) -> int: ...

    def write(self, values: Array) -> None:
        """Takes all elements, flat and of the buffer's own type."""
        ...

    def read(self) -> Array:
        """All elements, flat; valid until the device is closed."""
        ...


class Device(Protocol):
    """Runs launches one after another, in the process that asks."""

    kind: DeviceKind

    @property
    def name(self) -> str:
        """For people, such as 'PTX emulator (2 threads)'."""
        ...

    @staticmethod
    def prewarm() -> None:
        """Does once what every later job of this process's children would have to do."""
        ...

    @staticmethod
    def prepare(kernel: CompiledKernel, plan: Plan, source: Source) -> Mapping[str, bytes]:
        """Code that the compile step makes ahead: key of protocol.frames.object_key -> bytes. DeviceRefusal."""
        ...

    @classmethod
    def open(cls, request: LaunchRequest, blobs: Mapping[str, memoryview]) -> Device:
        """The device, ready for the launches of a request."""
        ...

    def allocate(self, name: str, dtype: str, count: int, values: Array | None) -> DeviceBuffer:
        """A buffer of `count` elements. None leaves it uninitialised."""
        ...

    def launch(
        self,
        launch: PlannedLaunch,
        arguments: Sequence[bytes],
        names: Mapping[str, str],
        on_print: Print,
        deadline_seconds: float,
    ) -> LaunchReport:
        """Runs one launch to its end. `names`: what the user calls an allocation now, after swaps."""
        ...

    def close(self) -> None: ...
