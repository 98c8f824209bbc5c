"""The compiler's command line, made from the options that a request may set and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.source import Options


def compiler_options(options: Options, architecture: str, include_folders: Sequence[str]) -> tuple[str, ...]:
    """Options that make PTX and a CUBIN for `architecture` (sm_90), with source lines and the assembler's report."""
    return (f"-arch={architecture}", "-lineinfo", "-Xptxas=-v", *_shared(options, include_folders))


def ptx_options(options: Options, architecture: str, include_folders: Sequence[str]) -> tuple[str, ...]:
    """The same code as PTX alone: what the assembler refused, to find the lines that it names."""
    return (f"-arch={_virtual(architecture)}", "-lineinfo", *_shared(options, include_folders))


def debug_options(options: Options, architecture: str, include_folders: Sequence[str]) -> tuple[str, ...]:
    """PTX with DWARF, which describes parameters. It is read, never run."""
    return (f"-arch={_virtual(architecture)}", "-G", "-w", *_shared(options, include_folders))


def _virtual(architecture: str) -> str:
    return architecture.replace("sm_", "compute_")


def _shared(options: Options, include_folders: Sequence[str]) -> tuple[str, ...]:
    result = [
        f"-std={options.standard}",
        "-device-int128",
        # Where there is an NVIDIA driver, looking a kernel up in its cache would start it, threads and all.
        "-no-cache",
        # Without it cooperative_groups.h pulls in libcu++: 0.8 s instead of 0.05 s.
        "-D_CG_LIMIT_INCLUDED_DEPENDENCIES",
        # nvcc knows INFINITY, NAN and M_PI without an include: the CUDA runtime's header brings <math.h>.
        "-include=cmath",
    ]
    if options.fast_math:
        result.append("-use_fast_math")
    if not options.fmad:
        # Contraction is the default, and this wins over -use_fast_math, which also asks for it.
        result.append("-fmad=false")
    if options.max_registers is not None:
        result.append(f"-maxrregcount={options.max_registers}")
    if options.default_device:
        result.append("-default-device")
    result += [f"-D{define.name}={define.value}" for define in options.defines]
    result += [f"-I{folder}" for folder in include_folders]
    return tuple(result)
