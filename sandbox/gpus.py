"""The NVIDIA GPUs of this machine, as their driver describes them to a short-lived process of our own."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sandbox.profiles import import_path

CONTROL = ("/dev/nvidiactl", "/dev/nvidia-uvm")
"""Device nodes that every GPU's users share."""
LIBRARY = "libcuda.so.1"
_BESIDE = ("libcuda.so.*", "libnvidia-ptxjitcompiler.so.*", "libnvidia-gpucomp.so.*", "libnvidia-nvvm*.so.*")
"""Of the driver's libraries, those that it loads while it runs kernels."""
_TIMEOUT = 30.0
_LOOK_SECONDS = 0.01
# By the first two the driver knows that its kernel modules are loaded.
_FACTS = (
    "/sys/module/nvidia/initstate",
    "/sys/module/nvidia_uvm/initstate",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/memory/block_size_bytes",
    "/sys/devices/system/node",
)
_BOOTSTRAP = "import sys; sys.path[:0] = sys.argv[1:]; from sandbox.gpus import main; main()"

NO_CUPY = "CuPy is not installed: pip install 'cupy-cuda13x==14.2.0' (the extra 'gpu')"

# Of cuDeviceGetAttribute.
_SM_COUNT, _BUS, _SLOT, _DOMAIN, _MAJOR, _MINOR = 16, 33, 34, 50, 75, 76


class NoGpu(Exception):
    """No GPU can be used here; the text says why."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: what it is, its device nodes, the driver's libraries (the first is libcuda's)."""

    name: str
    architecture: str
    sm_count: int
    memory_bytes: int
    uuid: str
    cuda: str
    """The newest CUDA version that the driver runs, such as 13.0."""
    nodes: tuple[str, ...]
    libraries: tuple[str, ...]
    facts: tuple[str, ...]
    """Files of /sys that the driver reads when it starts."""

    @property
    def device(self) -> str:
        """As a request names it, such as gpu:h200."""
        return f"gpu:{gpu_type(self.name)}"


def gpu_type(name: str) -> str:
    """A model's name as part of a device's: 'NVIDIA H200' is h200, 'NVIDIA A100-SXM4-80GB' a100-sxm4-80gb."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower().removeprefix("nvidia")).strip("-")
    return words[:32].strip("-") or "unnamed"


def find_gpus() -> tuple[Gpu, ...]:
    """All GPUs that kernels can run on, in the driver's order; about 0.3 s. Raises NoGpu."""
    if not Path(CONTROL[0]).exists():
        raise NoGpu(f"there is no NVIDIA GPU, or its driver is not loaded: {CONTROL[0]} does not exist")
    if not os.access(CONTROL[0], os.R_OK | os.W_OK):
        raise NoGpu(f"this user may not open {CONTROL[0]}")
    if importlib.util.find_spec("cupy_backends") is None:
        raise NoGpu(NO_CUPY)
    command = [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, *import_path()]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise NoGpu(f"the driver did not answer within {_TIMEOUT:g} s") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise NoGpu(f"asking the driver ended with code {done.returncode}") from None
    if "error" in answer:
        raise NoGpu(answer["error"])
    found = tuple(_described(facts) for facts in answer["gpus"])
    if not found:
        raise NoGpu("the driver knows no GPU")
    return found


def _described(facts: dict[str, Any]) -> Gpu:
    """A GPU from its JSON, which has lists for tuples."""
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
    return Gpu(**values)


def find_gpu(device: str) -> Gpu:
    """The GPU that `gpu`, or a name such as gpu:h200, means here; the first of several. Raises NoGpu."""
    found = find_gpus()
    fitting = [gpu for gpu in found if device in ("gpu", gpu.device)]
    if not fitting:
        raise NoGpu(f"there is no {device} here; there is {', '.join(dict.fromkeys(gpu.device for gpu in found))}")
    return fitting[0]


@contextlib.contextmanager
def turn(gpu: Gpu, cancelled: threading.Event) -> Iterator[None]:
    """One job at a time among this user's processes on this machine: waits for its turn, or for `cancelled`."""
    path = Path(tempfile.gettempdir()) / f"warpyard-{os.getuid()}-{gpu.uuid}.lock"
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        while not cancelled.is_set():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                cancelled.wait(_LOOK_SECONDS)
        yield
    finally:
        os.close(lock)


def main() -> None:
    """In the short-lived process: print what the driver says."""
    try:
        answer: dict[str, Any] = {"gpus": [asdict(gpu) for gpu in _ask()]}
    except (OSError, NoGpu) as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
    os._exit(0)


def _ask() -> Iterator[Gpu]:
    try:
        cuda = ctypes.CDLL(LIBRARY)
    except OSError:
        raise NoGpu(f"the driver's library {LIBRARY} is not installed") from None

    def call(name: str, *arguments: object) -> None:
        status = getattr(cuda, name)(*arguments)
        if status:
            raise NoGpu(f"the driver answers {name} with error {status}")

    def number(name: str, *arguments: object) -> int:
        value = ctypes.c_int()
        call(name, ctypes.byref(value), *arguments)
        return value.value

    call("cuInit", 0)
    version = number("cuDriverGetVersion")
    libraries = _libraries()
    for index in range(number("cuDeviceGetCount")):
        device = number("cuDeviceGet", index)
        name, uuid, memory = ctypes.create_string_buffer(256), ctypes.create_string_buffer(16), ctypes.c_size_t()
        call("cuDeviceGetName", name, 256, device)
        call("cuDeviceGetUuid_v2", uuid, device)
        call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
        attributes = [_SM_COUNT, _MAJOR, _MINOR, _DOMAIN, _BUS, _SLOT]
        sms, major, minor, domain, bus, slot = (number("cuDeviceGetAttribute", item, device) for item in attributes)
        address = f"{domain:04x}:{bus:02x}:{slot:02x}.0"
        yield Gpu(
            name=name.value.decode(errors="replace"),
            architecture=f"sm_{major}{minor}",
            sm_count=sms,
            memory_bytes=memory.value,
            uuid=f"GPU-{_uuid_text(uuid.raw)}",
            cuda=f"{version // 1000}.{version % 1000 // 10}",
            nodes=(*CONTROL, _node(address)),
            libraries=libraries,
            facts=tuple(path for path in (*_FACTS, f"/sys/bus/pci/devices/{address}/numa_node") if Path(path).exists()),
        )


def _uuid_text(raw: bytes) -> str:
    digits = raw.hex()
    return "-".join(digits[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))


def _node(address: str) -> str:
    """The device node of the GPU at a PCI address."""
    try:
        text = (Path("/proc/driver/nvidia/gpus") / address / "information").read_text()
    except OSError:
        text = ""
    number = re.search(r"^Device Minor:\s*(\d+)", text, re.MULTILINE)
    if number:
        return f"/dev/nvidia{number[1]}"
    nodes = sorted(map(str, Path("/dev").glob("nvidia[0-9]*")))
    if len(nodes) != 1:
        raise NoGpu(f"the driver does not say which of {', '.join(nodes) or 'no nodes'} is the GPU at {address}")
    return nodes[0]


def _libraries() -> tuple[str, ...]:
    """Paths of libcuda, as it is loaded now, and of what it loads later."""
    loaded = (line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libcuda.so" in line)
    folder = Path(next(loaded)).parent
    return (str(folder / LIBRARY), *sorted(_matching(folder, _BESIDE)))


def _matching(folder: Path, patterns: Iterable[str]) -> set[str]:
    return {str(path) for pattern in patterns for path in folder.glob(pattern) if path.name != LIBRARY}
