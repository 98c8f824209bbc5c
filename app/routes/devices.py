"""What the page needs to know before the first run: devices, examples."""

from fastapi import APIRouter
from pydantic import BaseModel

from app.errors import Unavailable, documented
from app.service import Served
from protocol.devices import DeviceInfo
from protocol.gpus import GpuTable, gpu_table
from protocol.run import SharePayload
from store import keys
from store.version import VERSION
from store.workers import offered

router = APIRouter(tags=["devices"])


class Devices(BaseModel):
    """Of the workers that live now. `isolation` is the weakest of the devices', none where there is no device."""

    devices: tuple[DeviceInfo, ...]
    default: str
    isolation: str
    version: str
    reasons: tuple[str, ...] = ()
    """Why workers take no runs, where they do not."""


class ExampleAnswer(BaseModel):
    id: str
    title: str
    summary: str
    payload: SharePayload


@router.get("/api/devices", responses=documented(Unavailable))
async def get_devices(service: Served) -> Devices:
    """The devices that workers offer, and the one that `auto` takes."""
    workers = await service.workers()
    offers = offered(workers)
    waiting = [await service.client.zcard(keys.pending(device.id)) for device in offers]
    devices = tuple(device.model_copy(update={"queued": count}) for device, count in zip(offers, waiting, strict=True))
    grades = [device.isolation for device in devices]
    return Devices(
        devices=devices,
        default=devices[0].id if devices else "emulator",
        isolation=next((grade for grade in ("none", "weak", "strong") if grade in grades), "none"),
        version=VERSION,
        reasons=tuple(sorted({worker.refuses for worker in workers if worker.refuses})),
    )


@router.get("/api/gpus")
async def get_gpus() -> GpuTable:
    """Facts of GPU models, with the date on which they were looked up and their sources; no worker need have one."""
    return gpu_table()


@router.get("/api/examples")
async def get_examples(service: Served) -> list[ExampleAnswer]:
    """The examples of the menu, in its order."""
    return [
        ExampleAnswer(id=item.id, title=item.title, summary=item.summary, payload=item.payload)
        for item in service.examples
    ]
