"""LLVM through llvmlite: one set of process-wide options, IR to object bytes, and linking of objects.

`prewarm()` does everything that may be needed before the process confines itself.
"""

from __future__ import annotations

import itertools
from functools import cache

import llvmlite.binding as llvm

from emulator.instruments import INSTRUMENTS
from emulator.runtime.support import SYMBOLS, support_ir

# Sinking computations behind the accesses whose results they use, or into the arms of accesses, keeps all those
# results alive at once: tiled kernels would spend their time spilling.
# Reducing strength in loops takes LLVM long and makes naive products a tenth slower; no code compares memory.
_OPTIONS = (
    *("-disable-machine-sink", "-instcombine-code-sinking=false"),
    *("-disable-lsr", "-disable-mergeicmps"),
)
_names = itertools.count()
LEVELS = {
    "x86-64-v2": ("sse4.2", "popcnt"),
    "x86-64-v3": ("avx2", "fma", "bmi2"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
"""Processors that code can be made for besides this one, by LLVM's names, and some of what they have."""


class _Native:
    """Set up once a process."""

    def __init__(self) -> None:
        for option in _OPTIONS:
            llvm.set_option("emulator", option)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.initialize_native_asmparser()
        self.triple = llvm.get_process_triple()
        self.cpu = llvm.get_host_cpu_name()
        found = llvm.get_host_cpu_features()
        self.features = found.flatten()
        self.levels = tuple(level for level, needs in LEVELS.items() if all(found.get(name) for name in needs))
        self.machine = self.create_machine(2)
        self.fast_machine = self.create_machine(0)
        self.jit = llvm.create_lljit_compiler(self.create_machine(2), use_jit_link=True)

    def create_machine(self, level: int, processor: str | None = None) -> llvm.TargetMachine:
        target = llvm.Target.from_triple(self.triple)
        cpu, features = (processor, "") if processor else (self.cpu, self.features)
        return target.create_target_machine(
            cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small", jit=True
        )


@cache
def native() -> _Native:
    return _Native()


def host_key(processor: str | None = None) -> str:
    """What object code depends on beside its source: this processor, or one of `LEVELS`."""
    made_for = processor or f"{native().cpu}:{native().features}"
    return f"{made_for}:{llvm.llvm_version_info}"


def runs_here(key: str) -> bool:
    """Whether code with this key may run on this processor."""
    return key in {host_key(), *map(host_key, native().levels)}


def to_object(ir: str, fast: bool = False, processor: str | None = None) -> bytes:
    """Compiles IR to an object file. `fast` takes a quarter of the time; its code is up to six times as slow.

    `processor` is one of `LEVELS`; None is this one.
    """
    module = llvm.parse_assembly(ir)
    if fast:
        return _quick_object(module)
    return _good_object(module, native().create_machine(2, processor) if processor else None)


def to_quick_object(ir: str) -> tuple[bytes, bytes]:
    """The object file of `fast`, and the bitcode that `improved` makes the good one of."""
    module = llvm.parse_assembly(ir)
    bitcode = bytes(module.as_bitcode())
    return _quick_object(module), bitcode


def improved(bitcode: bytes) -> bytes:
    """The good object file of what `to_quick_object` returned. Other threads run Python meanwhile, but no LLVM."""
    return _good_object(llvm.parse_bitcode(bitcode))


def _quick_object(module: llvm.ModuleRef) -> bytes:
    # No pass: what SROA alone makes of hundreds of branches takes longer than all of the code generator.
    machine = native().fast_machine
    module.triple, module.data_layout = native().triple, str(machine.target_data)
    return bytes(machine.emit_object(module))


def _good_object(module: llvm.ModuleRef, machine: llvm.TargetMachine | None = None) -> bytes:
    machine = machine or native().machine
    module.triple, module.data_layout = native().triple, str(machine.target_data)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)
    passes.run(module, llvm.create_pass_builder(machine, tuning))
    return bytes(machine.emit_object(module))


class Linked:
    """Object code in memory; it stays there as long as this object lives."""

    def __init__(self, tracker: llvm.ResourceTracker, exports: tuple[str, ...]) -> None:
        self._tracker = tracker
        self.addresses = {name: tracker[name] for name in exports}


def link(code: bytes, exports: tuple[str, ...], imports: dict[str, int]) -> Linked:
    builder = llvm.JITLibraryBuilder()
    builder.add_object_img(code)
    for name, address in imports.items():
        builder.import_symbol(name, address)
    # Vector functions that the code generator may call (fmodf, memset) come from the C library.
    builder.add_current_process()
    for name in exports:
        builder.export_symbol(name)
    return Linked(builder.link(native().jit, f"kernel{next(_names)}"), exports)


@cache
def instrument_support(name: str) -> Linked:
    """An instrument's own library, which may use the support library's symbols."""
    instrument = INSTRUMENTS[name]
    return link(to_object(instrument.support), tuple(instrument.symbols), support().addresses)


@cache
def support() -> Linked:
    return link(to_object(support_ir()), SYMBOLS, {})
