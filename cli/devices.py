"""Which device a command runs on."""

from cli.usage import Refused

NO_GPU = (
    "--device gpu: this version of Warpyard runs kernels on the PTX emulator alone; it cannot launch on a GPU yet.\n"
    "Use --device emulator. Its times are those of a CPU and say nothing of a GPU's."
)


def resolve(device: str) -> str:
    """The device that `auto`, `emulator` or `gpu` means here. Raises Refused."""
    if device in ("auto", "emulator"):
        return "emulator"
    if device == "gpu" or device.startswith("gpu:"):
        raise Refused(NO_GPU, code=1)
    raise Refused(f"--device {device}: expected auto, emulator or gpu")
