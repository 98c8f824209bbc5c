"""What of PTX is refused, family by family, and why: the diagnostics and the manual's page read the same lines."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.isa.notation import Notation, parse_notation


@dataclass(frozen=True, slots=True)
class Refusal:
    """A family of instructions: some of its forms, the reason, and what a program can do instead."""

    forms: tuple[Notation, ...]
    reason: str
    instead: str

    def covers(self, opcode: str, modifiers: tuple[str, ...]) -> bool:
        return any(
            form.opcode == opcode and all(slot.optional or set(slot.choices) & set(modifiers) for slot in form.slots)
            for form in self.forms
        )


def _refusal(forms: str, reason: str, instead: str) -> Refusal:
    return Refusal(tuple(parse_notation(f"{form} …") for form in forms.split()), reason, instead)


REFUSALS = (
    _refusal(
        "tex tld4 txq istypep",
        "textures and samplers are objects of the host's driver, which a launch here cannot make",
        "read the array by a pointer, as `ld.global.nc` (`__ldg`) does",
    ),
    _refusal(
        "suld sust sured suq",
        "surfaces are objects of the host's driver, which a launch here cannot make",
        "read and write the array by a pointer",
    ),
    _refusal(
        "tensormap.(replace|cp_fenceproxy) fence.proxy.(tensormap::generic) prefetch{.param}.tensormap "
        "cp.async.bulk{.prefetch}.tensor cp.reduce.async.bulk.tensor",
        "tensor maps are made by the host's driver, which a launch here cannot do",
        "copy with ordinary loads, `cp.async`, or bulk copies of one dimension",
    ),
    _refusal(
        "wgmma.(mma_async|fence|commit_group|wait_group)",
        "the warp group's matrix unit of sm_90a is not emulated",
        "use `mma.sync` or wmma, which every architecture has",
    ),
    _refusal(
        "tcgen05",
        "the tensor memory of sm_100a is not emulated",
        "use `mma.sync` or wmma, which every architecture has",
    ),
    _refusal(
        "multimem",
        "multicast addresses join the memories of several GPUs; here is one device",
        "reduce in global memory of one device",
    ),
    _refusal(
        "clusterlaunchcontrol",
        "taking over blocks that have not started belongs to the scheduler of sm_100",
        "give each block a loop over its share of the work",
    ),
    _refusal(
        "cvt.rs",
        "which of the random bits meet which dropped bits is documented for bf16x2 alone, not for subnormal float16 "
        "and smaller formats, and no such GPU was measured",
        "round to bf16x2, or to nearest (`.rn`)",
    ),
    _refusal(
        "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset",
        "video instructions have no hardware since sm_50 and compilers do not make them",
        "use `prmt`, `bfe` and integer arithmetic; those of two halves and four bytes are supported",
    ),
)


def refusal_of(opcode: str, modifiers: tuple[str, ...]) -> Refusal | None:
    """The family that an instruction without a row belongs to."""
    return next((refusal for refusal in REFUSALS if refusal.covers(opcode, modifiers)), None)
