"""Messages between supervisor, zygote and job init: JSON with descriptors, on sequenced-packet sockets.

No user code ever holds an end of these sockets; both ends are ours.
"""

from __future__ import annotations

import array
import json
import os
import socket
from collections.abc import Sequence
from typing import Any

_LARGEST = 1 << 16
_MOST_DESCRIPTORS = 8


def pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(channel: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    ancillary = []
    if descriptors:
        ancillary.append((socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors)))
    data = json.dumps(message).encode()
    if len(data) > _LARGEST:
        raise ValueError(f"a control message of {len(data)} bytes")
    channel.sendmsg([data], ancillary)


def receive(channel: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """The next message and its descriptors (close-on-exec); None once the other side is gone."""
    size = socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS)
    try:
        data, ancillary, flags, _ = channel.recvmsg(_LARGEST, size, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError:
        return None, []
    descriptors = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
    if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
        for fd in descriptors:
            os.close(fd)
        raise OSError("a control message was cut off")
    if not data:
        return None, list(descriptors)
    message = json.loads(data)
    assert isinstance(message, dict)
    return message, list(descriptors)
