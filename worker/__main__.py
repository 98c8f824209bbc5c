"""Starts a worker: python -m worker --queues emulator,compile --slots 1."""

import argparse
import sys

from store.keys import COMPILE_QUEUE
from store.logs import configure_logs
from store.settings import Settings
from worker.process import serve

KNOWN = ("emulator", COMPILE_QUEUE)


def _queues(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in KNOWN]
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
        "--queues", type=_queues, default="emulator,compile", help="comma-separated: emulator, compile"
    )
    parser.add_argument("--slots", type=_slots, default=1, help="jobs at once")
    parser.add_argument("--name", default="", help="how this worker is called in logs and events")
    options = parser.parse_args()
    settings = Settings()
    settings.prepare()
    configure_logs(settings, "worker")
    return serve(settings, options.queues, options.slots, options.name)


if __name__ == "__main__":
    sys.exit(main())
