"""Options become exactly these words, headers exist or are explained, toolchains have names."""

from __future__ import annotations

import pytest

from engine import toolchain
from engine.languages import LANGUAGES, language
from engine.languages.headers import HEADERS
from engine.languages.nvrtc import include_folders, nvrtc
from engine.languages.nvrtc_options import compiler_options, debug_options, ptx_options
from protocol.run import CompileRequest
from protocol.source import Define, Options, Source

ALWAYS = ("-std=c++17", "-device-int128", "-no-cache", "-D_CG_LIMIT_INCLUDED_DEPENDENCIES", "-include=cmath")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (Options(), ALWAYS),
        (Options(standard="c++20"), ("-std=c++20", *ALWAYS[1:])),
        (Options(fast_math=True), (*ALWAYS, "-use_fast_math")),
        (Options(fmad=False), (*ALWAYS, "-fmad=false")),
        (Options(fast_math=True, fmad=False), (*ALWAYS, "-use_fast_math", "-fmad=false")),
        (Options(default_device=True), (*ALWAYS, "-default-device")),
        (Options(max_registers=32), (*ALWAYS, "-maxrregcount=32")),
        (
            Options(defines=(Define(name="N", value="3"), Define(name="TEXT", value='-I/etc "x"'))),
            (*ALWAYS, "-DN=3", '-DTEXT=-I/etc "x"'),
        ),
    ],
)
def test_words(options: Options, words: tuple[str, ...]) -> None:
    folders = ("/cuda/include",)
    rest = (*words, "-I/cuda/include")
    assert compiler_options(options, "sm_90", folders) == ("-arch=sm_90", "-lineinfo", "-Xptxas=-v", *rest)
    assert ptx_options(options, "sm_90", folders) == ("-arch=compute_90", "-lineinfo", *rest)
    assert debug_options(options, "sm_90", folders) == ("-arch=compute_90", "-G", "-w", *rest)


def test_the_mathematical_constants_need_no_include() -> None:
    assert f"{0x7F800000}" in ptx("__global__ void k(float *x) { x[0] = INFINITY; }")
    assert f"{0x40490FDB}" in ptx("__global__ void k(float *x) { x[0] = (float)M_PI; }")


def ptx(text: str, **options: object) -> str:
    request = CompileRequest(source=Source(text=text), options=Options.model_validate(options))
    result = language("cuda-c++").compile(request)
    assert result.kernel is not None, result.diagnostics
    return result.kernel.ptx


def test_options_reach_the_code() -> None:
    text = "__global__ void k(float *x) { x[0] = x[1] * x[2] + sinf(x[3]); }"
    assert "fma.rn.f32" in ptx(text)
    assert "fma.rn.f32" not in ptx("__global__ void k(float *x) { x[0] = x[1] * x[2] + x[3]; }", fmad=False)
    assert "sin.approx" in ptx(text, fast_math=True)
    assert "sin.approx" not in ptx("__global__ void k(float *x) { x[0] = x[1]; }")
    helper = "constexpr int twice(int x) { return 2 * x; }\n__global__ void k(int *x) { x[0] = twice(x[1]); }"
    assert "k" in ptx(helper, default_device=True)
    named = (Define(name="KERNEL", value="renamed"),)
    assert "renamed" in ptx('extern "C" __global__ void KERNEL(float *x) {}', defines=named)


@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20"])
def test_all_provided_headers_together(standard: str) -> None:
    includes = "".join(f"#include <{name}>\n" for name in HEADERS)
    assert ptx(includes + "__global__ void k(int *p) { p[0] = INT_MAX; }", standard=standard)


def test_provided_headers_mean_what_the_standard_says() -> None:
    text = """
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
static_assert(sizeof(std::int8_t) == 1 && sizeof(int16_t) == 2 && sizeof(std::uint32_t) == 4 && sizeof(int64_t) == 8);
static_assert(UINT8_MAX == 255 && INT64_MAX == 0x7fffffffffffffff && SIZE_MAX == ~size_t(0));
static_assert(CHAR_BIT == 8 && INT_MIN < 0 && UINT_MAX == ~0u && ULLONG_MAX == ~0ull);
static_assert(std::numeric_limits<int>::max() == INT_MAX && std::numeric_limits<unsigned>::min() == 0);
static_assert(std::numeric_limits<float>::lowest() == -FLT_MAX && std::numeric_limits<float>::epsilon() == FLT_EPSILON);
static_assert(std::numeric_limits<double>::infinity() > DBL_MAX);
static_assert(std::numeric_limits<float>::quiet_NaN() != std::numeric_limits<float>::quiet_NaN());
static_assert(std::is_same_v<decltype(std::sin(1.0f)), float> && std::is_same_v<decltype(std::abs(-1.5)), double>);
static_assert(std::is_signed_v<int> && !std::is_signed_v<unsigned> && std::is_floating_point_v<const float>);
static_assert(std::is_same_v<std::make_unsigned_t<int>, unsigned> && !std::is_integral_v<float *>);
static_assert(std::max(2, 3) == 3 && std::min(2, 3) == 2 && std::clamp(9, 1, 4) == 4);
__global__ void k(float *x, int *p) {
  int a = 1, b = 2;
  std::swap(a, b);
  std::fill(p, p + 4, a);
  std::reverse(p, p + 4);
  std::memset(x, 0, 4);
  x[0] = INFINITY + NAN + M_PI + std::pow(x[1], 2.0f) + std::isnan(x[2]) + (float)b;
  std::printf("%d", EXIT_FAILURE);
}
"""
    assert ptx(text)


@pytest.mark.parametrize("header", ["alloca.h", "stdlib.h"])
@pytest.mark.parametrize("name", ["alloca", "__builtin_alloca"])
def test_memory_of_the_stack_needs_a_header(header: str, name: str) -> None:
    text = f"__global__ void k(int *x) {{ int *y = (int *){name}(x[0]); y[x[1]] = 1; x[2] = y[x[3]]; }}"
    assert "alloca.u64" in ptx(f"#include <{header}>\n{text}")
    (diagnostic,) = language("cuda-c++").compile(CompileRequest(source=Source(text=text))).diagnostics
    assert diagnostic.help == "Add #include <alloca.h>."


@pytest.mark.parametrize(
    "header",
    [
        "cub/block/block_reduce.cuh", "cub/warp/warp_scan.cuh", "cuda/std/array", "cuda/std/atomic", "cuda_fp16.h",
        "cuda_bf16.h", "cuda_fp8.h", "mma.h", "cooperative_groups.h", "cooperative_groups/reduce.h", "cuComplex.h",
        "cuda_runtime.h", "cuda.h", "device_launch_parameters.h", "math_constants.h", "cuda_pipeline.h",
    ],
)  # fmt: skip
def test_header_compiles(header: str) -> None:
    assert ptx(f"#include <{header}>\n__global__ void k(int *p) {{ p[0] = 1; }}")


def test_names_of_languages_and_toolchain() -> None:
    assert [item.name for item in LANGUAGES] == ["cuda-c++", "ptx", "numba"]
    assert toolchain() == "NVRTC {}.{}".format(*nvrtc().version) == "NVRTC 13.0"
    assert len(include_folders()) == 2
    with pytest.raises(KeyError):
        language("fortran")
