"""Arrays from picture files, decoded by the browser."""

import hashlib
import io
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.steps import field, launch, open_page, run, verdict

ROWS, COLUMNS = 20, 30
PIXELS = np.random.default_rng(4).integers(0, 256, size=(ROWS, COLUMNS, 3), dtype=np.uint8)


def png(pixels: Any) -> bytes:
    """An 8-bit RGB file."""
    rows, columns, _ = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def digest(array: Any) -> str:
    """Of the array as the page writes it: format 1.0, a header of whole lines of 64 bytes."""
    shape = ", ".join(map(str, array.shape))
    words = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({shape},), }}".encode()
    length = -(-(len(words) + 11) // 64) * 64 - 10
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", length) + words.ljust(length - 1) + b"\n"
    assert np.load(io.BytesIO(head + array.tobytes())).shape == array.shape
    return hashlib.sha256(head + array.tobytes()).hexdigest()


def upload(page: Page) -> Locator:
    return launch(page).get_by_role("group", name="File for image")


def give(page: Page, path: Path) -> None:
    upload(page).get_by_label("File for image", exact=True).set_input_files(path)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "noise.png"
    path.write_bytes(png(PIXELS))
    return path


def test_the_shipped_photograph_is_blurred_in_colour(page: Page) -> None:
    open_page(page, "/#example=blur")
    run(page)
    expect(verdict(page)).to_contain_text("Finished in")
    shown = page.get_by_role("application", name="blurred as an image")
    shown.focus()
    page.keyboard.press("ArrowRight")
    reading = page.locator(".image .reading")
    expect(reading).to_contain_text("x 193 y 128")
    expect(reading.locator(".value")).to_have_text("187 146 119")


def test_a_picture_becomes_the_array_that_the_pointer_takes(page: Page, picture: Path) -> None:
    open_page(page, "/#example=blur")
    with page.expect_response(lambda response: response.url.endswith("/api/uploads")) as sent:
        give(page, picture)
    assert sent.value.json() == {"digest": digest(PIXELS), "dtype": "uint8", "shape": [20, 30, 3], "bytes": 1800}
    expect(field(page, "image shape")).to_have_value("20 × 30 × 3")
    expect(field(page, "image element type")).to_have_value("uint8")
    expect(upload(page)).to_contain_text("noise.png, 30 × 20 pixels")
    field(page, "blurred shape").fill("20 × 30 × 3")
    launch(page).get_by_label("width, int", exact=True).fill("30")
    launch(page).get_by_label("height, int", exact=True).fill("20")
    run(page)
    expect(verdict(page)).to_contain_text("Finished in")


@pytest.mark.parametrize(
    ("layout", "shape", "dtype"),
    [
        ("rgba", "20 × 30 × 4", "uint8"),
        ("gray", "20 × 30", "uint8"),
        ("rgb-float", "20 × 30 × 3", "float32"),
        ("gray-float", "20 × 30", "float32"),
    ],
)
def test_the_layout_of_the_pixels_is_chosen(page: Page, picture: Path, layout: str, shape: str, dtype: str) -> None:
    open_page(page, "/#example=blur")
    give(page, picture)
    expect(field(page, "image shape")).to_have_value("20 × 30 × 3")
    upload(page).get_by_label("Pixels of image as").select_option(layout)
    expect(field(page, "image shape")).to_have_value(shape)
    expect(field(page, "image element type")).to_have_value(dtype)


def test_a_dropped_picture_is_taken(page: Page, picture: Path) -> None:
    open_page(page, "/#example=blur")
    upload(page).evaluate(
        """async (target, bytes) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], 'dropped.png', {type: 'image/png'}));
          target.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        list(picture.read_bytes()),
    )
    expect(upload(page)).to_contain_text("dropped.png, 30 × 20 pixels")
    expect(field(page, "image shape")).to_have_value("20 × 30 × 3")


@pytest.mark.parametrize("example", ["blur", "heat"])
def test_a_picture_dropped_anywhere_goes_to_the_buffer_that_takes_one(page: Page, picture: Path, example: str) -> None:
    open_page(page, f"/#example={example}")
    page.locator(".cm-content").evaluate(
        """async (target, bytes) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], 'dropped.png', {type: 'image/png'}));
          target.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        list(picture.read_bytes()),
    )
    if example == "blur":
        expect(upload(page)).to_contain_text("dropped.png, 30 × 20 pixels")
        expect(field(page, "image shape")).to_have_value("20 × 30 × 3")
    else:
        expect(page.get_by_role("alert")).to_contain_text("dropped.png is no source: choose “file”")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("broken.png", b"no picture", "broken.png is no PNG, JPEG or WebP picture that this browser can read."),
        ("cut.png", png(PIXELS)[:60], "cut.png is no PNG, JPEG or WebP picture"),
        ("notes.txt", b"text", "notes.txt: give a .npy file, or a PNG, JPEG or WebP picture."),
        ("wide.png", png(np.zeros((1, 17_000, 3), np.uint8)), "17,000 × 1 pixels; at most 16,384 along a side"),
    ],
)
def test_what_is_no_picture_is_said_and_nothing_is_lost(
    page: Page, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    open_page(page, "/#example=blur")
    (tmp_path / name).write_bytes(content)
    give(page, tmp_path / name)
    expect(launch(page).get_by_role("alert")).to_contain_text(words)
    expect(field(page, "image shape")).to_have_value("256 × 385 × 3")
    with page.expect_request(lambda request: request.method == "POST" and request.url.endswith("/api/runs")) as sent:
        run(page)
    expect(verdict(page)).to_contain_text("Finished in")
    assert json.loads(sent.value.post_data or "")["buffers"][0]["init"]["kind"] == "upload"
