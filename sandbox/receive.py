"""Turns a child's frames into events, trusting nothing that they say."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from protocol.arguments import Buffer
from protocol.events import BufferRead, Event
from sandbox.stores import Blobs

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_NO_DIGEST = "0" * 64


class Misbehaved(Exception):
    """A child sent what the protocol does not allow; the text says what, and quotes nothing of it."""


def event_of(
    header: Mapping[str, Any],
    allowed: Collection[str],
    buffers: Mapping[str, Buffer] | None = None,
    payload: bytes = b"",
) -> Event:
    """The event of a frame. With `buffers` a buffer-read of one of them is allowed too, its bytes in `payload`."""
    fields = header.get("event")
    if not isinstance(fields, dict):
        raise Misbehaved("a frame without an event")
    kind = fields.get("kind")
    if kind == "buffer-read" and buffers is not None:
        fields = {**fields, "digest": _NO_DIGEST, "bytes": len(payload)}
    elif kind not in allowed:
        raise Misbehaved("an event that this kind of job may not send")
    try:
        event = _EVENT.validate_json(json.dumps(fields))
    except ValidationError:
        raise Misbehaved(f"a malformed {kind} event") from None
    if isinstance(event, BufferRead) and buffers is not None:
        declared = buffers.get(event.name)
        if declared is None:
            raise Misbehaved("a buffer that was not asked for, or twice")
        if (event.dtype, event.shape, event.bytes) != (declared.dtype, declared.shape, declared.bytes):
            raise Misbehaved("a buffer of another type, shape or size than declared")
    return event


def stored_event(event: Event, payload: bytes, unread: dict[str, Buffer], blobs: Blobs) -> Event:
    """The event with its buffer's bytes stored under their digest; each buffer is taken once."""
    if not isinstance(event, BufferRead):
        return event
    del unread[event.name]
    return event.model_copy(update={"digest": blobs.put(payload)})
