"""Arrays in and out: slices of result buffers, and .npy files that are uploaded."""

import io
import socket
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from app.arrays import encode, parse_slice, read_header, row_major
from tests.app.test_runs import finish_with_buffer, problem
from tests.service.harness import Served, run_body

GRID = np.arange(24 * 10, dtype="int32").reshape(24, 10)


def npy(array: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "...",
        ":",
        "0:10,::2",
        "3",
        "-1",
        "3,4",
        "...,2",
        "::-1",
        "5:2",
        "::7,1:-1:3",
        " 1 : 3 , 2 ",
        "2:100",
        "0:0",
        "...,::-3",
    ],
)
def test_slices_are_numpys(served: Served, text: str) -> None:
    run_id = finish_with_buffer(served, "int32", (24, 10), GRID.tobytes())
    answer = served.http.get(f"/api/runs/{run_id}/buffers/a.npy", params={"slice": text})
    assert answer.status_code == 200, answer.text
    got = np.load(io.BytesIO(answer.content))
    expected = eval(f"GRID[{text}]")
    assert got.dtype == GRID.dtype
    np.testing.assert_array_equal(got, expected)
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.headers["x-warpyard-dtype"] == "int32"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "is not an index"),
        ("", "is not an index"),
        ("1,2,3", "3 indices for 2 dimensions"),
        ("::0", "a step of 0"),
        ("...,...", "... may stand once"),
        ("24", "out of bounds"),
        ("1.5", "is not an index"),
        ("__import__('os')", "is not an index"),
        ("9" * 100, "is not an index"),
        ("None", "is not an index"),
        ("1" + ",1" * 99, "100 indices"),
    ],
)
def test_a_wrong_slice_is_named(served: Served, text: str, message: str) -> None:
    run_id = finish_with_buffer(served, "int32", (24, 10), GRID.tobytes())
    body = problem(served.http.get(f"/api/runs/{run_id}/buffers/a.npy", params={"slice": text}), 422)
    assert body["errors"][0]["field"] == "slice"
    assert message in body["errors"][0]["message"]


@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    ],
)
def test_every_dtype_goes_out(served: Served, dtype: str) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    run_id = finish_with_buffer(served, dtype, (2, 3), array.tobytes())
    got = np.load(io.BytesIO(served.http.get(f"/api/runs/{run_id}/buffers/a.npy?slice=:,1:").content))
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array[:, 1:])


def test_bfloat16_goes_out_as_uint16(served: Served) -> None:
    array = np.array([1.5, -2.0, 0.0], dtype=ml_dtypes.bfloat16)
    run_id = finish_with_buffer(served, "bfloat16", (3,), array.tobytes())
    answer = served.http.get(f"/api/runs/{run_id}/buffers/a.npy")
    assert answer.headers["x-warpyard-dtype"] == "bfloat16"
    got = np.load(io.BytesIO(answer.content))
    assert got.dtype == np.uint16
    np.testing.assert_array_equal(got.view(ml_dtypes.bfloat16), array)


def test_a_buffer_that_is_gone(served: Served) -> None:
    run_id = finish_with_buffer(served, "int32", (24, 10), GRID.tobytes())
    problem(served.http.get(f"/api/runs/{run_id}/buffers/b.npy"), 404)
    problem(served.http.get(f"/api/runs/{run_id}/buffers/a-b.npy"), 422)
    for path in served.settings.data_dir.joinpath("blobs").rglob("*"):
        if path.is_file():
            path.write_bytes(b"cut")
    problem(served.http.get(f"/api/runs/{run_id}/buffers/a.npy"), 410)


def test_a_large_array_is_cut_piece_by_piece() -> None:
    array = np.arange(1 << 20, dtype="int16").reshape(1024, 1024)
    view = array[::3, ::-5]
    size, pieces = encode(view)
    parts = list(pieces)
    assert max(map(len, parts)) <= 1 << 18
    assert sum(map(len, parts)) == size
    np.testing.assert_array_equal(np.load(io.BytesIO(b"".join(parts))), view)


@pytest.mark.parametrize("dimensions", [1, 4])
def test_an_ellipsis_counts_for_nothing(dimensions: int) -> None:
    assert parse_slice("...," + ",".join(["0"] * dimensions), dimensions)[0] is ...


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.arange(6, dtype="float32").reshape(2, 3), "float32"),
        (np.asfortranarray(np.arange(6, dtype="int16").reshape(2, 3)), "int16"),
        (np.arange(6, dtype=">f8").reshape(3, 2), "float64"),
        (np.array([True, False]), "bool"),
        (np.array([1 + 2j]), "complex128"),
        (np.arange(3, dtype="uint64"), "uint64"),
    ],
)
def test_an_upload_is_kept_row_major(served: Served, array: Any, dtype: str) -> None:
    answer = served.http.post("/api/uploads", content=npy(array))
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert (body["dtype"], tuple(body["shape"]), body["bytes"]) == (dtype, array.shape, array.nbytes)
    kept = served.app.state.service.blobs.get(body["digest"])
    got = np.load(io.BytesIO(kept))
    assert got.flags.c_contiguous
    assert got.dtype.isnative
    np.testing.assert_array_equal(got, array)


class Evil:
    def __reduce__(self) -> Any:
        return (print, ("unpickled",))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"hello", "not a .npy file"),
        (b"\x93NUMPY", "cannot be read"),
        (b"\x93NUMPY\x09\x00\x00\x00", "cannot be read"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "cannot be read"),
        (b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16, "cannot be read"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b" " * 70_000, "cannot be read"),
        (npy(np.array([Evil()], dtype=object), allow_pickle=True), "dtype is object"),
        (npy(np.zeros(2, dtype=[("a", "i4")])), "dtype is"),
        (npy(np.array(["text"])), "dtype is <U4"),
        (npy(np.array(["2020"], dtype="M8[Y]")), "dtype is"),
        (npy(np.float32(3)), "its shape is ()"),
        (npy(np.zeros((2, 0), "f4")), "its shape is (2, 0)"),
        (npy(np.zeros((1,) * 5, "f4")), "4 dimensions"),
        (npy(np.zeros(4, "f4"))[:-1], "takes 16 bytes, but the file holds 15"),
        (npy(np.zeros(4, "f4")) + b"x", "takes 16 bytes, but the file holds 17"),
        (npy(np.zeros(4, "f4")).replace(b"(4,)", b"(-4,)"), ""),
        (npy(np.zeros(4, "f4")).replace(b"(4,), }        ", b"(99999999999,),}"), "a buffer has at most"),
    ],
)
def test_a_wrong_file_is_refused(served: Served, data: bytes, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    body = problem(served.http.post("/api/uploads", content=data), 422)
    assert message.lower() in body["detail"].lower()
    assert "unpickled" not in capsys.readouterr().out


def test_a_huge_file_is_refused_before_it_is_read(served: Served) -> None:
    with socket.create_connection(served.server.servers[0].sockets[0].getsockname()) as connection:
        connection.sendall(b"POST /api/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_a_run_may_use_an_upload_that_fits(served: Served) -> None:
    digest = served.http.post("/api/uploads", content=npy(np.ones(32, "float32"))).json()["digest"]

    def post(dtype: str, shape: list[int], digest: str) -> Any:
        buffer = {"name": "a", "dtype": dtype, "shape": shape, "init": {"kind": "upload", "digest": digest}}
        return served.http.post("/api/runs", json=run_body(buffers=[buffer]))

    assert post("float32", [32], digest).status_code == 202
    for dtype, shape, wanted, message in [
        ("float32", [31], digest, "a is float32 [31], but the file holds float32 [32]"),
        ("int32", [32], digest, "a is int32 [32], but the file holds float32 [32]"),
        ("float32", [32], "0" * 64, "the file for a is not here"),
    ]:
        error = problem(post(dtype, shape, wanted), 422)["errors"][0]
        assert error["field"] == "buffers.0.init.digest"
        assert message in error["message"]
    bits = served.http.post("/api/uploads", content=npy(np.ones(32, "uint16"))).json()["digest"]
    assert post("bfloat16", [32], bits).status_code == 202
    check = {"buffer": "a", "expected": {"kind": "upload", "digest": bits}}
    error = problem(served.http.post("/api/runs", json=run_body(checks=[check])), 422)["errors"][0]
    assert error["field"] == "checks.0.expected.digest"


def test_a_header_is_read_without_the_data() -> None:
    data = memoryview(npy(np.zeros((3, 4), "f4")))
    header = read_header(data)
    assert (header.dtype, header.shape, header.plain) == ("float32", (3, 4), True)
    assert row_major(data, header) is data
