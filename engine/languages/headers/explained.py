"""Why a header cannot be included in device code, and what to use in its place."""

from __future__ import annotations

_STREAMS = "Device code has no streams. printf works in kernels, without any include."
_OWNERS = (
    "Containers that own memory do not exist in device code. Use a plain array, shared memory or a buffer; "
    "cuda::std::array and cuda::std::span are in <cuda/std/array> and <cuda/std/span>."
)
_THREADS = "A kernel's parallelism is its grid: blocks and threads. <cuda/std/atomic> has atomics with memory orders."
_HOST_API = "Memory, launches and streams belong to the host. Here the launch form takes their place."
_HOST_ALGORITHMS = (
    "This is called from the host. Inside a kernel use the block and warp collectives: <cub/block/block_reduce.cuh>, "
    "<cub/block/block_scan.cuh>, <cub/warp/warp_reduce.cuh> …"
)
_PYTHON = "Kernels here are plain CUDA C++: the arrays come from the launch form."

_REASONS: dict[str, str] = (
    dict.fromkeys(
        ["iostream", "ostream", "istream", "sstream", "fstream", "iomanip", "ios", "print", "format"], _STREAMS
    )
    | dict.fromkeys(
        [
            "vector",
            "string",
            "map",
            "set",
            "list",
            "deque",
            "queue",
            "stack",
            "unordered_map",
            "unordered_set",
            "memory",
            "forward_list",
        ],
        _OWNERS,
    )
    | dict.fromkeys(
        [
            "thread",
            "mutex",
            "condition_variable",
            "future",
            "shared_mutex",
            "barrier",
            "semaphore",
            "omp.h",
            "pthread.h",
        ],
        _THREADS,
    )
    | dict.fromkeys(
        ["unistd.h", "sys/time.h", "windows.h", "signal.h", "fcntl.h", "errno.h", "cerrno", "filesystem", "dlfcn.h"],
        _HOST_API,
    )
    | dict.fromkeys(
        ["helper_cuda.h", "helper_functions.h", "cutil.h", "cublas_v2.h", "cufft.h", "cusparse.h", "cusolverDn.h"],
        _HOST_API,
    )
    | dict.fromkeys(["torch/extension.h", "ATen/ATen.h", "torch/torch.h", "pybind11/pybind11.h", "Python.h"], _PYTHON)
    | {
        "random": "Use a counter-based generator of your own, or pass random numbers in a buffer.",
        "curand_kernel.h": "cuRAND is not installed. Pass random numbers in a buffer, or write a small generator.",
        "exception": "Device code has no exceptions. Use assert or __trap().",
        "stdexcept": "Device code has no exceptions. Use assert or __trap().",
        "regex": "Text processing does not exist in device code.",
    }
)

_IN_LIBCXX = [
    "array",
    "atomic",
    "bit",
    "chrono",
    "complex",
    "concepts",
    "expected",
    "functional",
    "initializer_list",
    "iterator",
    "mdspan",
    "numeric",
    "optional",
    "ratio",
    "span",
    "string_view",
    "tuple",
    "variant",
]

_HOST_FOLDERS = {"thrust/": _HOST_ALGORITHMS, "cub/device/": _HOST_ALGORITHMS, "cub/cub.cuh": _HOST_ALGORITHMS}


def explain_missing(header: str) -> tuple[str, str]:
    """Message and help for a header that could not be opened."""
    if header in _IN_LIBCXX:
        return (
            f"<{header}> of the host's library does not exist in device code",
            f"Include <cuda/std/{header}> and write cuda::std:: for std::.",
        )
    if header in _REASONS:
        return f"<{header}> does not exist in device code", _REASONS[header]
    return (
        f'cannot open "{header}"',
        "A source is one file: it can include the CUDA headers, <cuda/std/…>, <cub/block/…>, <cub/warp/…> and "
        "<cooperative_groups.h>, and no file of its own.",
    )


def only_for_hosts(header: str) -> str | None:
    """Help where a header exists but is only of use in host code; None otherwise."""
    return next((text for start, text in _HOST_FOLDERS.items() if header.startswith(start)), None)
