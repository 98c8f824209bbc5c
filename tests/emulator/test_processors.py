"""The same bits from code for AVX-512, for AVX2 and for neither; code for ARM is made, and not run."""

from __future__ import annotations

import struct
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from launching import module
from test_truth import SOUND, check_output, launch_case

from emulator import LaunchError, Memory, Options, compile_entry, launch, parse
from emulator.runtime import jit
from emulator.runtime.compile import lower_entry
from emulator.runtime.compiled import CompiledEntry
from emulator.runtime.support import support_ir

SAMPLE = (
    "copy_float4", "matmul_tiled16", "collatz", "mandelbrot", "warp_misc", "atomics_all", "half2_axpy", "bf16_scale",
    "float_ieee", "integer_math", "wmma_16x16", "spin_lock_sum", "softmax_rows",
)  # fmt: skip
AARCH64 = "aarch64-unknown-linux-gnu"


@pytest.fixture(params=list(jit.LEVELS))
def processor(request: pytest.FixtureRequest) -> str:
    level: str = request.param
    if level not in jit.native().levels:
        pytest.skip(f"not run: this processor has not what {level} has")
    return level


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case["name"] in SAMPLE else pytest.mark.long, id=case["name"]) for case in SOUND],
)
def test_equals_the_gpu(case: dict[str, Any], processor: str) -> None:
    block = (*case["block"], 1, 1)[:3]
    options = Options(processor=processor)
    entry = compile_entry(module(case["file"].removesuffix(".cu")), case["entry"], block, options)
    outcome, outputs = launch_case(case, entry)
    assert outcome.fault is None
    for key, got in outputs.items():
        check_output(case, key, got)


HALVES = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry halves(.param .u64 data, .param .u64 wide, .param .u64 narrow)
{
    .reg .b16 %h<4>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [wide]; ld.param.u64 %rd3, [narrow];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 256, %r2;
    mul.wide.u32 %rd4, %r3, 4; mul.wide.u32 %rd5, %r3, 2;
    add.s64 %rd6, %rd1, %rd4; add.s64 %rd7, %rd2, %rd4; add.s64 %rd8, %rd3, %rd5;
    cvt.u16.u32 %h1, %r3;
    cvt.f32.f16 %f1, %h1;
    st.global.f32 [%rd7], %f1;
    ld.global.f32 %f2, [%rd6];
    cvt.rn.f16.f32 %h2, %f2;
    st.global.b16 [%rd8], %h2;
    ret;
}
"""


def test_halves_without_instructions_for_them() -> None:
    """Every half, and floats of every exponent a half has, its ties among them."""
    count = 1 << 16
    random = np.random.default_rng(7).integers(0, 1 << 32, count, dtype=np.uint32)
    random[: count // 2] = 0x33000000 + random[: count // 2] % 0x15000000
    random[: count // 4] &= 0xFFFFF000
    text, problems = parse(HALVES)
    assert problems == []
    made = {}
    for processor in (None, "x86-64-v2"):
        memory = Memory(1 << 20)
        data, wide, narrow = (memory.allocate(name, size * count) for name, size in (("d", 4), ("w", 4), ("n", 2)))
        data.view(np.uint32)[:] = random
        arguments = [struct.pack("<Q", buffer.address) for buffer in (data, wide, narrow)]
        entry = compile_entry(text, "halves", (256, 1, 1), Options(processor=processor))
        assert launch(entry, memory, (count // 256, 1, 1), arguments).fault is None
        made[processor] = wide.view(np.uint32).copy(), narrow.view(np.uint16).copy()
    for native, plain in zip(*made.values(), strict=True):
        np.testing.assert_array_equal(native, plain)


def test_code_for_another_processor_is_refused() -> None:
    case = next(case for case in SOUND if case["name"] == "copy_float4")
    block = (*case["block"], 1, 1)[:3]
    entry = compile_entry(module(case["file"].removesuffix(".cu")), case["entry"], block)
    data = entry.to_bytes().replace(jit.native().cpu.encode(), b"x" * len(jit.native().cpu))
    with pytest.raises(LaunchError, match="another processor"):
        launch_case(case, CompiledEntry.from_bytes(data))


@pytest.mark.parametrize("name", SAMPLE)
def test_object_code_for_arm_is_made(name: str) -> None:
    case = next(case for case in SOUND if case["name"] == name)
    text = lower_entry(module(case["file"].removesuffix(".cu")), case["entry"], (*case["block"], 1, 1)[:3])[1].ir
    assert "llvm.x86" not in text
    assert _arm_object(text)


def test_the_support_library_for_arm_is_made() -> None:
    assert "llvm.x86" not in support_ir()
    assert _arm_object(support_ir())


def _arm_object(text: str) -> bytes:
    jit.native()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(AARCH64).create_target_machine(cpu="neoverse-n1", opt=1, reloc="pic")
    parsed = llvm.parse_assembly(text)
    parsed.triple, parsed.data_layout = AARCH64, str(machine.target_data)
    code = bytes(machine.emit_object(parsed))
    assert code[:4] == b"\x7fELF" and code[18:20] == b"\xb7\x00", "a file for AArch64"
    return code
