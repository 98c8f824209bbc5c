"""Kernels of our own that a launch on a GPU is timed with, and what they measure of the card itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from protocol.events import Diagnosed, Event, Finished, Timed
from protocol.run import RunRequest
from protocol.timing import Measured, Peaks
from sandbox.compilation import compile_for_run
from sandbox.launcher import JobLimits, Sandbox
from sandbox.stores import Stores

BLOB = "probes"
SOURCE = """\
typedef unsigned long long u64;

// Reads more than the L2 cache holds; what was to be written is written, and the lines that stay are clean.
extern "C" __global__ void flush(const uint4 *from, u64 count, unsigned *sink) {
  unsigned sum = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
    uint4 v = __ldcg(from + i);
    sum += v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 0x9E3779B9u) *sink = sum;
}
extern "C" __global__ void compare(const unsigned char *a, const unsigned char *b, u64 size, int *differs) {
  u64 first = blockIdx.x * (u64)blockDim.x + threadIdx.x, step = (u64)gridDim.x * blockDim.x;
  bool found = false;
  for (u64 i = first; i < size / 16; i += step) {
    uint4 v = ((const uint4 *)a)[i], w = ((const uint4 *)b)[i];
    found |= v.x != w.x || v.y != w.y || v.z != w.z || v.w != w.w;
  }
  for (u64 i = size / 16 * 16 + first; i < size; i += step) found |= a[i] != b[i];
  if (found) *differs = 1;
}
extern "C" __global__ void empty() {}
extern "C" __global__ void known(unsigned *out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = i * 2654435761u;
}
// Longer than the host takes to queue three calls.
extern "C" __global__ void spin() {
  u64 begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - begin < 60000);
}
extern "C" __global__ void copy_peak(const uint4 *from, uint4 *to) {
  u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  __stcs(to + i, __ldcs(from + i));
}
extern "C" __global__ void fma_peak(float *out, float scale) {
  float a[16];
  for (int k = 0; k < 16; ++k) a[k] = threadIdx.x + k;
  for (int round = 0; round < 2048; ++round) {
#pragma unroll
    for (int k = 0; k < 16; ++k) a[k] = fmaf(a[k], scale, 0.5f);
  }
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += a[k];
  if (sum == 1.2345678e-30f) out[0] = sum;
}
"""

_COPY_BYTES = 1 << 29
_BLOCK = 256
_FMA_BLOCKS_PER_SM = 32
_FMA_FLOPS_A_BLOCK = 2 * 16 * 2048 * _BLOCK


class NoProbes(Exception):
    """Our own kernels do not compile or run here; the text says why."""


@dataclass
class Probes:
    """For one GPU: the code of these kernels, and the peaks once they have been measured."""

    peaks: Peaks | None = None
    _cubin: bytes | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cubin(
        self, box: Sandbox, architecture: str, stores: Stores, cancelled: threading.Event, limits: JobLimits
    ) -> bytes:
        """Compiled once, like any source; NoProbes where that fails or is cancelled."""
        with self._lock:
            if self._cubin is None:
                said: list[Event] = []
                run = _run("empty", 1, 1, (), architecture)
                made = compile_for_run(box, run, "gpu", stores, said.append, cancelled, limits)
                if made.cubin is None:
                    problems = [event.diagnostic.message for event in said if isinstance(event, Diagnosed)]
                    why = "; ".join(problems) or (made.outcome.detail if made.outcome else "nothing was compiled")
                    raise NoProbes(f"the kernels that time a launch do not compile: {why}")
                self._cubin = made.cubin
            return self._cubin


def peak_runs(architecture: str, sm_count: int) -> tuple[RunRequest, RunRequest]:
    """A copy of 512 MiB, and multiply-adds in whole waves of blocks."""
    copied = _COPY_BYTES // 16
    buffers = tuple(
        {"name": name, "dtype": "uint32", "shape": [_COPY_BYTES // 4], "role": "in", "init": {"kind": "uninitialised"}}
        for name in ("from", "to")
    )
    small = {"name": "out", "dtype": "float32", "shape": [1], "role": "in", "init": {"kind": "zeros"}}
    scale = {"kind": "scalar", "dtype": "float32", "value": 0.999}
    return (
        _run("copy_peak", copied // _BLOCK, _BLOCK, buffers, architecture),
        _run("fma_peak", sm_count * _FMA_BLOCKS_PER_SM, _BLOCK, (small,), architecture, scale),
    )


_KNOWN = 1 << 14


def known_run(architecture: str) -> RunRequest:
    """A run whose result is known: see `is_known`."""
    out = {"name": "out", "dtype": "uint32", "shape": [_KNOWN], "role": "out", "init": {"kind": "zeros"}}
    run = _run("known", _KNOWN // _BLOCK, _BLOCK, (out,), architecture)
    # Two steps, so that it is not repeated for its time.
    return run.model_copy(update={"steps": run.steps * 2})


def is_known(data: bytes | None) -> bool:
    """Whether these are the bytes of `known_run`'s buffer."""
    return data == b"".join((i * 2654435761 % 2**32).to_bytes(4, "little") for i in range(_KNOWN))


def peaks_of(copy: Measured, fma: Measured, sm_count: int) -> Peaks:
    """From the warm series of the two: neither has data that a cache could hold."""
    flops = _FMA_FLOPS_A_BLOCK * _FMA_BLOCKS_PER_SM * sm_count
    return Peaks(
        bytes_per_second=2 * _COPY_BYTES / copy.series[0].median, flops_per_second=flops / fma.series[0].median
    )


def measured_of(events: list[Event], end: Finished) -> Measured:
    """Of a run's events. NoProbes where its launch was not repeated."""
    timed = next((event for event in events if isinstance(event, Timed) and event.measured is not None), None)
    if timed is None or timed.measured is None:
        notes = [event.note for event in events if isinstance(event, Timed) and event.note]
        raise NoProbes(f"the card's peaks were not measured: {end.message or '; '.join(notes) or end.verdict}")
    return timed.measured


def _run(
    entry: str,
    grid: int,
    block: int,
    buffers: Sequence[Mapping[str, object]],
    architecture: str,
    *scalars: Mapping[str, object],
) -> RunRequest:
    arguments = [*({"kind": "buffer", "buffer": item["name"]} for item in buffers), *scalars]
    step = {"kind": "launch", "entry": entry, "config": {"grid": [grid], "block": [block]}, "arguments": arguments}
    values = {
        "source": {"text": SOURCE}, "buffers": buffers, "steps": [step], "architecture": architecture, "device": "gpu",
    }  # fmt: skip
    return RunRequest.model_validate_json(json.dumps(values))
