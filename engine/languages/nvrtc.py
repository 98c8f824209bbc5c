"""NVRTC over ctypes, from the nvidia wheels alone: no driver, no GPU, no nvcc."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_SUCCESS = 0
_BUILTIN_OPERATION_FAILURE = 7


class CompilerUnavailable(RuntimeError):
    """The compiler's library is not installed or cannot be loaded; the text says which wheel is missing."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """What one call of the compiler gave. PTX and CUBIN are empty where it failed."""

    ok: bool
    log: str
    ptx: str = ""
    cubin: bytes = b""
    lowered: dict[str, str] = field(default_factory=dict)
    """Name expression -> name in the PTX."""


@functools.cache
def toolkit_root() -> Path:
    """The folder that holds `lib` and `include` of the compiler's wheels."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        root = Path(folder) / "cu13"
        if (root / "lib").is_dir():
            return root
    raise CompilerUnavailable(
        "The CUDA compiler is not installed: it comes with the package nvidia-cuda-nvrtc, which exists for Linux."
    )


@functools.cache
def include_folders() -> tuple[str, ...]:
    """The only folders that a source may include from."""
    root = toolkit_root() / "include"
    return tuple(str(folder) for folder in (root, root / "cccl") if folder.is_dir())


class Nvrtc:
    """One loaded library. `compile` may be called again and again; it is not safe to call from two threads."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` holds the library; None is that of the installed wheels."""
        folder = folder or toolkit_root() / "lib"
        library = _only(folder, "libnvrtc.so.*")
        try:
            # NVRTC opens this one by its bare name, which works only if it is loaded already.
            ctypes.CDLL(str(_only(folder, "libnvrtc-builtins.so.*")), mode=ctypes.RTLD_GLOBAL)
            self._library = ctypes.CDLL(str(library))
        except OSError as error:
            raise CompilerUnavailable(f"The CUDA compiler could not be loaded: {error}") from error
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        pointer = ctypes.c_void_p
        for name, arguments in {
            "CreateProgram": [pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, pointer, pointer],
            "CompileProgram": [pointer, ctypes.c_int, pointer],
            "AddNameExpression": [pointer, ctypes.c_char_p],
            "GetLoweredName": [pointer, ctypes.c_char_p, pointer],
            "GetProgramLogSize": [pointer, pointer],
            "GetProgramLog": [pointer, ctypes.c_char_p],
            "GetPTXSize": [pointer, pointer],
            "GetPTX": [pointer, ctypes.c_char_p],
            "GetCUBINSize": [pointer, pointer],
            "GetCUBIN": [pointer, ctypes.c_char_p],
            "DestroyProgram": [pointer],
        }.items():
            getattr(self._library, f"nvrtc{name}").argtypes = arguments

    @functools.cached_property
    def version(self) -> tuple[int, int]:
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    @functools.cached_property
    def architectures(self) -> tuple[str, ...]:
        """Targets that this version knows, such as sm_90."""
        count = ctypes.c_int()
        self._library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self._library.nvrtcGetSupportedArchs(numbers)
        return tuple(f"sm_{number}" for number in numbers)

    def compile(
        self,
        source: bytes,
        file_name: str,
        options: Sequence[str],
        headers: dict[str, str],
        name_expressions: Sequence[str] = (),
    ) -> Compilation:
        """Compiles one file. `headers` are in memory: name as included -> text. RuntimeError where NVRTC misbehaves."""
        program = ctypes.c_void_p()
        self._check(
            self._library.nvrtcCreateProgram(
                ctypes.byref(program),
                source,
                file_name.encode(),
                len(headers),
                _strings(list(headers.values())),
                _strings(list(headers)),
            )
        )
        try:
            for expression in name_expressions:
                self._check(self._library.nvrtcAddNameExpression(program, expression.encode()))
            status = self._library.nvrtcCompileProgram(program, len(options), _strings(options))
            # Parts of the log are separated by NUL.
            log = self._read(program, "ProgramLog").replace(b"\0", b"").decode(errors="replace")
            if status == _BUILTIN_OPERATION_FAILURE:
                self._check(status)
            if status != _SUCCESS:
                return Compilation(ok=False, log=log or self._message(status))
            lowered = {expression: self._lowered(program, expression) for expression in name_expressions}
            ptx = self._read(program, "PTX").rstrip(b"\0").decode(errors="replace")
            return Compilation(ok=True, log=log, ptx=ptx, cubin=self._read(program, "CUBIN"), lowered=lowered)
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _lowered(self, program: ctypes.c_void_p, expression: str) -> str:
        name = ctypes.c_char_p()
        self._check(self._library.nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(name)))
        return (name.value or b"").decode()

    def _read(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        if size.value:
            self._check(getattr(self._library, f"nvrtcGet{what}")(program, buffer))
        return buffer.raw[: size.value]

    def _check(self, status: int) -> None:
        if status != _SUCCESS:
            raise RuntimeError(f"NVRTC: {self._message(status)}")

    def _message(self, status: int) -> str:
        text: bytes = self._library.nvrtcGetErrorString(status)
        return text.decode()


@functools.cache
def nvrtc() -> Nvrtc:
    """The library, loaded once a process."""
    return Nvrtc()


def _only(folder: Path, pattern: str) -> Path:
    # The .alt. builds, compiled with another code model, lie beside the one that is meant.
    found = [path for path in sorted(folder.glob(pattern)) if ".alt." not in path.name]
    if not found:
        raise CompilerUnavailable(f"{folder} holds no {pattern}: install the package nvidia-cuda-nvrtc.")
    return found[0]


def _strings(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * max(1, len(texts)))(*[text.encode() for text in texts])
