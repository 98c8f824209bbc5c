"""Starts a worker: python -m worker --queues emulator,compile --slots 1."""

import argparse
import sys

from sandbox.gpus import NoGpu
from store.keys import COMPILE_QUEUE
from store.logs import configure_logs
from store.settings import Settings
from worker.devices import with_gpu
from worker.process import serve

KNOWN = ("emulator", COMPILE_QUEUE, "gpu")


def _queues(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name.partition(":")[0] not in KNOWN]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown) or 'nothing'}: known are {', '.join(KNOWN)}")
    return names


def _slots(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError("1 to 256")
    return int(text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m worker", description="Works off runs and compilations.")
    parser.add_argument(
        "--queues",
        type=_queues,
        help="comma-separated: emulator, compile, gpu or gpu:<type> (without --device: emulator,compile)",
    )
    parser.add_argument("--device", type=_queues, help="emulator, gpu or gpu:<type>: the queue of that device")
    parser.add_argument("--slots", type=_slots, default=1, help="jobs at once")
    parser.add_argument("--name", default="", help="how this worker is called in logs and events")
    options = parser.parse_args()
    queues = (*(options.device or ()), *(options.queues or ())) or ("emulator", COMPILE_QUEUE)
    try:
        queues, gpu = with_gpu(queues)
    except NoGpu as error:
        parser.error(str(error))
    if gpu is not None and options.slots > 1:
        parser.error(f"--slots {options.slots}: a GPU runs one job at a time, so that no run changes another's time")
    settings = Settings()
    settings.prepare()
    configure_logs(settings, "worker")
    return serve(settings, queues, options.slots, options.name, gpu)


if __name__ == "__main__":
    sys.exit(main())
