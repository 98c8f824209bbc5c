"""Does once, before a process confines itself, all that later calls would have to set up."""

from __future__ import annotations

from emulator.instruments import INSTRUMENTS
from emulator.runtime.arena import Memory
from emulator.runtime.compile import compile_entry
from emulator.runtime.jit import instrument_support
from emulator.runtime.launch import launch
from emulator.syntax import parse

_PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry prewarm(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 tile[128];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.shared.u32 [tile], %r1;
    bar.sync 0;
    st.global.u32 [%rd3], %r1;
    ret;
}
"""


def prewarm() -> None:
    """Initialises LLVM, compiles the support libraries, and runs one small kernel through every stage."""
    for name in INSTRUMENTS:
        instrument_support(name)
    module, _ = parse(_PTX)
    memory = Memory(1 << 20)
    out = memory.allocate("out", 4 * 32)
    entry = compile_entry(module, "prewarm", (32, 1, 1))
    launch(entry, memory, (1, 1, 1), [out.address.to_bytes(8, "little")], threads=1)
