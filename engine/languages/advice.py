"""Plain words and advice for compiler messages that people meet when they bring host code into a kernel's source."""

from __future__ import annotations

import re

_HOST_FUNCTION = "is considered a host function, and host functions are not allowed in JIT mode"
_HOST_VARIABLE = "is considered a host variable, and host variables are not allowed in JIT mode"
_MARKED_HOST = "A function explicitly marked as a __host__ function is not allowed in JIT mode"

_PLAIN = (
    (_HOST_FUNCTION, "a function of the host: only __global__ and __device__ functions are compiled here"),
    (_HOST_VARIABLE, "a variable of the host: kernels cannot see it"),
    (_MARKED_HOST, "a __host__ function: only __global__ and __device__ functions are compiled here"),
)

_ADVICE = (
    (
        re.compile(re.escape(_HOST_FUNCTION) + "|" + re.escape(_MARKED_HOST)),
        "Put __device__ before a function that kernels call, or choose the option default device. Leave main and "
        "other host code out: the launch form allocates, copies and launches.",
    ),
    (
        re.compile(re.escape(_HOST_VARIABLE)),
        "Write __device__ or __constant__ before it, or constexpr where its value is known at compile time.",
    ),
    (
        re.compile(r'^identifier "(?:cuda[A-Z]\w*|cu[A-Z]\w*)" is undefined'),
        "This belongs to the host's runtime. The launch form allocates, copies and launches in its place.",
    ),
    (
        re.compile(r"^device-side kernel launch could not be processed"),
        "A kernel cannot launch another one here. Add a second launch to the steps of the run.",
    ),
    (
        re.compile(r'^name followed by "::" must be a class or namespace name|^namespace "std" has no member'),
        "The host's library does not exist in device code. Include <cuda/std/…> and write cuda::std:: for std::, "
        "or use CUDA's own functions (min, max, sqrtf, …).",
    ),
    (
        re.compile(r'^identifier "u?int(?:8|16|32|64)_t" is undefined'),
        "Add #include <cstdint>.",
    ),
    (
        re.compile(r'^identifier "(?:half|__half|half2|__half2)" is undefined'),
        "Add #include <cuda_fp16.h>.",
    ),
    (
        re.compile(r'^identifier "(?:__nv_bfloat16|nv_bfloat16|__nv_bfloat162)" is undefined'),
        "Add #include <cuda_bf16.h>.",
    ),
    (
        re.compile(r'^identifier "(?:alloca|__builtin_alloca)" is undefined'),
        "Add #include <alloca.h>.",
    ),
    (
        re.compile(r'^identifier "(?:INFINITY|NAN|M_PI)" is undefined'),
        "Add #include <cmath>.",
    ),
    (
        re.compile(r'^identifier "(?:INT_MAX|INT_MIN|UINT_MAX|LLONG_MAX|CHAR_BIT)" is undefined'),
        "Add #include <climits>.",
    ),
    (
        re.compile(r'^identifier "(?:FLT_MAX|FLT_MIN|FLT_EPSILON|DBL_MAX|DBL_EPSILON)" is undefined'),
        "Add #include <cfloat>.",
    ),
)


def plain_words(message: str) -> str:
    """The compiler's message, or what it means where its own words name options that nobody here can set."""
    return next((plain for text, plain in _PLAIN if text in message), message)


def advice(message: str) -> str | None:
    """What to do about a message; None where there is nothing to add."""
    return next((text for pattern, text in _ADVICE if pattern.search(message)), None)
