"""Turns a child's frames into events, trusting nothing that they say."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from protocol.events import BufferRead, Event
from protocol.film import Filmed, filmed_repeat, frame_count
from protocol.run import RunRequest
from sandbox.stores import Blobs

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_NO_DIGEST = "0" * 64


class Misbehaved(Exception):
    """A child sent what the protocol does not allow; the text says what, and quotes nothing of it."""


class NotKept(Exception):
    """The service has no room for a result; the text says which, and why."""


class Awaited:
    """What a launch may still send: each buffer that it reads back once, and the frames of its film in their order."""

    def __init__(self, run: RunRequest) -> None:
        self._buffers = {buffer.name: buffer for buffer in run.buffers if buffer.role != "in"}
        self._frames: list[int] = []
        if run.film is not None:
            self._film = next(buffer for buffer in run.buffers if buffer.name == run.film.buffer)
            _, repeat = filmed_repeat(run.steps, run.film)
            every = run.film.every
            self._frames = [number * every for number in reversed(range(frame_count(repeat.count, every)))]

    def take(self, event: BufferRead | Filmed) -> None:
        """Raises Misbehaved where the event is none of these, or not of the declared type, shape and size."""
        if isinstance(event, BufferRead):
            declared = self._buffers.pop(event.name, None)
            if declared is None:
                raise Misbehaved("a buffer that was not asked for, or twice")
        else:
            if not self._frames or (event.buffer, event.round) != (self._film.name, self._frames.pop()):
                raise Misbehaved("a frame of a film that was not asked for, or out of order")
            declared = self._film
        if (event.dtype, event.shape, event.bytes) != (declared.dtype, declared.shape, declared.bytes):
            raise Misbehaved("a buffer of another type, shape or size than declared")


def event_of(
    header: Mapping[str, Any], allowed: Collection[str], awaited: Awaited | None = None, payload: bytes = b""
) -> Event:
    """The event of a frame. What is `awaited` is allowed too, its bytes in `payload`, and taken."""
    fields = header.get("event")
    if not isinstance(fields, dict):
        raise Misbehaved("a frame without an event")
    kind = fields.get("kind")
    if kind in ("buffer-read", "filmed") and awaited is not None:
        fields = {**fields, "digest": _NO_DIGEST, "bytes": len(payload)}
    elif kind not in allowed:
        raise Misbehaved("an event that this kind of job may not send")
    try:
        event = _EVENT.validate_json(json.dumps(fields))
    except ValidationError:
        raise Misbehaved(f"a malformed {kind} event") from None
    if isinstance(event, BufferRead | Filmed) and awaited is not None:
        awaited.take(event)
    return event


def stored_event(event: Event, payload: bytes, blobs: Blobs) -> Event:
    """The event with its buffer's bytes stored under their digest."""
    if not isinstance(event, BufferRead | Filmed):
        return event
    name = event.name if isinstance(event, BufferRead) else f"a frame of {event.buffer}"
    try:
        return event.model_copy(update={"digest": blobs.put(payload)})
    except OSError as error:
        raise NotKept(f"{name} ({event.bytes:,} bytes) could not be kept: {error.strerror or error}") from None
