"""Numba's CUDA compiler with neither driver nor GPU: what it asks of them is answered here, or refused."""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

from engine.languages.nvrtc import CompilerUnavailable, nvrtc, toolkit_root


class NeedsGpu(Exception):
    """Host code of the source asked for a GPU: a launch, an array on the device. The form does that here."""


class _Device:
    """What the compiler asks of the current device."""

    name, id = b"offline", 0
    compute_capability = (9, 0)


@functools.cache
def numba_cuda() -> Any:
    """The module numba.cuda, able to compile. ModuleNotFoundError where Numba is not installed."""
    _load_libraries()
    # The package's own .pth does this, where the interpreter starts with `site`.
    importlib.import_module("_numba_cuda_redirector")
    cuda = importlib.import_module("numba.cuda")
    dispatcher = importlib.import_module("numba.cuda.dispatcher")
    for module in (dispatcher, importlib.import_module("numba.cuda.compiler")):
        vars(module)["get_current_device"] = lambda: _Device
    _compile_later(dispatcher.CUDADispatcher)
    nvvm = importlib.import_module("numba.cuda.cudadrv.nvvm")
    nvvm.LibDevice._cache_ = (toolkit_root() / "nvvm" / "libdevice" / "libdevice.10.bc").read_bytes()
    driver = importlib.import_module("numba.cuda.cudadrv.driver")
    driver.Driver.ensure_initialized = _no_device
    for name in ("__getitem__", "configure", "forall", "specialize"):
        setattr(dispatcher.CUDADispatcher, name, _no_launch)
    return cuda


def _load_libraries() -> None:
    """Numba asks for its libraries by name, in places that depend on how the interpreter was started."""
    nvrtc()
    try:
        ctypes.CDLL(str(toolkit_root() / "lib" / "libnvvm.so.4"), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise CompilerUnavailable(f"Numba's compiler could not be loaded (package nvidia-nvvm): {error}") from error


def compile_for(architecture: str) -> tuple[int, int]:
    """The compute capability of sm_90, for which the device functions that kernels call are compiled from now on."""
    number = int(architecture.removeprefix("sm_"))
    _Device.compute_capability = (number // 10, number % 10)
    return _Device.compute_capability


def _compile_later(dispatcher: Any) -> None:
    """A decorator with signatures only notes them, and every function tells its lines."""
    create = dispatcher.__init__

    def __init__(self: Any, function: Any, targetoptions: dict[str, Any], **more: Any) -> None:
        create(self, function, {**targetoptions, "lineinfo": True, "debug": False, "opt": True}, **more)
        self.signatures_asked_for = []

    def compile(self: Any, signature: Any) -> None:
        self.signatures_asked_for.append(tuple(signature))

    def disable_compile(self: Any, value: bool = True) -> None:
        """Nothing has been compiled that could be all there will be."""

    dispatcher.__init__, dispatcher.compile, dispatcher.disable_compile = __init__, compile, disable_compile


def _no_device(self: Any) -> None:
    raise NeedsGpu("it uses a GPU")


def _no_launch(self: Any, *_: Any) -> None:
    raise NeedsGpu("it launches a kernel")
