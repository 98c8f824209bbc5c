"""Frames of the private event pipe: written by the child, read by the host as hostile input."""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from sandbox.limits import MAX_DEPTH, MAX_HEADER

Header = dict[str, Any]
Frame = tuple[Header, bytes]

_SIZES = struct.Struct("<II")
_READ_AT_ONCE = 1 << 20
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONGEST_INTEGER = 32


class BadFrame(Exception):
    """The child wrote something that is no frame; the text says what, without quoting it."""


class FrameTooLarge(Exception):
    """A frame goes past a budget: `limit` is 'log' for headers, 'result' for payloads and their number."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


def write_frame(fd: int, header: Mapping[str, object], payload: bytes | bytearray | memoryview) -> None:
    """Write one frame: u32 header length, u32 payload length (little endian), JSON header, payload."""
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    body = memoryview(payload).cast("B") if len(payload) else memoryview(b"")
    head = memoryview(_SIZES.pack(len(text), body.nbytes) + text)
    while head.nbytes:
        head = head[os.write(fd, head) :]
    while body.nbytes:
        body = body[os.write(fd, body[:_READ_AT_ONCE]) :]


class FrameReader:
    """Cuts a byte stream into frames and holds it to its budgets before it holds any data.

    Memory in use never exceeds the budget of one frame; nothing is allocated by a claimed length alone.
    """

    def __init__(self, log: int, result: int, frames: int) -> None:
        self._log_left, self._result_left, self._frames_left = log, result, frames
        self._log, self._result, self._frames = log, result, frames
        self._head = bytearray()
        self._header: Header | None = None
        self._payload: list[bytes] = []
        self._missing = 0

    @property
    def inside_frame(self) -> bool:
        return bool(self._head) or self._header is not None

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes and return the frames that they complete. Raises BadFrame, FrameTooLarge."""
        done: list[Frame] = []
        view = memoryview(data)
        while view.nbytes or (self._header is not None and not self._missing):
            if self._header is None:
                view = self._feed_head(view)
            else:
                taken = view[: self._missing]
                if taken.nbytes:
                    # The whole chunk as it is, where it belongs to one payload: no second copy.
                    self._payload.append(data if taken.nbytes == len(data) else bytes(taken))
                    self._missing -= taken.nbytes
                    view = view[taken.nbytes :]
                if not self._missing:
                    payload = self._payload[0] if len(self._payload) == 1 else b"".join(self._payload)
                    done.append((self._header, payload))
                    self._header, self._payload = None, []
        return done

    def _feed_head(self, view: memoryview) -> memoryview:
        wanted = _SIZES.size
        if len(self._head) >= _SIZES.size:
            wanted += _SIZES.unpack_from(self._head)[0]
        taken = view[: wanted - len(self._head)]
        self._head += taken
        if len(self._head) == wanted == _SIZES.size:
            self._spend(*_SIZES.unpack(self._head))
        if len(self._head) >= _SIZES.size:
            header_length, payload_length = _SIZES.unpack_from(self._head)
            if len(self._head) == _SIZES.size + header_length:
                self._header = parse_header(bytes(self._head[_SIZES.size :]))
                self._missing = payload_length
                self._head.clear()
        return view[taken.nbytes :]

    def _spend(self, header_length: int, payload_length: int) -> None:
        if not 2 <= header_length <= MAX_HEADER:
            raise BadFrame(f"a frame's header of {header_length:,} bytes; 2 to {MAX_HEADER:,} are allowed")
        self._frames_left -= 1
        self._log_left -= header_length
        self._result_left -= payload_length
        if self._frames_left < 0:
            raise FrameTooLarge("result", f"more than {self._frames:,} events")
        if self._log_left < 0:
            raise FrameTooLarge("log", f"events and printed text beyond {self._log:,} bytes")
        if self._result_left < 0:
            raise FrameTooLarge("result", f"results beyond {self._result:,} bytes")


def parse_header(text: bytes) -> Header:
    """The JSON object in `text`, held to depth, number size, distinct keys and text that UTF-8 can carry."""
    try:
        value = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_distinct,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_finite,
        )
    except RecursionError:
        raise BadFrame(f"a header nested deeper than {MAX_DEPTH}") from None
    except BadFrame:
        raise
    except ValueError:
        raise BadFrame("a header that is not JSON in UTF-8") from None
    if type(value) is not dict:
        raise BadFrame("a header that is not an object")
    if text.count(b"[") + text.count(b"{") > MAX_DEPTH:
        _check_depth(value)
    if _ESCAPED_SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise BadFrame("a header with half a surrogate pair") from None
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise BadFrame("a header with the same key twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise BadFrame(f"a header with the number {name}")


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER:
        raise BadFrame(f"a header with an integer of {len(digits):,} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if abs(value) > sys.float_info.max:
        raise BadFrame("a header with a number out of range")
    return value


def _check_depth(value: object) -> None:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        deeper: list[object] = []
        for item in level:
            if isinstance(item, dict):
                deeper.extend(item.values())
            elif isinstance(item, list):
                deeper.extend(item)
        if not deeper:
            return
        level = deeper
    raise BadFrame(f"a header nested deeper than {MAX_DEPTH}")
