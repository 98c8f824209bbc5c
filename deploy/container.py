"""What a container runs: python deploy/container.py app | worker | toolchain | health, with arguments to pass on."""

import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import toolchain

ROOT = Path(__file__).resolve().parent.parent
PORT = os.environ.get("APP_PORT", "8000")
"""Where the API listens inside its container; another where the container shares the machine's network."""
PATIENCE = 4.0
"""Seconds that a health check waits for an answer."""


def main() -> int:
    work, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if work not in WORK:
        print(f"container: {work or 'nothing'}: known are {', '.join(WORK)}", file=sys.stderr)
        return 2
    try:
        return WORK[work](arguments)
    except toolchain.ToolchainMissing as error:
        print(error, file=sys.stderr)
        return 1


def app(arguments: list[str]) -> int:
    """The API and the page, once the database is at this release's revision."""
    done = subprocess.run([sys.executable, "-m", "store.migrate"], cwd=ROOT, check=False)
    return done.returncode or become("app", ["--host", "0.0.0.0", "--port", PORT, *arguments])


def worker(arguments: list[str]) -> int:
    """A worker, once there is a compiler."""
    install([])
    return become("worker", arguments)


def install(arguments: list[str]) -> int:
    toolchain.install(lambda text: print(text, file=sys.stderr, flush=True))
    return 0


def become(module: str, arguments: list[str]) -> int:
    """Goes on as this module, in the same process, so that signals reach it."""
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])


def health(arguments: list[str]) -> int:
    """Whether the container's own process does its work: 0, or 1 with the reason."""
    reason = app_ails() if (arguments or ["app"])[0] == "app" else worker_ails()
    if reason:
        print(reason)
    return 1 if reason else 0


def app_ails() -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/healthz", timeout=PATIENCE) as answer:
            return "" if answer.status == 200 else f"answers {answer.status}"
    except OSError as error:
        return str(error)


def worker_ails() -> str:
    """A worker tells Redis every few seconds that it lives, and why it takes no jobs where it does not."""
    sys.path.insert(0, str(ROOT))
    import redis

    from store import keys
    from store.settings import Settings
    from store.workers import Worker

    try:
        with redis.Redis.from_url(Settings().redis, socket_timeout=PATIENCE, decode_responses=True) as client:
            ours = client.scan_iter(f"{keys.worker(socket.gethostname())}-*", 1000)
            told = [client.get(key) for key in ours]
    except redis.RedisError as error:
        return str(error)
    found = [Worker.model_validate_json(str(text)) for text in told if text is not None]
    if not found:
        return "the worker does not tell Redis that it lives"
    return "" if any(not worker.refuses for worker in found) else found[0].refuses


WORK = {"app": app, "worker": worker, "toolchain": install, "health": health}

if __name__ == "__main__":
    sys.exit(main())
