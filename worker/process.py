"""One worker process: its sandbox, its stores, its Celery consumer.

Celery's thread pool, because the parts of a job that take long run in the sandbox's own processes: a thread only
waits for frames. The consumer stays free to acknowledge and to stop, nothing is forked after threads have started,
and the sandbox's zygotes are started once, by the main thread, for all slots. A killed process loses its slots
together; their runs are taken up again when their leases run out, as with any other pool.
"""

import functools
import os
import socket
import threading
import warnings
from collections.abc import Callable
from contextlib import ExitStack

import structlog
from celery import Celery
from celery.platforms import SecurityWarning
from celery.signals import setup_logging, worker_shutting_down

from protocol.events import Finished
from protocol.run import RunRequest
from sandbox import inspection, pipeline
from sandbox.compilation import Emit
from sandbox.gpus import Gpu
from sandbox.improvement import Improver
from sandbox.keys import processor_key, toolchain_key
from sandbox.launcher import Sandbox
from sandbox.limits import limits_for
from sandbox.pipeline import PipelineLimits
from sandbox.profiles import baseline_kinds, compiling_kinds
from sandbox.stores import Stores
from store.blobs import open_blobs
from store.broker import INSPECT_TASK, RUN_TASK, open_celery
from store.cache import open_cache
from store.claims import Claims
from store.connections import connect_blocking
from store.database import open_database_blocking
from store.identifiers import new_id
from store.keys import COMPILE_QUEUE
from store.settings import Settings
from store.workers import Worker
from worker.devices import offered_devices
from worker.gpu_guard import GuardedGpu
from worker.gpu_lease import GpuLease, GpuTaken
from worker.inspections import Inspections
from worker.opening import open_sandbox
from worker.presence import Presence
from worker.runs import Runs

log = structlog.get_logger(__name__)


def serve(settings: Settings, queues: tuple[str, ...], slots: int, label: str = "", gpu: Gpu | None = None) -> int:
    """Works until SIGTERM or SIGINT; jobs that still run are then given back. Answers the exit code."""
    stopping = threading.Event()
    name = f"{label or socket.gethostname()}-{os.getpid()}-{new_id()[-4:]}"
    with ExitStack() as stack:
        client = connect_blocking(settings.redis)
        stack.callback(client.close)
        client.ping()
        engine = open_database_blocking(settings)
        stack.callback(engine.dispose)
        with engine.connect():
            pass
        toolchain_key(), processor_key()
        stores = Stores(cache=open_cache(settings), blobs=open_blobs(settings))
        told = Worker(name=name, queues=queues, slots=slots)
        try:
            if gpu is not None:
                stack.enter_context(GpuLease(client, gpu.uuid, name, settings.worker_ttl))
        except GpuTaken as error:
            return _refuse(settings, told.model_copy(update={"refuses": str(error)}), stopping)
        box = open_sandbox(
            lambda: Sandbox(profiles=_profiles(queues), gpu=gpu, weak_gpu=settings.gpu_without_namespaces),
            client,
            told,
            settings.worker_ttl,
            stopping,
        )
        if box is None:
            return 0
        stack.callback(box.close)
        log.info(
            "sandbox open",
            mode=box.report.mode,
            reasons=list(box.report.reasons),
            canaries=box.report.canaries,
        )
        limits = PipelineLimits(
            compile=limits_for(settings.compile_wall_seconds, settings.job_memory_bytes),
            launch=limits_for(settings.run_wall_seconds, settings.job_memory_bytes),
        )
        improver = Improver()
        stack.callback(improver.close)
        guard = None
        if gpu is not None:
            guard = stack.enter_context(GuardedGpu.opened(box, gpu, stores, limits))
        use = guard.use if guard else None

        def perform(request: RunRequest, device: str, emit: Emit, cancelled: threading.Event) -> Finished:
            end = pipeline.perform(box, request, device, stores, emit, cancelled, limits, improver, use)
            if guard is not None and device.startswith("gpu") and not stopping.is_set():
                guard.after(end)
            return end

        runs = Runs(
            Claims(client, engine, settings),
            perform,
            name,
            stopping,
            settings.lease_seconds,
        )
        inspections = Inspections(
            client,
            lambda request, cancelled: inspection.inspect(box, request, stores, cancelled, limits),
            stopping,
        )
        celery = open_celery(settings, queues)
        register(celery, runs, inspections)
        worker = Worker(
            name=name,
            queues=queues,
            devices=offered_devices(queues, box, use, guard.notes if guard else ()),
            slots=slots,
            compiles=COMPILE_QUEUE in queues,
        )
        with Presence(client, worker, settings.worker_ttl):
            code = consume(celery, name, queues, slots, stopping)
        if guard is not None and guard.health.state == "quarantined":
            return _refuse(settings, told.model_copy(update={"refuses": guard.health.why}), threading.Event())
        return code


def register(celery: Celery, runs: Runs, inspections: Inspections) -> None:
    celery.task(name=RUN_TASK)(_plain(runs.run))
    celery.task(name=INSPECT_TASK)(_plain(inspections.answer))


def consume(celery: Celery, name: str, queues: tuple[str, ...], slots: int, stopping: threading.Event) -> int:
    """Takes messages until the process is told to stop; `stopping` is set at once then."""

    def stop(**_: object) -> None:
        stopping.set()

    worker_shutting_down.connect(stop, weak=False)
    setup_logging.connect(_keep_our_logging, weak=False)
    # It fears pickled messages; ours are ids as JSON, and namespaces may need root.
    warnings.simplefilter("ignore", SecurityWarning)
    consumer = celery.Worker(
        hostname=f"warpyard@{name}",
        pool_cls="threads",
        concurrency=slots,
        queues=list(queues),
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        optimization="fair",
        quiet=True,
    )
    log.info("worker ready", queues=list(queues), slots=slots)
    consumer.start()
    return int(consumer.exitcode or 0)


def _keep_our_logging(**_: object) -> None:
    """Celery sets no logging up where somebody is connected to this signal."""


def _plain(method: Callable[[str], None]) -> Callable[[str], None]:
    """Celery wants a function with a name of its own."""

    @functools.wraps(method)
    def task(argument: str) -> None:
        method(argument)

    return task


def _profiles(queues: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of jobs that the queues need: to compile always, to launch on the emulator or on a GPU."""
    emulated = ("launch",) if "emulator" in queues else ()
    driven = ("launch-gpu",) if any(queue.startswith("gpu") for queue in queues) else ()
    return (*compiling_kinds(), "reference", *baseline_kinds(), *emulated, *driven)


def _refuse(settings: Settings, worker: Worker, stopping: threading.Event) -> int:
    """Takes no message, but says why for as long as the process lives, so that the page can show it."""
    import signal

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    log.error("no job is taken", reason=worker.refuses)
    with Presence(connect_blocking(settings.redis), worker, settings.worker_ttl):
        stopping.wait()
    return 0
