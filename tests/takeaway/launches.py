"""Runs with every kind of argument and step, compiled and run by the engine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from protocol.kernel import CompiledKernel
from protocol.run import RunRequest
from tests.engine import child_jobs

EVERYTHING = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuComplex.h>

enum Mode { SLOW, FAST = 7 };
struct Params { float scale; int offset; double big; };
typedef float Real;

__global__ void everything(bool b, signed char i8, unsigned char u8, short i16, unsigned short u16, int i32,
                           unsigned u32, long long i64, unsigned long long u64, __half h, __nv_bfloat16 bf, float f,
                           double d, cuFloatComplex c64, cuDoubleComplex c128, float4 v4, int3 v3, uchar2 v2,
                           Params p, const float *null, Mode mode, Real real, const long *longs, double *out)
{
    const double all[] = {(double)b, (double)i8, (double)u8, (double)i16, (double)u16, (double)i32, (double)u32,
                          (double)i64, (double)u64, (double)__half2float(h), (double)__bfloat162float(bf), (double)f,
                          d, c64.x, c64.y, c128.x, c128.y, v4.x, v4.y, v4.z, v4.w, (double)v3.x, (double)v3.y,
                          (double)v3.z, (double)v2.x, (double)v2.y, p.scale, (double)p.offset, p.big,
                          null == nullptr ? 1.0 : 0.0, (double)mode, real, (double)longs[3]};
    if (threadIdx.x < sizeof all / sizeof *all)
        out[threadIdx.x] = all[threadIdx.x];
}
"""

STEPS = r"""
namespace ns {
template <typename T> __global__ void scale(T *upload, T factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        upload[i] = upload[i] * factor + (T)LIFT;
}
}
__global__ void add(float *a, const float *b) { a[threadIdx.x] += b[threadIdx.x]; }
__global__ void add(int *a, int b) { a[threadIdx.x] += b; }
extern "C" __global__ void upload(float *out)
{
    extern __shared__ float large[];
    for (int i = threadIdx.x; i < 15000; i += blockDim.x)
        large[i] = i;
    __syncthreads();
    out[threadIdx.x] += large[14999 - threadIdx.x];
}
/* It's \n "quoted", ''' and \""" too. */
#ifndef __CUDACC_RTC__
int main() { return 0; }
#endif
"""


def _scalar(name: str, dtype: str | None, value: Any) -> dict[str, Any]:
    return {"kind": "scalar", "name": name, "value": value} | ({"dtype": dtype} if dtype else {})


def _vector(name: str, dtype: str, *values: Any) -> dict[str, Any]:
    return {"kind": "vector", "name": name, "dtype": dtype, "values": values}


def _pointer(name: str, buffer: str) -> dict[str, Any]:
    return {"kind": "buffer", "name": name, "buffer": buffer}


_ARGUMENTS = [
    _scalar("b", "bool", True),
    _scalar("i8", "int8", -128),
    _scalar("u8", "uint8", 255),
    _scalar("i16", "int16", -32768),
    _scalar("u16", None, 65535),
    _scalar("i32", "int32", -(1 << 31)),
    _scalar("u32", "uint32", (1 << 32) - 1),
    _scalar("i64", "int64", "-9223372036854775808"),
    _scalar("u64", "uint64", "18446744073709551615"),
    _scalar("h", "float16", 0.1),
    _scalar("bf", "bfloat16", 0.1),
    _scalar("f", None, 0.1),
    _scalar("d", "float64", "inf"),
    _scalar("c64", "complex64", "1.5-2j"),
    _scalar("c128", "complex128", "0.1+0.2j"),
    _vector("v4", "float32", 0.1, 2, -3.5, "1e30"),
    _vector("v3", "int32", 1, -2, 3),
    _vector("v2", "uint8", 7, 250),
    {"kind": "struct", "name": "p", "hex": np.array([(2.5, -7, 1e300)], "f4,i4,f8").tobytes().hex()},
    {"kind": "null", "name": "null"},
    _scalar("mode", None, 7),
    _scalar("real", None, "-0.7"),
    _pointer("longs", "longs"),
    _pointer("out", "out"),
]


def _launch(entry: str, *arguments: Any, grid: int = 1, block: int = 32, shared: int = 0) -> dict[str, Any]:
    config = {"grid": [grid], "block": [block], "dynamic_shared_bytes": shared}
    return {"kind": "launch", "entry": entry, "config": config, "arguments": arguments}


def _place(buffer: str) -> dict[str, Any]:
    return {"kind": "buffer", "buffer": buffer}


BODIES: dict[str, dict[str, Any]] = {
    "arguments": {
        "source": {"text": EVERYTHING, "file_name": "every-thing.cu"},
        "buffers": [
            {"name": "longs", "dtype": "int64", "shape": [4], "init": {"kind": "arange", "start": 5}, "role": "in"},
            {"name": "out", "dtype": "float64", "shape": [33]},
        ],
        # Named arguments may stand in any order.
        "steps": [_launch("", *reversed(_ARGUMENTS), block=64)],
    },
    "steps": {
        "source": {"text": STEPS},
        "options": {"standard": "c++14", "fast_math": True, "fmad": False, "max_registers": 64,
                    "defines": [{"name": "LIFT", "value": "0.25"}]},
        "buffers": [
            {"name": "class", "dtype": "float32", "shape": [32], "init": {"kind": "arange"}},
            {"name": "lambda", "dtype": "float32", "shape": [32], "init": {"kind": "full", "value": 0.1}},
            {"name": "buffers", "dtype": "int32", "shape": [4, 8], "init": {"kind": "linspace", "stop": 62}},
            {"name": "twice", "dtype": "float64", "shape": [100], "init": {"kind": "normal", "seed": 2}},
            {"name": "half", "dtype": "float16", "shape": [9], "init": {"kind": "full", "value": 3}, "role": "out"},
            {"name": "brain", "dtype": "bfloat16", "shape": [9], "role": "out"},
        ],
        "steps": [
            {"kind": "repeat", "count": 3, "steps": [
                _launch("ns::scale<float>", _place("class"), {"kind": "scalar", "value": 0.3},
                        {"kind": "scalar", "value": 32}),
                {"kind": "swap", "first": "class", "second": "lambda"},
                {"kind": "repeat", "count": 2, "steps": [
                    _launch("add(float *, const float *)", _place("class"), _place("lambda")),
                ]},
            ]},
            _launch("add(int *, int)", _place("buffers"), {"kind": "scalar", "value": -5}),
            _launch("ns::scale< double >", _place("twice"), {"kind": "scalar", "value": 2},
                    {"kind": "scalar", "value": 100}, grid=4),
            _launch("upload", _place("lambda"), shared=60_000),
            {"kind": "fill", "buffer": "half", "value": 0.1},
            {"kind": "fill", "buffer": "brain", "value": 0.1},
        ],
        "film": {"buffer": "class", "every": 2},
    },
}  # fmt: skip


@dataclass(frozen=True)
class Ran:
    """A request, its compiled kernels, and what the emulator read back: buffers, and NAME-film; bfloat16 as uint16."""

    request: RunRequest
    kernel: CompiledKernel
    results: "dict[str, np.ndarray[Any, Any]]"


def ran(request: RunRequest, files: Mapping[str, Path] = MappingProxyType({})) -> Ran:
    code = child_jobs.compiled(request)
    assert code.messages() == []
    kernel = CompiledKernel.model_validate_json(code.artifacts["kernel"])
    uploads = {f"upload:{digest}": memoryview(path.read_bytes()) for digest, path in files.items()}
    job = child_jobs.launched(request, code, kernel, uploads)
    assert job.messages() == []
    results = {}
    for buffer in request.buffers:
        if buffer.name in job.buffers:
            dtype = "uint16" if buffer.dtype == "bfloat16" else buffer.dtype
            results[buffer.name] = np.frombuffer(job.buffers[buffer.name], dtype).reshape(buffer.shape)
    film = request.film
    if film is not None:
        shape = next(buffer.shape for buffer in request.buffers if buffer.name == film.buffer)
        frames = [job.buffers[f"frame {event['round']}"] for event in job.kind("filmed")]
        results[f"{film.buffer}-film"] = np.frombuffer(b"".join(frames), results[film.buffer].dtype).reshape(-1, *shape)
    return Ran(request, kernel, results)


def body(name: str) -> RunRequest:
    return RunRequest.model_validate_json(json.dumps(BODIES[name]))
