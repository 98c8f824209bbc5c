"""What a GPU's own sensors say while a launch is timed, and whether its memory has failed (NVML)."""

from __future__ import annotations

import importlib
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from protocol.timing import Conditions

LOOK_SECONDS = 0.01
_MOST_LOOKS = 20_000

# nvmlClocksEventReason… of nvml.h; idle (bit 0) and a clock that an application asked for say nothing of heat or power.
REASONS: dict[int, str] = {
    0x02: "clocks set by an application",
    0x04: "the power limit",
    0x08: "a hardware slowdown",
    0x10: "kept in step with other GPUs",
    0x20: "temperature (software)",
    0x40: "temperature (hardware)",
    0x80: "the power brake of the machine",
    0x100: "clocks set for the display",
}

# Xid errors of which the card, its memory or its driver is the cause, and no kernel (NVIDIA, Xid Errors).
FATAL_XIDS: dict[int, str] = {
    46: "the GPU stopped processing",
    48: "an uncorrectable memory error (double-bit ECC)",
    62: "its micro-controller halted",
    64: "a row of its memory could not be remapped",
    74: "an NVLink error",
    79: "it has fallen off the bus",
    94: "a contained memory error",
    95: "an uncontained memory error",
    119: "its system processor did not answer",
    120: "its system processor failed",
    140: "an unrecovered memory error",
}


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the sensors: clocks in MHz, and the bits of `REASONS`."""

    at: float
    sm_mhz: int
    memory_mhz: int
    celsius: int
    watts: float
    reasons: int


def conditions(looks: Iterable[Look]) -> Conditions | None:
    """What several looks amount to; None of none."""
    seen = list(looks)
    if not seen:
        return None
    bits = 0
    for look in seen:
        bits |= look.reasons
    return Conditions(
        looks=len(seen),
        sm_mhz=(min(look.sm_mhz for look in seen), max(look.sm_mhz for look in seen)),
        memory_mhz=(min(look.memory_mhz for look in seen), max(look.memory_mhz for look in seen)),
        celsius=max(look.celsius for look in seen),
        watts=max(look.watts for look in seen),
        throttled=tuple(words for bit, words in REASONS.items() if bits & bit),
    )


class NoSensors(Exception):
    """The sensors cannot be read; the text says why."""


@dataclass
class Telemetry:
    """The sensors of one GPU. Thread-safe; close it."""

    nvml: Any
    handle: Any
    driver: str
    _looks: deque[Look] = field(default_factory=lambda: deque(maxlen=_MOST_LOOKS))
    _events: Any = None
    _errors_before: int = 0

    @classmethod
    def of(cls, uuid: str) -> Telemetry:
        """Raises NoSensors."""
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError:
            raise NoSensors("nvidia-ml-py, of the extra 'gpu', is not installed") from None
        try:
            nvml.nvmlInit()
            handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
            made = cls(nvml, handle, str(nvml.nvmlSystemGetDriverVersion()))
            made._errors_before = made.memory_errors()
            made._events = made._watch_xids()
            return made
        except nvml.NVMLError as error:
            raise NoSensors(f"NVML: {error}") from None

    def look(self) -> Look:
        """Raises NoSensors where the driver no longer answers."""
        nvml, handle = self.nvml, self.handle
        try:
            return Look(
                at=time.perf_counter(),
                sm_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
                memory_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
                celsius=nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
                watts=nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
                reasons=nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle) & ~1,
            )
        except nvml.NVMLError as error:
            raise NoSensors(f"NVML: {error}") from None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Looks every LOOK_SECONDS while it is entered."""
        over = threading.Event()
        self._looks.clear()

        def watch() -> None:
            while not over.wait(LOOK_SECONDS):
                try:
                    self._looks.append(self.look())
                except NoSensors:
                    return

        thread = threading.Thread(target=watch, name="telemetry", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def during(self, seconds: float) -> Conditions | None:
        """Of the last `seconds`; None where nobody looked then."""
        since = time.perf_counter() - seconds
        return conditions([look for look in tuple(self._looks) if look.at >= since])

    def clocks(self) -> tuple[int, int]:
        """The highest clocks of SMs and memory in MHz; 0 where the driver does not tell."""
        nvml = self.nvml
        try:
            return (
                int(nvml.nvmlDeviceGetMaxClockInfo(self.handle, nvml.NVML_CLOCK_SM)),
                int(nvml.nvmlDeviceGetMaxClockInfo(self.handle, nvml.NVML_CLOCK_MEM)),
            )
        except nvml.NVMLError:
            return 0, 0

    def memory_errors(self) -> int:
        """Uncorrected ECC errors since the driver was loaded; 0 of a card without ECC."""
        nvml = self.nvml
        try:
            kind, since = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
            return int(nvml.nvmlDeviceGetTotalEccErrors(self.handle, kind, since))
        except nvml.NVMLError:
            return 0

    def broken(self) -> str:
        """Why the card is not to be used any more, by what it has told since it was opened; empty where it may be."""
        errors = self.memory_errors() - self._errors_before
        if errors > 0:
            return f"{errors} uncorrected memory {'error' if errors == 1 else 'errors'} (ECC)"
        for xid in self._xids():
            if xid in FATAL_XIDS:
                return f"{FATAL_XIDS[xid]} (Xid {xid})"
        return ""

    def _watch_xids(self) -> Any:
        """A set of events to ask for Xid errors; None of a card or a machine that does not tell of them."""
        nvml = self.nvml
        try:
            events = nvml.nvmlEventSetCreate()
            nvml.nvmlDeviceRegisterEvents(self.handle, nvml.nvmlEventTypeXidCriticalError, events)
        except nvml.NVMLError:
            return None
        return events

    def _xids(self) -> Iterator[int]:
        """Those that came since the last time."""
        while self._events is not None:
            try:
                yield int(self.nvml.nvmlEventSetWait_v2(self._events, 0).eventData)
            except self.nvml.NVMLError:
                return

    def close(self) -> None:
        self.nvml.nvmlShutdown()
