"""Which devices the queues of a worker stand for."""

import os

from protocol.devices import DeviceInfo
from sandbox.launcher import Sandbox
from store.keys import COMPILE_QUEUE
from store.version import VERSION


def offered_devices(queues: tuple[str, ...], box: Sandbox) -> tuple[DeviceInfo, ...]:
    """One device for each queue but `compile`. Raises ValueError for one that this version cannot drive."""
    return tuple(_device(queue, box) for queue in queues if queue != COMPILE_QUEUE)


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _device(queue: str, box: Sandbox) -> DeviceInfo:
    if queue != "emulator":
        raise ValueError(f"queue {queue}: this version runs kernels on the emulator alone")
    return DeviceInfo(
        id="emulator",
        kind="emulator",
        name="PTX emulator",
        isolation=box.report.mode,
        version=VERSION,
    )
