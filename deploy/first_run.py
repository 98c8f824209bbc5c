"""Waits for a service, sends one of its own examples through it, and tells what came: python first_run.py URL EXAMPLE.

Standard library only.
"""

import json
import sys
import time
import urllib.error
import urllib.request
from typing import Any

PATIENCE = 90.0


def call(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def wait_until_ready(url: str) -> None:
    deadline, last = time.monotonic() + PATIENCE, "no answer"
    while time.monotonic() < deadline:
        try:
            call(f"{url}/readyz")
            return
        except urllib.error.HTTPError as error:
            last = error.read().decode()
        except OSError as error:
            last = str(error)
        time.sleep(0.2)
    sys.exit(f"{url} is not ready after {PATIENCE:g} s: {last}")


def main() -> None:
    url, name = sys.argv[1:3]
    wait_until_ready(url)
    device = call(f"{url}/api/devices")
    found = {example["id"]: example for example in call(f"{url}/api/examples")}
    began = time.monotonic()
    run = call(f"{url}/api/runs", found[name]["payload"]["request"])["id"]
    with urllib.request.urlopen(f"{url}/api/runs/{run}/events", timeout=60) as events:
        for line in events:
            if line.strip() == b"event: finished":
                break
    seconds = time.monotonic() - began
    result = call(f"{url}/api/runs/{run}")["result"]
    print(
        f"{name}: {result['verdict']} in {seconds * 1000:.0f} ms, {result['device']}, isolation {device['isolation']}"
    )
    if result["verdict"] != "ok" or device["isolation"] != "strong":
        sys.exit(json.dumps(result.get("message") or device["reasons"]))


if __name__ == "__main__":
    main()
