"""The kernels of an executed source, each compiled to PTX for the types that launches or its signatures name."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from emulator.syntax import parse
from engine.languages.ptx_lines import clean_ptx
from engine.languages.ptx_parameters import read_only
from engine.translate.link import with_linked_code
from engine.translate.messages import explained
from engine.translate.module import Executed, told
from engine.translate.offline import compile_for
from engine.translate.signatures import ADDRESS, Unfit, argument_type, numba_type, ordered, parameter
from protocol.diagnostics import Diagnostic, Span
from protocol.kernel import ArgumentType, Parameter
from protocol.run import CompileRequest
from protocol.source import Options
from protocol.translation import TranslatedEntry

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")


@dataclass(slots=True)
class Kernel:
    """A function with @cuda.jit. `signatures` are those that its decorator names."""

    name: str
    dispatcher: Any
    signatures: tuple[tuple[Any, ...], ...] = ()
    names: tuple[str, ...] = ()
    states: frozenset[str] = frozenset()
    """Parameters that it hands to numba.cuda.random as states."""

    @property
    def function(self) -> Any:
        return self.dispatcher.py_func

    @property
    def line(self) -> int:
        return int(self.function.__code__.co_firstlineno)


@dataclass(slots=True)
class Compiled:
    """What has been compiled: modules of PTX with their entries, and what there is to say."""

    modules: list[str] = field(default_factory=list)
    entries: list[TranslatedEntry] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def find_kernels(done: Executed, file_name: str) -> list[Kernel]:
    """The functions of the text that can be launched, in its order."""
    kind = importlib.import_module("numba.cuda.dispatcher").CUDADispatcher
    found: dict[int, Kernel] = {}
    for name, value in done.names.items():
        if not isinstance(value, kind) or value.targetoptions.get("device"):
            continue
        if value.py_func.__code__.co_filename == file_name and id(value) not in found:
            names = tuple(inspect.signature(value.py_func).parameters)
            states = _states(done.tree, value.py_func)
            found[id(value)] = Kernel(name, value, tuple(value.signatures_asked_for), names, states)
    return sorted(found.values(), key=lambda kernel: kernel.line)


def _states(tree: ast.Module | None, function: Any) -> frozenset[str]:
    """Names that a function's text gives to xoroshiro128p_… functions first."""
    found: set[str] = set()
    for node in ast.walk(tree or ast.Module([], [])):
        if not isinstance(node, ast.FunctionDef) or node.name != function.__name__:
            continue
        # A code object begins at its first decorator.
        if function.__code__.co_firstlineno != min([node.lineno, *(item.lineno for item in node.decorator_list)]):
            continue
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Name):
                called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
                if called.startswith("xoroshiro128p_"):
                    found.add(call.args[0].id)
    return frozenset(found)


def compile_kernels(kernels: Sequence[Kernel], request: CompileRequest) -> Compiled:
    """Those that launches or signatures give types for; the others are listed with their names alone."""
    made = Compiled()
    wanted = _wanted(kernels, request, made)
    for kernel in kernels:
        refused = _unlaunchable(kernel)
        if refused is not None:
            made.diagnostics.append(refused)
            continue
        asked = wanted.get(kernel.name, [])
        for types, own in asked:
            _compile(kernel, types, own, len(asked) > 1, request, made)
        if not asked:
            blank = tuple(Parameter(name=name, type="", kind="unknown", bytes=0, offset=0) for name in kernel.names)
            made.entries.append(TranslatedEntry(display=kernel.name, parameters=blank, line=kernel.line))
    return made


_Wanted = dict[str, list[tuple[list[ArgumentType], bool]]]


def _wanted(kernels: Sequence[Kernel], request: CompileRequest, made: Compiled) -> _Wanted:
    """Kernel -> the types to compile it for, and whether they are those of its own signatures."""
    wanted: _Wanted = {}
    by_name = {kernel.name: kernel for kernel in kernels}
    for kernel in kernels:
        for signature in kernel.signatures:
            try:
                types = [argument_type(kind, name) for kind, name in zip(signature, kernel.names, strict=False)]
                if len(signature) != len(kernel.names):
                    raise Unfit(
                        f"the signature has {len(signature)} types, and {kernel.name} takes {len(kernel.names)}"
                    )
            except Unfit as error:
                made.diagnostics.append(told(str(error), Span(line=kernel.line)))
                continue
            wanted.setdefault(kernel.name, []).append((types, True))
    for index, item in enumerate(request.specialisations):
        named = by_name.get(item.entry) if item.entry.strip() else kernels[0] if len(kernels) == 1 else None
        if named is None or named.signatures:
            continue  # that no kernel is meant is told with the launch
        field_name = f"specialisations.{index}.arguments"
        try:
            types = ordered(named.names, item.arguments, named.name)
            types = [given.model_copy(update={"name": None}) for given in types]
            for given, name in zip(types, named.names, strict=True):
                numba_type(given, name, name in named.states)
        except Unfit as error:
            made.diagnostics.append(
                Diagnostic(
                    severity="error", message=str(error), code="argument-type", origin="launch", field=field_name
                )
            )
            continue
        if (types, False) not in wanted.setdefault(named.name, []):
            wanted[named.name].append((types, False))
    return wanted


def _unlaunchable(kernel: Kernel) -> Diagnostic | None:
    """What Numba would answer with an error about itself."""
    function = kernel.function
    kinds = {item.kind for item in inspect.signature(function).parameters.values()}
    if kinds - {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}:
        return told(f"{kernel.name}: a kernel has plain parameters only, no * and no **", Span(line=kernel.line))
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        return told(f"{kernel.name}: a kernel cannot yield or await", Span(line=kernel.line))
    return None


def _compile(
    kernel: Kernel, types: list[ArgumentType], own: bool, several: bool, request: CompileRequest, made: Compiled
) -> None:
    """One kernel for one list of types. `own`: they are a signature of the source, which fits any launch."""
    pairs = list(zip(types, kernel.names, strict=True))
    arguments = tuple(numba_type(item, name, not own and name in kernel.states) for item, name in pairs)
    file_name = request.source.file_name
    try:
        ptx, symbol = _ptx(kernel, arguments, request.options, request.architecture)
    except Exception as error:
        made.diagnostics += explained(error, kernel.function, file_name)
        return
    ptx = clean_ptx(ptx, file_name, ())
    taken = [item.name for item in made.entries]
    ptx, symbol = _renamed(ptx, symbol, f"{kernel.name}_{len(made.modules)}" if several else kernel.name, taken)
    module, _ = parse(ptx)
    function = module.functions.get(symbol)
    untouched = read_only(function) if function is not None else ()
    parameters, position = [], 0
    for item, name in pairs:
        const = item.kind == "array" and position + ADDRESS < len(untouched) and untouched[position + ADDRESS]
        parameters.append(parameter(name, item, const, not own and name in kernel.states))
        position += len(parameters[-1].pieces)
    made.modules.append(ptx)
    made.entries.append(
        TranslatedEntry(
            name=symbol,
            display=kernel.name,
            parameters=tuple(parameters),
            types=None if own and not several else tuple(types),
            line=kernel.line,
        )
    )


def _ptx(kernel: Kernel, arguments: tuple[Any, ...], options: Options, architecture: str) -> tuple[str, str]:
    """PTX and the entry's name in it, as numba.cuda itself compiles a kernel before it launches it."""
    compiler = importlib.import_module("numba.cuda.compiler")
    nvvm = importlib.import_module("numba.cuda.cudadrv.nvvm")
    types = importlib.import_module("numba.cuda.types")
    chosen = kernel.dispatcher.targetoptions
    capability = compile_for(architecture)
    fast = bool(chosen.get("fastmath")) or options.fast_math
    nvvm_options = {"opt": 3, "fastmath": fast} | ({} if options.fmad else {"fma": False})
    result = compiler.compile_cuda(
        kernel.function, types.void, arguments, lineinfo=True, fastmath=fast, nvvm_options=nvvm_options, cc=capability
    )
    library = result.library
    function = library.get_function(result.fndesc.llvm_func_name)
    library._entry_name = result.fndesc.llvm_func_name
    compiler.kernel_fixup(function, False)
    nvvm.set_launch_bounds(function, chosen.get("launch_bounds"))
    files = {*(chosen.get("link") or ()), *library._linking_files}
    return with_linked_code(library.get_asm_str(cc=capability), files, architecture), function.name


def _renamed(ptx: str, symbol: str, wanted: str, taken: Sequence[str]) -> tuple[str, str]:
    """The entry under the name that the user knows, where nothing else in the PTX has it."""
    plain = re.sub(r"\W", "_", wanted, flags=re.ASCII)
    names = {*_NAME.findall(ptx), *taken}
    while plain in names:
        plain += "_"
    return ptx.replace(symbol, plain), plain
