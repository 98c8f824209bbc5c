"""Large kernels as PTX: straight-line code of so many instructions, and so many blocks of branching code."""

from __future__ import annotations

LARGE = ("straight_5000", "straight_30000", "branchy_600")
ENTRY = "large"
BLOCK = (256, 1, 1)
_USED = 50  # registers of each kind, all alive to the end


def text(name: str) -> str:
    """The module of one of LARGE; its entry takes the addresses of two arrays of float32."""
    shape, _, count = name.partition("_")
    return _module(_straight(int(count)) if shape == "straight" else _branchy(int(count)))


def _straight(count: int) -> list[str]:
    lines = []
    for place in range(count):
        to, one, other = place % _USED, (7 * place + 3) % _USED, (11 * place + 5) % _USED
        lines.append(
            (
                f"ld.global.f32 %f{to}, [%rd3+{4 * (place % 1000)}];",
                f"fma.rn.f32 %f{to}, %f{one}, %f{other}, %f{to};",
                f"fma.rn.f32 %f{to}, %f{other}, %f{one}, %f{to};",
                f"add.s32 %r{to}, %r{one}, {place};",
                f"fma.rn.f32 %f{to}, %f{one}, %f{one}, %f{to};",
                f"xor.b32 %r{to}, %r{one}, %r{other};",
                f"fma.rn.f32 %f{to}, %f{to}, %f{one}, %f{other};",
                f"mul.f32 %f{to}, %f{one}, %f{other};",
            )[place % 8]
        )
    return lines


def _branchy(blocks: int) -> list[str]:
    """Each block may skip up to three others, another way for each thread."""
    lines = []
    for block in range(blocks):
        to, one = block % _USED, 7 * block % _USED
        lines += [
            f"$L{block}:",
            f"and.b32 %r{to}, %r{one}, {1 << block % 5};",
            f"setp.eq.s32 %p1, %r{to}, 0;",
            f"@%p1 bra $L{min(block + 2 + block % 3, blocks)};",
            f"add.s32 %r{3 * block % _USED}, %r{to}, {block};",
            f"xor.b32 %r{5 * block % _USED}, %r{9 * block % _USED}, %tid.x;",
        ]
    return [*lines, f"$L{blocks}:"]


def _module(body: list[str]) -> str:
    first = [line for index in range(_USED) for line in (
        f"cvt.rn.f32.s32 %f{index}, %r100;", f"add.s32 %r{index}, %r100, {37 * index};",
    )]  # fmt: skip
    last = [line for index in range(1, _USED) for line in (
        f"add.f32 %f0, %f0, %f{index};", f"add.s32 %r0, %r0, %r{index};",
    )]  # fmt: skip
    lines = "\n    ".join([*first, *body, *last])
    return f""".version 8.0
.target sm_90
.address_size 64
.visible .entry {ENTRY}(.param .u64 in, .param .u64 out)
{{
    .reg .pred %p<2>; .reg .b32 %r<104>; .reg .f32 %f<{_USED + 1}>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r101, %ctaid.x;
    mov.u32 %r102, %ntid.x;
    mov.u32 %r103, %tid.x;
    mad.lo.s32 %r100, %r101, %r102, %r103;
    mul.wide.s32 %rd4, %r100, 4;
    add.s64 %rd3, %rd1, %rd4;
    add.s64 %rd5, %rd2, %rd4;
    {lines}
    cvt.rn.f32.s32 %f1, %r0;
    add.f32 %f0, %f0, %f1;
    st.global.f32 [%rd5], %f0;
    ret;
}}
"""
