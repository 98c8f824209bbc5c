"""An NVIDIA GPU as a device: loads the CUBIN through CuPy's bindings of the CUDA driver and runtime.

Of CuPy only the bindings are imported, which is what `cupy.cuda.runtime` and `cupy.cuda.driver` are made of: arrays
and compilers would take half a second, and a launch needs neither.
"""

from __future__ import annotations

import ctypes
import importlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

from engine.devices import gpu_errors, gpu_timing
from engine.devices.device import Code, DeviceLost, DeviceRefusal, LaunchReport, Print, Repeated, Residency
from engine.devices.gpu_buffer import GpuBuffer
from engine.devices.gpu_launch import AttributedLaunch
from engine.devices.gpu_probes import BLOB, Probes
from engine.devices.gpu_repeat import Repetition
from engine.devices.gpu_streams import DriverStreams
from engine.languages.cubin import variables
from engine.languages.source_text import SourceText
from engine.values.dtypes import Array
from protocol.checks import checked_buffers
from protocol.diagnostics import Diagnostic
from protocol.dtypes import ITEM_BYTES
from protocol.events import DeviceKind
from protocol.kernel import CompiledKernel
from protocol.run import LaunchRequest
from protocol.source import Source

if TYPE_CHECKING:
    # Checks of a launch look up the limits that lie beside this module.
    from engine.launching.plan import Plan, PlannedLaunch

PRINTF_BYTES = 64 << 20
"""Of the ring in the GPU's memory that holds what one launch prints; the driver's own default is 1 MiB."""
PRINTF_BYTES_A_CHARACTER = 32
"""At most, so that less text than PRINTF_BYTES over this was certainly kept whole: a record holds its format's
address, a header and 8 bytes an argument."""

_TO_DEVICE, _TO_HOST = 1, 2
_PRINTF_LIMIT = 1
_MAX_DYNAMIC_SHARED = 8
_WITHOUT_OPT_IN = 48 << 10
_STREAM = 0
_EAGER_SECONDS, _PAUSE_SECONDS, _TELL_SECONDS = 1e-3, 1e-3, 0.05


def bindings() -> tuple[Any, Any]:
    """CuPy's modules `driver` and `runtime`. DeviceRefusal where CuPy is not installed."""
    try:
        driver = importlib.import_module("cupy_backends.cuda.api.driver")
        return driver, importlib.import_module("cupy_backends.cuda.api.runtime")
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError)
        reason = (
            "CuPy, the extra 'gpu' of this package, is not installed" if missing else f"CuPy does not load: {error}"
        )
        raise _unusable(reason) from None


@dataclass(frozen=True, slots=True)
class Card:
    """The GPU of this process, in use."""

    driver: Any
    runtime: Any
    streams: DriverStreams
    attributed: AttributedLaunch
    name: str
    architecture: str
    sm_count: int
    l2_bytes: int
    start: int
    stop: int

    def free_bytes(self) -> int:
        """Of the GPU's memory, now."""
        free: int = self.runtime.memGetInfo()[0]
        return free


_card: list[Card | DeviceRefusal] = []


def attach() -> None:
    """Starts the driver and makes a context, about 200 ms: ahead of the job. What fails is told by `open`."""
    if _card:
        return
    try:
        _card.append(_attached())
    except DeviceRefusal as refusal:
        _card.append(refusal)


def _attached() -> Card:
    driver, runtime = bindings()
    try:
        runtime.setDevice(0)
        runtime.free(0)
        runtime.deviceSetLimit(_PRINTF_LIMIT, PRINTF_BYTES)
        facts = runtime.getDeviceProperties(0)
        start, stop = runtime.eventCreate(), runtime.eventCreate()
        runtime.eventRecord(start, _STREAM)
        runtime.deviceSynchronize()
    except (runtime.CUDARuntimeError, driver.CUDADriverError) as error:
        raise _unusable(gpu_errors.attaching(error.status)) from None
    return Card(
        driver=driver,
        runtime=runtime,
        streams=DriverStreams(),
        attributed=AttributedLaunch(),
        name=facts["name"].decode(errors="replace"),
        architecture=f"sm_{facts['major']}{facts['minor']}",
        sm_count=facts["multiProcessorCount"],
        l2_bytes=facts["l2CacheSize"],
        start=start,
        stop=stop,
    )


def _unusable(reason: str) -> DeviceRefusal:
    message = f"The GPU cannot be used: {reason}."
    return DeviceRefusal([Diagnostic(severity="error", message=message, origin="service", field="device")])


@dataclass(slots=True)
class GpuDevice:
    """Runs launches on the one GPU that this process may open."""

    card: Card
    source: SourceText
    module: int
    probes: Probes
    variables: Sequence[tuple[int, int]]
    """(address, bytes) of the module's own variables."""
    keeps_state: bool
    """It has variables whose address the driver does not tell."""
    read_later: frozenset[str]
    kind: DeviceKind = "gpu"
    clock: Literal["wall", "gpu-events"] = "gpu-events"
    _lost: bool = False
    _characters: int = 0
    """Printed by the present launch."""
    _said: str = ""
    """What the driver wrote to standard error meanwhile."""
    _noted: bool = False
    _buffers: list[GpuBuffer] = field(default_factory=list)
    _taken: list[int] = field(default_factory=list)
    """Addresses of all that was allocated."""
    _functions: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.card.name

    @staticmethod
    def prewarm() -> None:
        """Loads bindings and driver, but does not start it: after a fork a started driver does not work."""
        driver, _ = bindings()
        try:
            driver.ctxGetCurrent()
        except driver.CUDADriverError as error:
            if error.status != gpu_errors.NOT_STARTED:
                raise

    @staticmethod
    def prepare(kernel: CompiledKernel, plan: Plan, source: Source, final: bool = False) -> dict[str, Code]:
        """Nothing: the CUBIN is the code."""
        return {}

    @classmethod
    def open(cls, request: LaunchRequest, blobs: Mapping[str, memoryview]) -> Self:
        """`blobs` holds the CUBIN, and that of our own kernels."""
        attach()
        card = _card[0]
        if isinstance(card, DeviceRefusal):
            raise card
        wanted = request.kernel.architecture
        if wanted != card.architecture:
            raise DeviceRefusal([gpu_errors.wrong_architecture(wanted, card.name, card.architecture)])
        cubin = bytes(blobs["cubin"])
        try:
            module = card.driver.moduleLoadData(cubin)
            probes = Probes.loaded(card, bytes(blobs[BLOB]))
        except card.driver.CUDADriverError as error:
            detail = f"It was compiled for {wanted}, and {card.name} is {card.architecture}."
            raise DeviceRefusal([gpu_errors.refusal(error.status, "architecture", detail)]) from None
        run = request.run
        later = {buffer.name for buffer in run.buffers if buffer.role != "in"}
        later.update(name for item in run.checks for name in checked_buffers(item))
        source = SourceText(run.source.text, run.source.file_name)
        own, unknown = _variables(card, module, cubin)
        return cls(card, source, module, probes, own, unknown, frozenset(later))

    def allocate(self, name: str, dtype: str, count: int, values: Array | None) -> GpuBuffer:
        runtime = self.card.runtime
        size = count * ITEM_BYTES[dtype]
        try:
            address = self._take(size)
        except runtime.CUDARuntimeError as error:
            detail = f"{name} takes {size:,} bytes; {self.card.free_bytes():,} are free."
            raise DeviceRefusal([gpu_errors.refusal(error.status, "buffers", detail)]) from None
        buffer = GpuBuffer(self, address, dtype, count, name in self.read_later)
        if values is not None:
            buffer.write(values)
        self._buffers.append(buffer)
        return buffer

    def _take(self, size: int) -> int:
        """Memory of at least one byte; its address."""
        address: int = self.card.runtime.malloc(max(size, 1))
        self._taken.append(address)
        return address

    def copy_in(self, address: int, source: int, size: int) -> None:
        """Bytes from the host's memory to the GPU's. DeviceLost."""
        self._copy(address, source, size, _TO_DEVICE)

    def copy_out(self, target: int, address: int, size: int) -> None:
        """Bytes from the GPU's memory to the host's. DeviceLost."""
        self._copy(target, address, size, _TO_HOST)

    def _copy(self, target: int, source: int, size: int, direction: int) -> None:
        if self._lost:
            raise DeviceLost
        try:
            self.card.runtime.memcpy(target, source, size, direction)
        except self.card.runtime.CUDARuntimeError:
            self._lost = True
            raise DeviceLost from None

    def residency(self, launch: PlannedLaunch) -> Residency | None:
        driver = self.card.driver
        x, y, z = launch.block
        try:
            function = self._function(launch)
            blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(function, x * y * z, launch.dynamic_shared_bytes)
        except driver.CUDADriverError:
            return None  # the launch itself tells why
        return Residency(self.card.name, self.card.sm_count, blocks)

    def _function(self, launch: PlannedLaunch) -> int:
        driver, name = self.card.driver, launch.entry.name
        if name not in self._functions:
            self._functions[name] = driver.moduleGetFunction(self.module, name)
        function = self._functions[name]
        if launch.dynamic_shared_bytes + launch.entry.resources.static_shared_bytes > _WITHOUT_OPT_IN:
            driver.funcSetAttribute(function, _MAX_DYNAMIC_SHARED, launch.dynamic_shared_bytes)
        return function

    def launch(
        self,
        launch: PlannedLaunch,
        arguments: Sequence[bytes],
        names: Mapping[str, str],
        on_print: Print,
        deadline_seconds: float,
        sole: bool,
    ) -> LaunchReport:
        end = time.perf_counter() + deadline_seconds
        memory = [*((buffer.address, buffer.bytes) for buffer in self._buffers), *self.variables]
        repetition = Repetition.prepared(self.card, self.probes, memory, self._take) if sole else None
        begin = time.perf_counter()
        try:
            with self.card.streams.diverted():
                self._characters, self._said = 0, ""
                seconds, fault = self._once(launch, arguments, end, on_print)
        except self.card.driver.CUDADriverError as error:
            return LaunchReport(0.0, diagnostics=(gpu_errors.refusal(error.status, f"{launch.step}.config"),))
        notes = self._about_printf()
        if fault == gpu_errors.NOT_READY:
            return LaunchReport(time.perf_counter() - begin, timed_out=True, lost=True, diagnostics=notes)
        if fault is not None:
            unmet = launch.entry.synchronises_grid and not launch.cooperative
            found = gpu_errors.finding(fault, launch.step, self._said, self.source, unmet)
            return LaunchReport(time.perf_counter() - begin, (found,), lost=True, diagnostics=notes)
        if not sole:
            return LaunchReport(seconds, diagnostics=notes)
        first = gpu_timing.FirstRun(
            seconds, self._characters > 0, self.keeps_state, repetition is not None, end - time.perf_counter()
        )
        reason = gpu_timing.reason_against(first)
        if reason or repetition is None:
            return LaunchReport(seconds, note=reason, diagnostics=notes)
        repeated = self._repeat(launch, arguments, repetition, end)
        return LaunchReport(seconds, repeated=repeated, note="" if repeated else gpu_timing.ENDED, diagnostics=notes)

    def _repeat(
        self, launch: PlannedLaunch, arguments: Sequence[bytes], repetition: Repetition, end: float
    ) -> Repeated | None:
        """Further launches, once the results of the first are safe on the host. None where one did not end well."""
        for buffer in self._buffers:
            if buffer.read_later:
                buffer.kept = buffer.read()
        try:
            with self.card.streams.diverted():
                return repetition.measure(lambda limit: self._once(launch, arguments, limit), end)
        except (self.card.runtime.CUDARuntimeError, self.card.driver.CUDADriverError):
            return None

    def _once(
        self, launch: PlannedLaunch, arguments: Sequence[bytes], end: float, on_print: Print | None = None
    ) -> tuple[float, int | None]:
        """Seconds by the GPU's events; or the error that ended the kernel, NOT_READY where the time `end` did."""
        runtime = self.card.runtime
        self._enqueue(launch, arguments)
        status = self._wait(end, on_print)
        if not status:
            try:
                # Also what hands over the rest of what the kernel printed.
                runtime.deviceSynchronize()
                return runtime.eventElapsedTime(self.card.start, self.card.stop) / 1e3, None
            except runtime.CUDARuntimeError as error:
                status = error.status
            finally:
                self._tell(on_print)
        self._lost = True
        self.card.streams.abandon_output()
        self._tell(on_print)
        return 0.0, status

    def _tell(self, on_print: Print | None) -> None:
        """What was printed since the last time."""
        output, errors = self.card.streams.take()
        self._said += errors
        if output and on_print is not None:
            self._characters += len(output)
            on_print(output)

    def _enqueue(self, launch: PlannedLaunch, arguments: Sequence[bytes]) -> None:
        """A launch between two events. CUDADriverError where the driver refuses it."""
        card = self.card
        function = self._function(launch)
        values = [ctypes.create_string_buffer(value, max(len(value), 1)) for value in arguments]
        pointers = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
        card.runtime.eventRecord(card.start, _STREAM)
        given = ctypes.addressof(pointers) if values else 0
        # A kernel that fixes its clusters itself is launched without.
        cluster = None if launch.entry.cluster is not None else launch.cluster
        if launch.cooperative or cluster is not None:
            how = (launch.grid, launch.block, launch.dynamic_shared_bytes, given, launch.cooperative, cluster)
            if status := card.attributed.launch(function, *how):
                raise card.driver.CUDADriverError(status)
        else:
            size = (*launch.grid, *launch.block, launch.dynamic_shared_bytes)
            card.driver.launchKernel(function, *size, _STREAM, given, 0)
        card.runtime.eventRecord(card.stop, _STREAM)

    def _wait(self, end: float, on_print: Print | None) -> int:
        """0 once the second event has happened, the error that came instead, or NOT_READY at `end`."""
        begin = told = time.perf_counter()
        while True:
            status: int = self.card.runtime.eventQuery(self.card.stop)
            now = time.perf_counter()
            if status != gpu_errors.NOT_READY or now >= end:
                return status
            if now - told >= _TELL_SECONDS:
                told = now
                self._tell(on_print)
            # Short kernels are awaited eagerly; a long one is not slowed by a look every now and then.
            time.sleep(0 if now - begin < _EAGER_SECONDS else min(_PAUSE_SECONDS, end - now))

    def _about_printf(self) -> tuple[Diagnostic, ...]:
        """A note, once, where text may have been lost."""
        if self._noted or self._characters * PRINTF_BYTES_A_CHARACTER < PRINTF_BYTES:
            return ()
        self._noted = True
        return (gpu_errors.printf_note(PRINTF_BYTES),)

    def close(self) -> None:
        """Frees memory and module, for a next device of this process; its end does where the context is lost."""
        runtime, driver = self.card.runtime, self.card.driver
        if self._lost:
            return
        try:
            while self._taken:
                runtime.free(self._taken.pop())
            self.probes.unload()
            driver.moduleUnload(self.module)
        except (runtime.CUDARuntimeError, driver.CUDADriverError):
            self._lost = True


def _variables(card: Card, module: int, cubin: bytes) -> tuple[list[tuple[int, int]], bool]:
    """Addresses and sizes of a module's variables, and whether it has some without."""
    found, unknown = [], False
    for name, size in variables(cubin):
        try:
            found.append((card.driver.moduleGetGlobal(module, name), size))
        except card.driver.CUDADriverError:
            unknown = True
    return found, unknown
