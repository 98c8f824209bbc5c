"""The straight line from a module to a compiled entry."""

from __future__ import annotations

import hashlib
import traceback
from dataclasses import dataclass

from emulator.analysis.alloca import expand_stack_instructions
from emulator.analysis.cfg import Graph, build_graph, is_mbarrier_wait
from emulator.analysis.classify import Classes, Classifier
from emulator.analysis.flat import FlatKernel, align
from emulator.analysis.gang import Gang
from emulator.analysis.inline import FlattenProblem, flatten
from emulator.analysis.liveness import Liveness, analyse_liveness
from emulator.analysis.progress import needs_independent_lanes, orders_cluster, orders_memory, waits_for_blocks
from emulator.analysis.whole import runs_whole
from emulator.analysis.width import ONE_WARP, TWO_WARPS, lone_lanes, may_be_rows, may_be_wide, pays, rows_of
from emulator.instruments import make_instruments
from emulator.lowering.chained import ChainedKernel
from emulator.lowering.dispatched import DispatchedKernel
from emulator.lowering.kernel import KernelLowering, LoweredKernel
from emulator.lowering.validate import validate
from emulator.runtime.compiled import CompiledEntry, EntryParameter, ModuleVariable
from emulator.runtime.jit import host_key, to_object, to_quick_object
from emulator.syntax.nodes import Instruction, Module, Problem

Dim3 = tuple[int, int, int]
_MOST_THREADS = 1024
# A kernel whose good code would take LLVM longer starts with quick code, and the launch makes the good one meanwhile.
# Above so many lines of IR, where that would take seconds and hundreds of MB, the quick code stays.
QUICK_ABOVE_SECONDS = 0.09
KEPT_ABOVE = 30_000


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile. `fast` trades speed of the code for compile time; None decides by size, so that launches that
    last replace quick code by good code (`runtime.tiers`). False and True are for good and all. `patient`: no code is
    made that is to be replaced. `hasty`: quick code first, whatever the size.

    `instruments` are names of `instruments.INSTRUMENTS`. `lanes` is the width of a gang, 32 or, where the kernel allows
    it, 64; None decides by what the kernel does. `processor` is one of `jit.LEVELS`, whose code is good for all that
    have its features; None is this one.
    """

    fast: bool | None = None
    patient: bool = False
    hasty: bool = False
    instruments: tuple[str, ...] = ()
    lanes: int | None = None
    processor: str | None = None


class CompileProblems(Exception):
    """The kernel cannot be compiled; `problems` says which instructions are at fault and where."""

    def __init__(self, problems: list[Problem]) -> None:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"PTX line {first.ptx_line}: {first.message}{more}")
        self.problems = problems


class InternalFailure(Exception):
    """The emulator itself failed on a kernel. `report` names the failure: the same for the same fault of ours.

    `place` is where it happened, in terms of this package's files.
    """

    def __init__(self, entry: str, error: Exception) -> None:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if _PACKAGE in f.filename]
        where = [f"{f.filename.rpartition(_PACKAGE)[2]}:{f.name}" for f in frames[-3:]]
        self.place = (
            f"{type(error).__name__} in {frames[-1].filename.rpartition(_PACKAGE)[2]}, line {frames[-1].lineno}"
        )
        self.report = hashlib.sha256(f"{type(error).__name__} {where}".encode()).hexdigest()[:10]
        super().__init__(f"the emulator failed on '{entry}' ({self.place}; report {self.report})")


_PACKAGE = "emulator/"


def lower_entry(
    module: Module, name: str, block: Dim3, instruments: tuple[str, ...] = (), lanes: int | None = None
) -> tuple[FlatKernel, LoweredKernel, bool]:
    """The LLVM text of an entry, and whether its blocks may wait for each other. Raises CompileProblems."""
    if min(block) < 1 or block[0] * block[1] * block[2] > _MOST_THREADS:
        raise CompileProblems([Problem(f"a block of {block} threads is not between 1 and {_MOST_THREADS}", 1)])
    try:
        flat = flatten(module, name)
    except FlattenProblem as problem:
        raise CompileProblems([problem.problem]) from None
    problems = validate(flat)
    if problems:
        raise CompileProblems(problems)
    expand_stack_instructions(flat)
    graph, problems = build_graph(flat)
    if problems:
        raise CompileProblems(problems)
    waits = waits_for_blocks(graph)
    gang = Gang(block)
    whole = not waits and not instruments and runs_whole(graph, gang)
    liveness = analyse_liveness(graph, flat.registers)
    classes: Classes | None = None
    if whole and lanes != ONE_WARP and may_be_wide(flat, graph, gang.threads):
        rows = rows_of(block)
        if lanes == TWO_WARPS:
            gang = Gang(block, TWO_WARPS)
        elif rows is not None and may_be_rows(graph):
            gang = Gang(block, rows, by_rows=True)
        elif pays(graph):
            gang, classes = _widened(flat, graph, liveness, gang)
    classes = classes or Classifier(flat, graph, liveness, gang).run()
    apart = False
    if flat.has_recursion or needs_independent_lanes(graph, classes):
        apart, gang = True, Gang(block)
        graph, _ = build_graph(flat, meet=True)
        liveness = analyse_liveness(graph, flat.registers)
        classes = Classifier(flat, graph, liveness, gang, dispatched=True).run()
    elif any(isinstance(item, Instruction) and is_mbarrier_wait(item) for item in flat.body):
        graph, _ = build_graph(flat, wait=True)
        liveness = analyse_liveness(graph, flat.registers)
        classes = Classifier(flat, graph, liveness, gang).run()
    lowering: KernelLowering
    if apart:
        lowering = DispatchedKernel(flat, graph, liveness, classes, gang, make_instruments(instruments))
    else:
        lowering = ChainedKernel(flat, graph, liveness, classes, gang, make_instruments(instruments), whole)
    lowered = lowering.run()
    if lowering.problems:
        raise CompileProblems(lowering.problems)
    return flat, lowered, waits


def _widened(flat: FlatKernel, graph: Graph, liveness: Liveness, gang: Gang) -> tuple[Gang, Classes]:
    """Two warps in lockstep, unless rows of the block tear apart what one warp accesses together."""
    wide = Gang(gang.block, TWO_WARPS)
    classes = Classifier(flat, graph, liveness, wide).run()
    if gang.block[0] % TWO_WARPS and lone_lanes(graph, classes):
        narrow = Classifier(flat, graph, liveness, gang).run()
        if lone_lanes(graph, narrow) < lone_lanes(graph, classes):
            return gang, narrow
    return wide, classes


def compile_entry(module: Module, name: str, block: Dim3, options: Options | None = None) -> CompiledEntry:
    """Compiles an entry for one block shape.

    Raises CompileProblems with every unsupported instruction, InternalFailure where the fault is the emulator's.
    """
    try:
        return _compile(module, name, block, options or Options())
    except (CompileProblems, MemoryError):
        raise
    except Exception as error:
        raise InternalFailure(name, error) from error


def _compile(module: Module, name: str, block: Dim3, options: Options) -> CompiledEntry:
    flat, lowered, waits = lower_entry(module, name, block, options.instruments, options.lanes)
    code, better = _code(lowered.ir, options)
    variables = tuple(
        ModuleVariable(key, v.space, v.size, v.alignment, v.initial or b"", v.addresses)
        for key, v in flat.globals.items()
    )
    return CompiledEntry(
        name, block, host_key(options.processor), code,
        tuple(EntryParameter(p.name, p.size, p.offset) for p in flat.entry.parameters),
        tuple(lowered.sites), variables, flat.code_addresses, _module_key(module), flat.shared_bytes,
        align(flat.shared_bytes, flat.dynamic_alignment) if flat.dynamic else None,
        flat.local_bytes, lowered.frame_bytes, lowered.suspends, options.instruments,
        orders_memory(flat.body), orders_cluster(flat.body), waits, _cluster_of(flat),
        flat.stack_bytes, lowered.whole, lowered.gangs, better,
    )  # fmt: skip


def _code(ir: str, options: Options) -> tuple[bytes, bytes]:
    """Object code, and bitcode of what may become better code."""
    fast, lines = options.fast, ir.count("\n")
    if options.processor is not None:
        return to_object(ir, processor=options.processor), b""
    replaceable = fast is None and not options.patient and lines <= KEPT_ABOVE
    if replaceable and (options.hasty or good_seconds(ir) > QUICK_ABOVE_SECONDS):
        return to_quick_object(ir)
    return to_object(ir, lines > KEPT_ABOVE if fast is None else fast), b""


def good_seconds(ir: str) -> float:
    """About how long LLVM takes to make good code of it, fitted to the kernels of tests and benchmarks (AVX-512)."""
    eight_bytes = ir.count("x double>") + ir.count("x i64>")
    return 27e-6 * ir.count("\n") + 22e-6 * ir.count("<64 x ") + 53e-6 * eight_bytes


def _cluster_of(flat: FlatKernel) -> Dim3 | None:
    """The shape of clusters that the kernel is compiled for."""
    extents = flat.entry.directives.get("reqnctapercluster")
    if not extents:
        return None
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def _module_key(module: Module) -> str:
    """Entries of one module share its variables."""
    digest = hashlib.sha256()
    for variable in module.variables.values():
        digest.update(repr((variable.name, variable.size, variable.initial)).encode())
    return digest.hexdigest()[:16]
