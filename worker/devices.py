"""Which devices the queues of a worker stand for."""

import os

from protocol.devices import DeviceInfo
from sandbox.gpus import Gpu, find_gpu
from sandbox.launcher import Sandbox
from store.keys import COMPILE_QUEUE
from store.version import VERSION


def offered_devices(queues: tuple[str, ...], box: Sandbox) -> tuple[DeviceInfo, ...]:
    """One device for each queue but `compile`."""
    return tuple(_device(queue, box) for queue in queues if queue != COMPILE_QUEUE)


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


def _device(queue: str, box: Sandbox) -> DeviceInfo:
    if box.gpu is not None and queue == box.gpu.device:
        return DeviceInfo(
            id=queue,
            kind="gpu",
            name=box.gpu.name,
            architecture=box.gpu.architecture,
            sm_count=box.gpu.sm_count,
            memory_bytes=box.gpu.memory_bytes,
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
