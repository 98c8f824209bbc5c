"""Which workers live, and which devices they offer."""

import time
from collections.abc import Iterable
from typing import Annotated

import redis
import redis.asyncio
from pydantic import Field, ValidationError

from protocol.base import Model
from protocol.devices import DeviceInfo
from protocol.run import RunRequest
from store import keys
from store.version import VERSION

OTHER_RELEASE = (
    "The worker {name} is {of} and this service of version {version}: it gets no runs until both are of one release."
)


class Worker(Model):
    """What a worker says of itself every few seconds."""

    name: str
    queues: tuple[str, ...]
    devices: tuple[DeviceInfo, ...] = ()
    slots: Annotated[int, Field(ge=1)] = 1
    compiles: bool = False
    version: str = ""
    """Its release; empty of one that tells none."""
    refuses: str = ""
    """Why it takes no jobs, where it does not: shown in /readyz and in answers."""


def announce(client: redis.Redis, worker: Worker, ttl: float) -> None:
    """Counts the worker as live for `ttl` seconds, as one of this release unless it says another."""
    worker = worker.model_copy(update={"version": worker.version or VERSION})
    with client.pipeline() as pipe:
        pipe.set(keys.worker(worker.name), worker.model_dump_json(), px=int(ttl * 1000))
        pipe.zadd(keys.WORKERS, {worker.name: time.time() + ttl})
        pipe.zremrangebyscore(keys.WORKERS, "-inf", time.time() - ttl)
        pipe.execute()


def withdraw(client: redis.Redis, name: str) -> None:
    with client.pipeline() as pipe:
        pipe.delete(keys.worker(name))
        pipe.zrem(keys.WORKERS, name)
        pipe.execute()


async def live_workers(client: redis.asyncio.Redis) -> tuple[Worker, ...]:
    names = await client.zrange(keys.WORKERS, 0, -1)
    if not names:
        return ()
    texts = await client.mget([keys.worker(str(name)) for name in names])
    workers = []
    for name, text in zip(names, texts, strict=True):
        if text is None:
            continue
        try:
            workers.append(_of_this_release(Worker.model_validate_json(text)))
        except ValidationError:
            workers.append(_of_this_release(Worker(name=str(name), queues=())))
    return tuple(workers)


def _of_this_release(worker: Worker) -> Worker:
    """A worker of another release may understand a request, or a compiler, otherwise: it gets nothing to do."""
    if worker.version == VERSION:
        return worker
    of = f"of version {worker.version}" if worker.version else "of another version"
    refusal = OTHER_RELEASE.format(name=worker.name, of=of, version=VERSION)
    return worker.model_copy(update={"refuses": refusal})


def offered(workers: Iterable[Worker]) -> tuple[DeviceInfo, ...]:
    """One DeviceInfo for each device, with the number of slots behind it as `workers`."""
    found: dict[str, DeviceInfo] = {}
    for worker in workers:
        if worker.refuses:
            continue
        for device in worker.devices:
            before = found.get(device.id)
            count = worker.slots + (before.workers if before else 0)
            found[device.id] = (before or device).model_copy(update={"workers": count})
    return tuple(sorted(found.values(), key=lambda device: (device.kind != "emulator", device.id)))


class NoDevice(Exception):
    """No living worker offers what the request names; the message says what there is."""


class WrongArchitecture(Exception):
    """The GPUs that the request may mean are of another architecture; the message says of which."""


def resolve(request: RunRequest, workers: Iterable[Worker]) -> str:
    """The device a run goes to: as named, `gpu` the first GPU, `auto` the emulator, else a GPU of the architecture.

    Raises NoDevice, WrongArchitecture.
    """
    workers = tuple(workers)
    devices = offered(workers)
    wanted = request.device
    named = [device for device in devices if wanted in ("auto", device.kind, device.id)]
    fitting = [device for device in named if device.architecture in (None, request.architecture)]
    if fitting:
        return fitting[0].id
    if named:
        there = " and ".join(f"{device.name} is {device.architecture}" for device in named)
        raise WrongArchitecture(
            f"the kernel is compiled for {request.architecture}, and {there}: "
            f"choose {named[0].architecture}, or the emulator"
        )
    reasons = sorted({worker.refuses for worker in workers if worker.refuses})
    if devices:
        there = ", ".join(device.id for device in devices)
        raise NoDevice(" ".join((f"No worker offers {wanted} now; there is {there}.", *reasons)))
    if reasons:
        raise NoDevice(f"No worker takes runs: {' '.join(reasons)}")
    raise NoDevice("No worker is running. Start one with `warpyard serve`, or look at its log.")
