"""A small run through every stage of a launch, before a process is confined: what is made once is made here."""

from __future__ import annotations

import time

from engine.devices.emulated import EmulatedDevice
from engine.emission import Emission
from engine.launch import launch_job
from engine.launching.plan import plan
from engine.linting.linter import lint_artifact
from protocol.arguments import (
    Arange,
    Buffer,
    BufferArgument,
    Formula,
    Initialiser,
    Integers,
    Normal,
    ScalarArgument,
    Uniform,
)
from protocol.checks import Equals
from protocol.kernel import CompiledKernel, Entry, Parameter, Resources
from protocol.launch import Cover, Launch, LaunchConfig
from protocol.run import LaunchRequest, RunRequest
from protocol.source import Source

_PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry rehearse(.param .u64 x, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%rd3], %f2;
DONE:
    ret;
}
"""
_ENTRY = Entry(
    name="rehearse",
    display="rehearse",
    parameters=(
        Parameter(name="x", type="float *", kind="pointer", dtype="float32", bytes=8, offset=0),
        Parameter(name="n", type="unsigned int", kind="scalar", dtype="uint32", bytes=4, offset=8),
    ),
    resources=Resources(registers=16),
)
_KERNEL = CompiledKernel(language="cuda-c++", architecture="sm_90", toolchain="", ptx=_PTX, entries=(_ENTRY,))
_STARTS: tuple[Initialiser, ...] = (Uniform(), Normal(), Integers(high=9), Arange(), Formula(text="sin(x) + y"))


def rehearse() -> None:
    """Runs one launch on the emulator and throws what it tells away."""
    run = _run()
    code = EmulatedDevice.prepare(_KERNEL, plan(run, _KERNEL), run.source)
    request = LaunchRequest.model_validate_json(
        LaunchRequest(run=run, kernel=_KERNEL, device="emulator").model_dump_json()
    )
    blobs = {f"object:{key}": memoryview(item.data) for key, item in code.items()}
    launch_job(request, blobs, Emission(lambda header, payload: None), begin=time.perf_counter())


def rehearse_linting() -> None:
    """Looks at the same launch, and at one that does not compile."""
    run = _run()
    for kernel in (_KERNEL, None):
        lint_artifact(run, kernel)


def _run() -> RunRequest:
    buffers = tuple(
        Buffer(name=f"b{index}", dtype="float32", shape=(4, 8), init=init) for index, init in enumerate(_STARTS)
    )
    step = Launch(
        config=LaunchConfig(grid=Cover(buffer="b0"), block=(32,)),
        arguments=(BufferArgument(buffer="b0"), ScalarArgument(value=32)),
    )
    checks = (Equals(buffer="b1", expected=Normal()),)
    return RunRequest(source=Source(text=_PTX), buffers=buffers, steps=(step,), checks=checks)
