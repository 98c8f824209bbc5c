"""Which device a command runs on."""

from dataclasses import dataclass

from cli.usage import Refused
from sandbox.gpus import Gpu, NoGpu, find_gpu

INSTEAD = "Use --device emulator. Its times are those of a CPU and say nothing of a GPU's."


@dataclass(frozen=True)
class Chosen:
    """A device by its resolved name, and the GPU where it is one."""

    name: str
    gpu: Gpu | None = None


def resolve(device: str) -> Chosen:
    """What `auto`, `emulator`, `gpu` or `gpu:<type>` means here. Raises Refused."""
    if device in ("auto", "emulator"):
        return Chosen("emulator")
    if device == "gpu" or device.startswith("gpu:"):
        try:
            gpu = find_gpu(device)
        except NoGpu as error:
            raise Refused(f"--device {device}: {error}\n{INSTEAD}", code=1) from None
        return Chosen(gpu.device, gpu)
    raise Refused(f"--device {device}: expected auto, emulator or gpu")
