"""The sandbox and the stores of a command that runs kernels without a server."""

import hashlib
import threading
import time
import tokenize
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cli.argument_syntax import Given, GivenBuffer
from cli.launch_plan import NpyFile
from cli.usage import Refused
from protocol.events import Event, EventRecord, Finished
from protocol.inspection import InspectReport, InspectRequest
from protocol.result import RunResult, fold
from protocol.run import CompileRequest, OccupancyQuestion, RunRequest
from sandbox import inspection, pipeline
from sandbox.gpu_use import GpuUse
from sandbox.gpus import Gpu
from sandbox.improvement import Improver
from sandbox.launcher import Sandbox, SandboxUnavailable
from sandbox.limits import limits_for
from sandbox.pipeline import PipelineLimits
from sandbox.profiles import baseline_kinds, compiling_kinds
from sandbox.stores import FolderCache, Stores
from store.settings import Settings

if TYPE_CHECKING:
    from store.examples import Example


PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")


class MemoryBlobs:
    """Blobs of one command, gone with it."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    def get(self, digest: str) -> bytes | None:
        return self._data.get(digest)

    def put(self, data: bytes | memoryview) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self._data[digest] = bytes(data)
        return digest

    def clear(self) -> None:
        self._data.clear()


@dataclass(frozen=True)
class Local:
    """An open sandbox, with a compile cache that lasts and blobs that do not."""

    box: Sandbox
    stores: Stores
    limits: PipelineLimits
    improver: Improver
    use: GpuUse | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)

    def forget(self) -> None:
        """Drops the blobs of the runs so far."""
        if isinstance(self.stores.blobs, MemoryBlobs):
            self.stores.blobs.clear()


@contextmanager
def opened(gpu: Gpu | None = None, language: str = "cuda-c++", baselines: bool = False) -> Iterator[Local]:
    """To compile sources of a language, and to launch on `gpu` or else on the emulator.

    Raises Refused where no job may run here.
    """
    settings = Settings()
    try:
        settings.prepare()
        cache = FolderCache(settings.data_dir / "cache")
    except OSError as error:
        raise Refused(
            f"the data folder {settings.data_dir}: {error.strerror} (WARPYARD_DATA_DIR names another)"
        ) from None
    limits = PipelineLimits(
        compile=limits_for(settings.compile_wall_seconds, settings.job_memory_bytes),
        launch=limits_for(settings.run_wall_seconds, settings.job_memory_bytes),
    )
    try:
        launch = "launch" if gpu is None else "launch-gpu"
        kinds = (*compiling_kinds(language), "reference", *(baseline_kinds() if baselines else ()), launch)
        box = Sandbox(profiles=kinds, gpu=gpu, weak_gpu=settings.gpu_without_namespaces)
    except SandboxUnavailable as error:
        raise Refused(f"no sandbox on this machine, so nothing is run: {error}\nAsk: warpyard doctor", code=1) from None
    with box:
        improver, use = Improver(), None if gpu is None else GpuUse.opened(gpu)
        try:
            yield Local(box, Stores(cache, MemoryBlobs()), limits, improver, use)
        finally:
            improver.close()
            if use is not None:
                use.close()


def inspect(
    local: Local, request: CompileRequest, launch: OccupancyQuestion | None = None, every_gpu: bool = False
) -> InspectReport:
    question = InspectRequest(compile=request, launch=launch, every_gpu=every_gpu)
    return inspection.inspect(local.box, question, local.stores, local.cancelled, local.limits)


def perform(
    local: Local, request: RunRequest, device: str, show: Callable[[Event], None], first: Sequence[Event] = ()
) -> tuple[RunResult, Finished]:
    """Runs the request, showing each event as it comes; `first` goes before the run's own events."""
    records: list[EventRecord] = []

    def emit(event: Event) -> None:
        records.append(EventRecord(id=f"1-{len(records)}", at=time.time(), event=event))
        show(event)

    for event in first:
        emit(event)
    finished = pipeline.perform(
        local.box, request, device, local.stores, emit, local.cancelled, local.limits, local.improver, local.use
    )
    emit(finished)
    return fold(records), finished


def examples() -> "list[Example]":
    """The examples of this checkout, in the order of the menu."""
    from store.examples import load_examples

    return load_examples(Settings().examples_dir)


def keep_files(local: Local, example: "Example") -> None:
    """Puts what an example ships among the blobs, as an upload would be."""
    for _, path in example.files:
        local.stores.blobs.put(path.read_bytes())


def load_uploads(local: Local, arguments: Sequence[Given]) -> dict[str, NpyFile]:
    """Reads the .npy files that arguments name into the blobs. Raises Refused, naming the argument and the file."""
    import numpy

    from protocol.dtypes import ITEM_BYTES

    files = {}
    for argument in arguments:
        if not isinstance(argument, GivenBuffer) or argument.file is None:
            continue
        place = f"--arg {argument.name}: {argument.file}"
        try:
            data = argument.file.read_bytes()
            # A map of the file allocates nothing by what its header claims.
            array = numpy.load(argument.file, mmap_mode="r", allow_pickle=False)
        except OSError as error:
            raise Refused(f"{place}: {(error.strerror or str(error)).lower()}") from None
        except (ValueError, EOFError, SyntaxError, tokenize.TokenError, OverflowError):
            if argument.file.suffix.lower() in PICTURES:
                raise Refused(
                    f"{place}: only the page takes pictures; here give an .npy file, saved with numpy.save"
                ) from None
            raise Refused(f"{place} is not an .npy file that can be read") from None
        if not isinstance(array, numpy.ndarray) or array.dtype.name not in ITEM_BYTES:
            raise Refused(f"{place} holds {getattr(array, 'dtype', 'no array')}, which no buffer can have")
        dtype = argument.dtype if argument.dtype == "bfloat16" and array.dtype == numpy.uint16 else array.dtype.name
        files[argument.name] = NpyFile(local.stores.blobs.put(data), dtype, array.shape)
    return files
