"""Frames are hostile input: what is refused, and with which words."""

import json
import os
import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.frames import BadFrame, FrameReader, FrameTooLarge, parse_header, write_frame


def frame(header: bytes, payload: bytes = b"") -> bytes:
    return struct.pack("<II", len(header), len(payload)) + header + payload


def reader(log: int = 1 << 20, result: int = 1 << 20, frames: int = 100) -> FrameReader:
    return FrameReader(log, result, frames)


@pytest.mark.parametrize("step", [1, 2, 3, 7, 8, 9, 1000])
def test_frames_survive_any_cut(step: int) -> None:
    frames = [({"n": n, "text": "é" * n}, bytes([n]) * (n * 3)) for n in range(5)] + [({}, b"")]
    stream = b"".join(frame(json.dumps(header).encode(), payload) for header, payload in frames)
    cutter = reader()
    got = [item for at in range(0, len(stream), step) for item in cutter.feed(stream[at : at + step])]
    assert got == frames
    assert not cutter.inside_frame


def test_written_frames_are_read_back() -> None:
    read, write = os.pipe()
    sent = ({"event": {"kind": "printed", "text": "a\u2028b\x00"}}, memoryview(bytearray(range(256))))

    def child() -> None:
        write_frame(write, *sent)
        write_frame(write, {}, b"")
        os.close(write)

    thread = threading.Thread(target=child)
    thread.start()
    with os.fdopen(read, "rb") as stream:
        data = stream.read()
    thread.join()
    assert reader().feed(data) == [(sent[0], bytes(sent[1])), ({}, b"")]


@pytest.mark.parametrize(
    ("header", "word"),
    [
        (b"[1]", "not an object"),
        (b'"x"', "not an object"),
        (b"null", "not an object"),
        (b"{'a':1}", "not JSON"),
        (b'{"a":}', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"a":1}{}', "not JSON"),
        (b'{"a":1,"a":2}', "same key twice"),
        (b'{"b":[{"a":1,"a":2}]}', "same key twice"),
        (b'{"a":NaN}', "the number NaN"),
        (b'{"a":-Infinity}', "the number -Infinity"),
        (b'{"a":1e999}', "out of range"),
        (b'{"a":' + b"1" * 5000 + b"}", "5,000 digits"),
        (b'{"a":"\\ud800"}', "surrogate"),
        (b'{"\\udc00":1}', "surrogate"),
        (b'{"a":' + b"[" * 32 + b"]" * 32 + b"}", "nested deeper than 32"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "nested deeper than 32"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested deeper than 32"),
    ],
)
def test_bad_headers_are_refused(header: bytes, word: str) -> None:
    with pytest.raises(BadFrame, match=word):
        parse_header(header)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (b'{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        (b'{"__proto__":{"x":1}}', {"__proto__": {"x": 1}}),
        (b'{"a":' + b"[" * 31 + b"]" * 31 + b"}", None),
        (b'{"a":-12345678901234567890}', {"a": -12345678901234567890}),
    ],
)
def test_good_headers_are_taken(header: bytes, value: object) -> None:
    parsed = parse_header(header)
    assert value is None or parsed == value


@pytest.mark.parametrize(
    ("stream", "limit"),
    [
        (frame(b"{}", b"x" * 101), "result"),
        (frame(b"{}") * 11, "result"),
        (frame(b'{"a":"' + b"x" * 100 + b'"}'), "log"),
    ],
)
def test_budgets_are_held(stream: bytes, limit: str) -> None:
    with pytest.raises(FrameTooLarge) as caught:
        FrameReader(log=100, result=100, frames=10).feed(stream)
    assert caught.value.limit == limit


@pytest.mark.parametrize("sizes", [(0, 0), (1, 0), (1 << 31, 0), (0xFFFFFFFF, 0xFFFFFFFF)])
def test_impossible_header_lengths_are_refused_before_any_data(sizes: tuple[int, int]) -> None:
    with pytest.raises(BadFrame, match="header of"):
        reader().feed(struct.pack("<II", *sizes))


def test_a_claimed_payload_allocates_nothing() -> None:
    cutter = FrameReader(log=1 << 20, result=1 << 40, frames=10)
    assert cutter.feed(struct.pack("<II", 2, 0xFFFFFFFF) + b"{}") == []
    assert cutter.inside_frame


@given(
    st.lists(
        st.binary(max_size=64) | st.builds(frame, st.sampled_from([b"{}", b"{", b'{"a":[1]}']), st.binary(max_size=9))
    )
)
def test_any_bytes_are_frames_or_faults(chunks: list[bytes]) -> None:
    cutter = reader(log=1000, result=1000)
    try:
        for chunk in chunks:
            for header, payload in cutter.feed(chunk):
                assert isinstance(header, dict)
                assert isinstance(payload, bytes)
    except (BadFrame, FrameTooLarge) as fault:
        assert "x" * 20 not in str(fault)
