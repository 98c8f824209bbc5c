"""What the launch form learns of kernels: parameters, names, resources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.languages import language
from protocol.kernel import CompiledKernel, Entry
from protocol.run import CompileRequest
from protocol.source import Options, Source

TRUTH = Path(__file__).parent.parent / "data" / "truth"
PREAMBLE = """
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cstdint>
typedef unsigned int uint;
typedef const float *readable;
using real = float;
struct Body { float3 at; int kind; };
union Word { int i; float f; };
enum class Small : char { a };
enum Plain { b };
"""

# declaration -> kind, dtype, components, const, bytes, type
DECLARATIONS = {
    "int p": ("scalar", "int32", 1, False, 4, "int"),
    "const int p": ("scalar", "int32", 1, False, 4, "int"),
    "unsigned p": ("scalar", "uint32", 1, False, 4, "unsigned int"),
    "uint p": ("scalar", "uint32", 1, False, 4, "uint"),
    "size_t p": ("scalar", "uint64", 1, False, 8, "size_t"),
    "long p": ("scalar", "int64", 1, False, 8, "long"),
    "long long p": ("scalar", "int64", 1, False, 8, "long long"),
    "uint64_t p": ("scalar", "uint64", 1, False, 8, "uint64_t"),
    "int8_t p": ("scalar", "int8", 1, False, 1, "int8_t"),
    "unsigned short p": ("scalar", "uint16", 1, False, 2, "unsigned short"),
    "char p": ("scalar", "int8", 1, False, 1, "char"),
    "bool p": ("scalar", "bool", 1, False, 1, "bool"),
    "float p": ("scalar", "float32", 1, False, 4, "float"),
    "double p": ("scalar", "float64", 1, False, 8, "double"),
    "half p": ("scalar", "float16", 1, False, 2, "half"),
    "__nv_bfloat16 p": ("scalar", "bfloat16", 1, False, 2, "__nv_bfloat16"),
    "Small p": ("scalar", "int8", 1, False, 1, "Small"),
    "Plain p": ("scalar", "int32", 1, False, 4, "Plain"),
    "cuFloatComplex p": ("scalar", "complex64", 1, False, 8, "cuFloatComplex"),
    "cuDoubleComplex p": ("scalar", "complex128", 1, False, 16, "cuDoubleComplex"),
    "float4 p": ("vector", "float32", 4, False, 16, "float4"),
    "uchar3 p": ("vector", "uint8", 3, False, 3, "uchar3"),
    "longlong2 p": ("vector", "int64", 2, False, 16, "longlong2"),
    "half2 p": ("vector", "float16", 2, False, 4, "half2"),
    "dim3 p": ("vector", "uint32", 3, False, 12, "dim3"),
    "Body p": ("struct", None, 1, False, 16, "Body"),
    "Word p": ("struct", None, 1, False, 4, "Word"),
    "__int128 p": ("struct", None, 1, False, 16, "__int128"),
    "float *p": ("pointer", "float32", 1, False, 8, "float *"),
    "const float *__restrict__ p": ("pointer", "float32", 1, True, 8, "const float *"),
    "float const *const p": ("pointer", "float32", 1, True, 8, "const float *"),
    "readable p": ("pointer", "float32", 1, True, 8, "readable"),
    "const real *p": ("pointer", "float32", 1, True, 8, "const real *"),
    "volatile int *p": ("pointer", "int32", 1, False, 8, "volatile int *"),
    "unsigned char *p": ("pointer", "uint8", 1, False, 8, "unsigned char *"),
    "const uint8_t *p": ("pointer", "uint8", 1, True, 8, "const uint8_t *"),
    "bool *p": ("pointer", "bool", 1, False, 8, "bool *"),
    "int p[4]": ("pointer", "int32", 1, False, 8, "int *"),
    "half *p": ("pointer", "float16", 1, False, 8, "half *"),
    "const __nv_bfloat162 *p": ("pointer", "bfloat16", 2, True, 8, "const __nv_bfloat162 *"),
    "float4 *p": ("pointer", "float32", 4, False, 8, "float4 *"),
    "const longlong2 *p": ("pointer", "int64", 2, True, 8, "const longlong2 *"),
    "cuComplex *p": ("pointer", "complex64", 1, False, 8, "cuComplex *"),
    "__nv_fp8_e4m3 *p": ("pointer", None, 1, False, 8, "__nv_fp8_e4m3 *"),
    "Body *p": ("pointer", None, 1, False, 8, "Body *"),
    "const Body &p": ("pointer", None, 1, True, 8, "const Body &"),
    "void *p": ("pointer", None, 1, False, 8, "void *"),
    "const void *p": ("pointer", None, 1, True, 8, "const void *"),
    "float **p": ("pointer", "uint64", 1, False, 8, "float **"),
    "const char *const *p": ("pointer", "uint64", 1, True, 8, "const char * const *"),
    "int (*p)(int)": ("pointer", None, 1, False, 8, "int (*)(int)"),
}


def kernel(text: str, *instantiations: str, architecture: str = "sm_90", **options: object) -> CompiledKernel:
    result = language("cuda-c++").compile(
        CompileRequest(
            source=Source(text=text),
            options=Options.model_validate(options),
            architecture=architecture,
            instantiations=instantiations,
        )
    )
    assert result.kernel is not None, result.diagnostics
    return result.kernel


@pytest.fixture(scope="module")
def described() -> dict[str, Entry]:
    """One compilation of a kernel for every declaration."""
    kernels = "".join(f"__global__ void k{number}({text}) {{}}\n" for number, text in enumerate(DECLARATIONS))
    return {entry.display: entry for entry in kernel(PREAMBLE + kernels).entries}


@pytest.mark.parametrize("number", range(len(DECLARATIONS)), ids=list(DECLARATIONS))
def test_parameter(described: dict[str, Entry], number: int) -> None:
    entry = described[f"k{number}"]
    (found,) = entry.parameters
    assert found.name == "p"
    assert (found.kind, found.dtype, found.components, found.const, found.bytes, found.type) == list(
        DECLARATIONS.values()
    )[number]
    assert entry.line == PREAMBLE.count("\n") + 1 + number


def test_offsets_and_nameless_parameters() -> None:
    (entry,) = kernel("struct S { char a; double b; };\n__global__ void k(char a, S b, int, float4 c) {}").entries
    assert [(item.name, item.offset, item.bytes) for item in entry.parameters] == [
        ("a", 0, 1),
        ("b", 8, 16),
        ("parameter_2", 24, 4),
        ("c", 32, 16),
    ]


def test_libcudacxx_types() -> None:
    text = (
        "#include <cuda/std/complex>\n__global__ void k(cuda::std::complex<float> *z, cuda::std::complex<double> a) {}"
    )
    (entry,) = kernel(text).entries
    assert [(item.kind, item.dtype) for item in entry.parameters] == [
        ("pointer", "complex64"),
        ("scalar", "complex128"),
    ]


NAMES = """
namespace { __global__ void hidden(int *p) { p[0] = 1; } }
static __global__ void own(int *p) { p[0] = 1; }
namespace outer { namespace inner { __global__ void deep(int *p) { p[0] = 1; } } }
extern "C" __global__ void plain(int *p) { p[0] = 1; }
template <class T, int N> __global__ void scale(T *x, T by) { x[0] *= by * T(N); }
template __global__ void scale<double, 2>(double *, double);
__global__ void twice(int *p) { p[0] = 1; }
__global__ void twice(float *p) { p[0] = 1; }
template <class... A> __global__ void pack(A... a) {}
"""


def test_names() -> None:
    found = kernel(NAMES, "scale<float, 3>", "pack<int, float *>", "scale<float,3>")
    shown = {entry.display: (entry.line, [item.name for item in entry.parameters]) for entry in found.entries}
    assert shown == {
        "hidden": (2, ["p"]),
        "own": (3, ["p"]),
        "outer::inner::deep": (4, ["p"]),
        "plain": (5, ["p"]),
        "scale<float, 3>": (6, ["x", "by"]),
        "scale<float,3>": (6, ["x", "by"]),
        "scale<double,2>": (6, ["x", "by"]),
        "twice(int *)": (8, ["p"]),
        "twice(float *)": (9, ["p"]),
        "pack<int, float *>": (10, ["a_0", "a_1"]),
    }
    assert found.toolchain == "NVRTC 13.0"


def test_inline_assembly_that_breaks_out_of_its_function() -> None:
    text = '__global__ void k(int *p) { p[0] = 1; asm("ret; }\\n.visible .entry other() { ret;"); }'
    assert {entry.name for entry in kernel(text).entries} == {"_Z1kPi", "other"}


@pytest.mark.parametrize("file", ["copy", "shared_memory", "control_flow", "warp", "compute", "modern", "bugs"])
def test_resources_as_measured(file: str) -> None:
    """Shared, local and constant memory are the driver's own answers; registers may differ by the compiler's minor."""
    cases = [case for case in json.loads((TRUTH / "cases.json").read_text()) if case["file"] == f"{file}.cu"]
    measured = json.loads((TRUTH / "resources_sm_90.json").read_text())
    entries = {entry.name: entry for entry in kernel((TRUTH / "kernels" / f"{file}.cu").read_text()).entries}
    compared = 0
    for case in cases:
        want = measured.get(case["name"])
        if want is None:
            continue
        got = entries[case["entry"]].resources
        assert got.static_shared_bytes == want["shared_size_bytes"], case["name"]
        assert got.constant_bytes == want["const_size_bytes"], case["name"]
        assert abs(got.registers - want["num_regs"]) <= 8, (case["name"], got.registers, want["num_regs"])
        assert [item.kind for item in entries[case["entry"]].parameters] == [
            "scalar" if "scalar" in argument else "pointer" for argument in case["arguments"]
        ]
        compared += 1
    assert compared >= 2


@pytest.mark.parametrize(
    "architecture",
    ["sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"],
)
def test_every_architecture(architecture: str) -> None:
    text = """__constant__ float table[100];
extern "C" __global__ void __launch_bounds__(128) k(int *p) {
  __shared__ int s[30];
  s[threadIdx.x % 30] = p[3];
  __syncthreads();
  p[0] = s[p[1]] + table[p[2]];
}"""
    found = kernel(text, architecture=architecture)
    (entry,) = found.entries
    resources = entry.resources
    assert (resources.static_shared_bytes, resources.constant_bytes, resources.barriers) == (120, 400, 1)
    assert resources.max_threads_per_block == 128
    assert 4 <= resources.registers <= 32
    assert f".target {architecture}" in found.ptx


def test_spills_are_reported() -> None:
    body = "".join(f"float v{n} = x[{n}];" for n in range(64)) + "__syncthreads();"
    body += "".join(f"x[{n}] = v{n} * v{(n + 1) % 64};" for n in range(64))
    text = f"__global__ void k(volatile float *x) {{ {body} }}"
    (free,) = kernel(text).entries
    (tight,) = kernel(text, max_registers=24).entries
    assert free.resources.spill_store_bytes == 0
    assert tight.resources.spill_store_bytes > 0
    assert tight.resources.spill_load_bytes > 0
    assert tight.resources.registers <= 24
