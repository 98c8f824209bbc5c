"""Recursive functions: one body each, with a stack in every thread's local memory.

A call saves at the stack pointer (see `alloca`) what is live after it, the number of the return site last, and jumps;
the callee's local variables lie at its register %base; a return reads the number below %base and continues at that
site. So lanes at different depths of one function run the same code together, each on its own stack.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from emulator.analysis.alloca import STACK
from emulator.analysis.cfg import build_graph
from emulator.analysis.flat import FlatKernel, align
from emulator.analysis.liveness import Liveness, analyse_liveness
from emulator.analysis.operands import definitions, uses
from emulator.syntax.nodes import (
    TYPE_SIZES,
    AddressOperand,
    BranchTable,
    Call,
    Function,
    ImmediateOperand,
    Instruction,
    Label,
    Module,
    Operand,
    Problem,
    RegisterOperand,
    SourceLocation,
    SymbolOperand,
)

_MARK = "$stacked"  # the opcode modifier of a call that still has to be expanded
_STORED = {1: "b8", 2: "b16", 4: "b32", 8: "b64"}


@dataclass(frozen=True, slots=True)
class _Site:
    """A call of a recursive function."""

    function: Function
    arguments: tuple[Operand, ...]
    results: tuple[str, ...]


class StackedFunctions:
    def __init__(self, module: Module, flat: FlatKernel, recursive: set[str]) -> None:
        self.module = module
        self.flat = flat
        self.recursive = recursive
        self.sites: dict[str, _Site] = {}
        self.returns: dict[str, list[str]] = {}  # function → labels behind its calls
        self._wanted: list[Function] = []
        self._closed: list[Label | Instruction] = []

    # While a body is being made.

    def formals_of(self, function: Function) -> dict[str, str]:
        found: dict[str, str] = {}
        for parameter in (*function.parameters, *function.results):
            register = f"%{parameter.name}#stacked"
            self.flat.registers[register] = _STORED[parameter.size]
            found[parameter.name] = register
        return found

    def base_of(self, function: Function) -> str:
        register = f"%base#{function.name}"
        self.flat.registers[register] = "b64"
        return register

    def next_function(self) -> Function | None:
        return self._wanted.pop() if self._wanted else None

    def call(
        self, item: Instruction, function: Function, arguments: tuple[Operand, ...], results: tuple[str, ...]
    ) -> Problem | None:
        """Leaves a mark in the body, which is expanded once the body's liveness is known."""
        if any(p.size not in _STORED or p.is_register for p in (*function.parameters, *function.results)):
            return Problem(
                f"the recursive function '{function.name}' passes a structure by value, which is not supported",
                item.line, item.location, item.form,
            )  # fmt: skip
        self.flat.has_recursion = True
        if function.name not in self.returns:
            self.returns[function.name] = []
            self._wanted.append(function)
        key = f"{_MARK}{len(self.sites)}"
        self.sites[key] = _Site(function, arguments, results)
        self.flat.body.append(replace(item, modifiers=(_MARK,), call=Call((), key, ()), guard=None))
        return None

    def close_body(self, function: Function | None, local_bytes: int) -> None:
        """Expands the marks of the body made last, and sets it aside; `function` is None for the entry."""
        body = self.flat.body
        live = {} if function is None else self._live_after_calls(body, function)
        done: list[Label | Instruction] = []
        if function is not None:
            done += self._prologue(function, local_bytes)
        for item in body:
            if isinstance(item, Instruction) and item.call is not None and item.call.callee in self.sites:
                done += self._expanded(item, live.get(item.call.callee, []))
            elif isinstance(item, Instruction) and item.opcode == "ret" and function is not None:
                done += self._epilogue(item, function)
            else:
                done.append(item)
        if function is not None:
            end = Instruction("ret", (), (), function.line)
            done += self._epilogue(end, function)
        else:
            done.append(Instruction("ret", (), (), self.flat.entry.line))
        self._closed += done
        self.flat.body = []

    def finish(self) -> None:
        """Puts all bodies together, the entry's first."""
        flat = self.flat
        flat.body = self._closed
        if not flat.has_recursion:
            return
        flat.registers[STACK] = "b64"
        for name, labels in self.returns.items():
            flat.tables[f"$returns {name}"] = BranchTable(f"$returns {name}", tuple(labels))

    # The pieces of code.

    def _live_after_calls(self, body: list[Label | Instruction], function: Function) -> dict[str, list[str]]:
        """For each marked call the registers that are live behind it."""
        formals = self.formals_of(function)
        read_by_return = (
            RegisterOperand(self.base_of(function)), *(RegisterOperand(formals[p.name]) for p in function.results)
        )  # fmt: skip
        returning = [
            replace(item, operands=read_by_return) if isinstance(item, Instruction) and item.opcode == "ret" else item
            for item in (*body, Instruction("ret", (), (), function.line))
        ]
        graph, _ = build_graph(replace(self.flat, body=returning))
        liveness: Liveness = analyse_liveness(graph, self.flat.registers)
        found: dict[str, list[str]] = {}
        for block in graph.order:
            node = graph.blocks[block]
            live = set(liveness.live_out[block])
            if node.terminator is not None:
                live |= {n for n in uses(node.terminator) if n in self.flat.registers}
            for instruction in reversed(node.instructions):
                if instruction.call is not None and instruction.call.callee in self.sites:
                    found[instruction.call.callee] = sorted(live)
                live -= set(definitions(instruction))
                live |= {n for n in uses(instruction) if n in self.flat.registers}
        return found

    def _expanded(self, item: Instruction, live: list[str]) -> list[Label | Instruction]:
        assert item.call is not None
        site = self.sites[item.call.callee]
        labels = self.returns[site.function.name]
        here = f"$return {site.function.name} {len(labels)}"
        number = len(labels)
        labels.append(here)
        line, location = item.line, item.location
        saved = [name for name in live if name not in self._clobbered_results(site)]
        places: dict[str, int] = {}
        offset = 0
        for name in sorted(saved, key=lambda n: -_bytes(self.flat.registers[n])):
            places[name] = offset
            offset += _bytes(self.flat.registers[name])
        size = align(offset + 4, 16)
        code: list[Label | Instruction] = [
            self._access("st", name, STACK, place, line, location) for name, place in places.items()
        ]
        formals = self.formals_of(site.function)
        for parameter, actual in zip(site.function.parameters, site.arguments, strict=True):
            type = _STORED[parameter.size]
            target = RegisterOperand(formals[parameter.name])
            if isinstance(actual, SymbolOperand):
                piece = AddressOperand(actual.name)
                code.append(Instruction("ld", ("param", type), (target, piece), line, None, location))
            else:
                code.append(Instruction("copy", (type,), (target, actual), line, None, location))
        top = AddressOperand(STACK, size - 4)
        code += [
            Instruction("st", ("local", "u32"), (top, ImmediateOperand(number)), line, None, location),
            _add(STACK, STACK, size, line, location),
            Instruction("bra", (), (SymbolOperand(f"$entry {site.function.name}"),), line, None, location),
            Label(here, line),
            _add(STACK, STACK, -size, line, location),
        ]
        code += [self._access("ld", name, STACK, place, line, location) for name, place in places.items()]
        for parameter, result in zip(site.function.results, site.results, strict=True):
            type = _STORED[parameter.size]
            source = RegisterOperand(formals[parameter.name])
            if result[0] == "%":
                code.append(Instruction("copy", (type,), (RegisterOperand(result), source), line, None, location))
            else:
                code.append(Instruction("st", ("param", type), (AddressOperand(result), source), line, None, location))
        return code

    def _clobbered_results(self, site: _Site) -> set[str]:
        """What the call itself sets: the results of the callee must not be restored."""
        formals = self.formals_of(site.function)
        return {formals[parameter.name] for parameter in site.function.results} | {STACK}

    def _access(
        self, opcode: str, name: str, base: str, offset: int, line: int, location: SourceLocation | None
    ) -> Instruction:
        type_name = self.flat.registers[name]
        register, address = RegisterOperand(name), AddressOperand(base, offset)
        type_name = "u32" if type_name == "pred" else type_name
        operands = (address, register) if opcode == "st" else (register, address)
        return Instruction(opcode, ("local", type_name), operands, line, None, location)

    def _prologue(self, function: Function, local_bytes: int) -> list[Label | Instruction]:
        line = function.line
        code: list[Label | Instruction] = [
            Label(f"$entry {function.name}", line),
            _move(self.base_of(function), RegisterOperand(STACK), line, None),
        ]
        if local_bytes:
            code.append(_add(STACK, STACK, local_bytes, line, None))
        return code

    def _epilogue(self, item: Instruction, function: Function) -> list[Label | Instruction]:
        line, location = item.line, item.location
        register = "%return_site#"
        self.flat.registers[register] = "b32"
        table = SymbolOperand(f"$returns {function.name}")
        base = self.base_of(function)
        code: list[Label | Instruction] = []
        skip = f"$stay {function.name} {id(item)}"
        if item.guard is not None:
            guard = replace(item.guard, negated=not item.guard.negated)
            code.append(Instruction("bra", (), (SymbolOperand(skip),), line, guard, location))
        number = AddressOperand(base, -4)
        code += [
            _move(STACK, RegisterOperand(base), line, location),
            Instruction("ld", ("local", "u32"), (RegisterOperand(register), number), line, None, location),
            Instruction("brx", ("idx",), (RegisterOperand(register), table), line, None, location),
        ]
        if item.guard is not None:
            code.append(Label(skip, line))
        return code


def _move(target: str, source: Operand, line: int, location: SourceLocation | None) -> Instruction:
    return Instruction("mov", ("u64",), (RegisterOperand(target), source), line, None, location)


def _add(target: str, source: str, amount: int, line: int, location: SourceLocation | None) -> Instruction:
    operands = (RegisterOperand(target), RegisterOperand(source), ImmediateOperand(amount))
    return Instruction("add", ("s64",), operands, line, None, location)


def _bytes(type_name: str) -> int:
    return max(TYPE_SIZES[type_name], 4)
