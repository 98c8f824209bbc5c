"""Which devices the queues of a worker stand for."""

import os

from protocol.devices import DeviceInfo
from sandbox.gpu_use import GpuUse
from sandbox.gpus import Gpu, find_gpu
from sandbox.launcher import Sandbox
from store.keys import COMPILE_QUEUE
from store.version import VERSION


def offered_devices(
    queues: tuple[str, ...], box: Sandbox, use: GpuUse | None = None, notes: tuple[str, ...] = ()
) -> tuple[DeviceInfo, ...]:
    """One device for each queue but `compile`. `notes`: what is not known of the GPU."""
    return tuple(_device(queue, box, use, notes) for queue in queues if queue != COMPILE_QUEUE)


def with_gpu(queues: tuple[str, ...]) -> tuple[tuple[str, ...], Gpu | None]:
    """The queues, a GPU's by its type, and the GPU that they mean. Raises NoGpu where there is no such GPU."""
    wanted = [queue for queue in queues if queue.startswith("gpu")]
    if not wanted:
        return queues, None
    gpu = find_gpu(wanted[0])
    return tuple(dict.fromkeys(gpu.device if queue in wanted else queue for queue in queues)), gpu


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _device(queue: str, box: Sandbox, use: GpuUse | None, notes: tuple[str, ...]) -> DeviceInfo:
    if box.gpu is not None and queue == box.gpu.device:
        sensors = use.telemetry if use else None
        sm_mhz, memory_mhz = sensors.clocks() if sensors else (0, 0)
        return DeviceInfo(
            id=queue,
            kind="gpu",
            name=box.gpu.name,
            architecture=box.gpu.architecture,
            sm_count=box.gpu.sm_count,
            memory_bytes=box.gpu.memory_bytes,
            sm_mhz=sm_mhz,
            memory_mhz=memory_mhz,
            driver=sensors.driver if sensors else "",
            peaks=use.peaks if use else None,
            notes=notes,
            isolation=box.report.mode,
            version=VERSION,
        )
    return DeviceInfo(
        id="emulator",
        kind="emulator",
        name="PTX emulator",
        isolation=box.report.mode,
        version=VERSION,
    )
