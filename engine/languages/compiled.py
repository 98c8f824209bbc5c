"""What a language hands back: diagnostics, and the kernel where there is one."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.diagnostics import Diagnostic
from protocol.kernel import CompiledKernel


@dataclass(frozen=True, slots=True)
class Compiled:
    """`kernel` is None where compilation failed; then one of the diagnostics is an error."""

    diagnostics: tuple[Diagnostic, ...]
    kernel: CompiledKernel | None = None
    cubin: bytes = b""
