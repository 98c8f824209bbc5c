"""The devices that kernels run on: an explicit table."""

from __future__ import annotations

from engine.devices.device import Device, DeviceBuffer, DeviceLost, DeviceRefusal, LaunchReport
from engine.devices.emulated import EmulatedDevice
from engine.devices.gpu import GpuDevice
from protocol.diagnostics import Diagnostic

DEVICES: tuple[tuple[str, type[Device]], ...] = (("emulator", EmulatedDevice), ("gpu", GpuDevice))
"""What a request's device begins with -> the device. Nothing falls back from one to another."""

__all__ = ["DEVICES", "Device", "DeviceBuffer", "DeviceLost", "DeviceRefusal", "LaunchReport", "device_type"]


def device_type(name: str) -> type[Device]:
    """The device of a resolved name, such as emulator or gpu:h200. DeviceRefusal where this process offers none."""
    for prefix, device in DEVICES:
        if name.partition(":")[0] == prefix:
            return device
    message = f"this worker has no device {name}; it has {', '.join(prefix for prefix, _ in DEVICES)}"
    raise DeviceRefusal([Diagnostic(severity="error", message=message, origin="service", field="device")])
