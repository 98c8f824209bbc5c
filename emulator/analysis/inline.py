"""Makes one flat body of an entry: callees inlined, indirect calls turned into chains of comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from emulator.analysis.alloca import moves_stack, place_stack
from emulator.analysis.flat import CODE_TAG, HOST_FUNCTIONS, FlatKernel, align
from emulator.analysis.parameters import names_param_space, settle_parameters
from emulator.analysis.recursion import addressed_functions, recursive_functions
from emulator.analysis.stack import StackedFunctions
from emulator.syntax.nodes import (
    AddressOperand,
    BranchTable,
    Function,
    Guard,
    ImmediateOperand,
    Instruction,
    Label,
    Module,
    Operand,
    PairOperand,
    Problem,
    RegisterOperand,
    SymbolOperand,
    Variable,
    VectorOperand,
)

_MOST_INSTRUCTIONS = 400_000


class FlattenProblem(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(slots=True)
class _Instance:
    """One copy of a function: how its names read in the flat body."""

    function: Function
    names: dict[str, str]
    suffix: str
    local_base: int
    end: str | None  # where `ret` goes; None: it stays a `ret`
    formals: dict[str, str] = field(default_factory=dict)  # parameters that are registers of a stacked function
    base: str | None = None  # the register with the activation's local memory, of a stacked function


def flatten(module: Module, entry_name: str) -> FlatKernel:
    """The flat body of an entry. Raises FlattenProblem with what cannot be called."""
    entry = module.functions.get(entry_name)
    if entry is None or not entry.is_entry or entry.body is None:
        raise FlattenProblem(Problem(f"the module has no entry '{entry_name}'", 1))
    return _Flattener(module, entry).run()


class _Flattener:
    def __init__(self, module: Module, entry: Function) -> None:
        self.module = module
        self.flat = FlatKernel(entry.name, entry, module)
        self.parameter_variables: dict[str, Variable] = {}
        self.recursive = recursive_functions(module, entry.name)
        self.instances = 0
        self.deepest = 0  # bytes of local variables of the body being made
        self.stack = StackedFunctions(module, self.flat, self.recursive)

    def run(self) -> FlatKernel:
        flat = self.flat
        for index, name in enumerate(addressed_functions(self.module)):
            flat.code_addresses[name] = CODE_TAG | (index + 1) * 16
        self._emit(self._instance(flat.entry, {}, 0, None))
        flat.local_bytes = self.deepest
        self.stack.close_body(None, 0)
        while (function := self.stack.next_function()) is not None:
            self._emit_stacked(function)
        self.stack.finish()
        self._reach_globals()
        settle_parameters(flat, self.parameter_variables)
        place_stack(flat)
        flat.local_bytes = align(flat.local_bytes, 16)
        return flat

    def _instance(self, function: Function, bindings: dict[str, str], local_base: int, end: str | None) -> _Instance:
        suffix = f"#{self.instances}" if self.instances else ""
        self.instances += 1
        names = dict(bindings)
        flat = self.flat
        for register, type_name in function.registers.items():
            # From here on every register, and nothing else, begins with a percent sign.
            unique = (register if register[0] == "%" else f"%{register}") + suffix
            names[register] = unique
            flat.registers[unique] = type_name
        base = local_base
        for variable in function.variables:
            if variable.space == "local":
                base = align(base, variable.alignment)
                names[variable.name] = variable.name + suffix
                flat.local[variable.name + suffix] = base
                base += variable.size
            elif variable.space == "param":
                names[variable.name] = variable.name + suffix
                self.parameter_variables[variable.name + suffix] = variable
            else:
                # One variable for all instances of the function, as CUDA has it.
                unique = f"{function.name}.{variable.name}"
                names[variable.name] = unique
                self._place(unique, variable)
        self.deepest = max(self.deepest, base)
        for table in function.tables.values():
            targets = tuple(target + suffix for target in table.targets)
            flat.tables[table.name + suffix] = BranchTable(table.name + suffix, targets)
            names[table.name] = table.name + suffix
        return _Instance(function, names, suffix, align(base, 16), end)

    def _emit_stacked(self, function: Function) -> None:
        """The one body of a recursive function: its variables lie on the thread's stack."""
        self.deepest = 0
        instance = self._instance(function, {}, 0, None)
        instance.base = self.stack.base_of(function)
        instance.formals = self.stack.formals_of(function)
        self._emit(instance)
        self.stack.close_body(function, align(self.deepest, 16))

    def _place(self, name: str, variable: Variable) -> None:
        flat = self.flat
        if variable.space == "shared":
            if name in flat.shared or name in flat.dynamic:
                return
            if variable.size == 0:
                flat.dynamic.add(name)
                flat.dynamic_alignment = max(flat.dynamic_alignment, variable.alignment)
            else:
                flat.shared[name] = align(flat.shared_bytes, variable.alignment)
                flat.shared_bytes = flat.shared[name] + variable.size
        elif variable.space in ("global", "const"):
            flat.globals.setdefault(name, variable)

    def _reach_globals(self) -> None:
        """Variables that initialisers refer to are needed as well."""
        queue = list(self.flat.globals.values())
        while queue:
            for _, _, symbol, _ in queue.pop().addresses:
                variable = self.module.variables.get(symbol)
                if variable is not None and symbol not in self.flat.globals:
                    self.flat.globals[symbol] = variable
                    queue.append(variable)

    def _emit(self, instance: _Instance) -> None:
        for item in instance.function.body or ():
            if isinstance(item, Label):
                self.flat.body.append(Label(item.name + instance.suffix, item.line))
            elif item.call is not None:
                self._call(item, instance)
            elif item.opcode == "ret" and instance.end is not None:
                guard = self._guard(item.guard, instance)
                self.flat.body.append(
                    replace(item, opcode="bra", modifiers=(), operands=(SymbolOperand(instance.end),), guard=guard)
                )
            else:
                self.flat.body.append(self._renamed(item, instance))
            if len(self.flat.body) > _MOST_INSTRUCTIONS:
                raise FlattenProblem(
                    Problem("the kernel is too large once its functions are inlined", instance.function.line)
                )

    def _guard(self, guard: Guard | None, instance: _Instance) -> Guard | None:
        if guard is None:
            return None
        return Guard(instance.names.get(guard.register, guard.register), guard.negated)

    def _renamed(self, item: Instruction, instance: _Instance) -> Instruction:
        for position, operand in enumerate(item.operands):
            if isinstance(operand, AddressOperand) and operand.base in instance.formals and names_param_space(item):
                return self._formal_access(item, position, instance.formals[operand.base], instance)
        if instance.base is not None:
            on_stack = self._stack_access(item, instance)
            if on_stack is not None:
                return on_stack
        if item.opcode in ("bra", "brx"):
            operands = tuple(
                SymbolOperand(instance.names.get(o.name, o.name + instance.suffix))
                if isinstance(o, SymbolOperand)
                else self._operand(o, instance)
                for o in item.operands
            )
        else:
            operands = tuple(self._operand(o, instance) for o in item.operands)
        return replace(item, operands=operands, guard=self._guard(item.guard, instance))

    def _stack_access(self, item: Instruction, instance: _Instance) -> Instruction | None:
        """The address of a local variable of a recursive function is relative to the activation's base."""
        assert instance.base is not None
        guard = self._guard(item.guard, instance)
        for position, operand in enumerate(item.operands):
            if isinstance(operand, AddressOperand | SymbolOperand):
                name = operand.base if isinstance(operand, AddressOperand) else operand.name
                offset = self.flat.local.get(instance.names.get(name or "", ""))
                if offset is None:
                    continue
                total = offset + operand.offset
                others = [self._operand(o, instance) for o in item.operands]
                if isinstance(operand, AddressOperand):
                    others[position] = AddressOperand(instance.base, total)
                    return replace(item, operands=tuple(others), guard=guard)
                if item.opcode == "mov":
                    operands = (others[0], RegisterOperand(instance.base), ImmediateOperand(total))
                    return replace(item, opcode="add", modifiers=("s64",), operands=operands, guard=guard)
        return None

    def _formal_access(self, item: Instruction, position: int, register: str, instance: _Instance) -> Instruction:
        value = self._operand(item.operands[1 - position], instance)
        formal = RegisterOperand(register)
        operands = (value, formal) if position == 1 else (formal, value)
        guard = self._guard(item.guard, instance)
        return replace(item, opcode="copy", modifiers=item.types[-1:], operands=operands, guard=guard)

    def _name(self, name: str, instance: _Instance) -> str:
        found = instance.names.get(name)
        if found is not None:
            return found
        variable = self.module.variables.get(name)
        if variable is not None:
            self._place(name, variable)
        return name

    def _operand(self, operand: Operand, instance: _Instance) -> Operand:
        if isinstance(operand, RegisterOperand):
            return RegisterOperand(instance.names.get(operand.name, operand.name), operand.negated)
        if isinstance(operand, AddressOperand):
            if operand.base is None:
                return operand
            return AddressOperand(self._name(operand.base, instance), operand.offset)
        if isinstance(operand, SymbolOperand):
            return SymbolOperand(self._name(operand.name, instance), operand.offset)
        if isinstance(operand, VectorOperand):
            return VectorOperand(tuple(self._operand(element, instance) for element in operand.elements))
        if isinstance(operand, PairOperand):
            return PairOperand(self._operand(operand.first, instance), self._operand(operand.second, instance))
        return operand

    def _label(self, purpose: str) -> str:
        self.instances += 1
        return f"${purpose}#{self.instances}"

    def _call(self, item: Instruction, instance: _Instance) -> None:
        assert item.call is not None
        guard = self._guard(item.guard, instance)
        after = self._label("after_call")
        if guard is not None:
            self.flat.body.append(
                replace(item, opcode="bra", modifiers=(), operands=(SymbolOperand(after),), call=None,
                        guard=Guard(guard.register, not guard.negated))
            )  # fmt: skip
        callee = item.call.callee
        arguments = tuple(self._operand(argument, instance) for argument in item.call.arguments)
        results = tuple(instance.names.get(result, result) for result in item.call.results)
        if callee in instance.function.registers:
            self._indirect(item, instance.names[callee], arguments, results, instance)
        else:
            function = self.module.functions.get(callee)
            if callee in HOST_FUNCTIONS and (function is None or function.body is None):
                call = replace(item.call, arguments=arguments, results=results)
                self.flat.body.append(replace(item, call=call, guard=None))
            elif function is None or function.body is None:
                raise FlattenProblem(
                    Problem(f"the function '{callee}' is not defined in this module", item.line, item.location,
                            item.form, "only printf, assert, malloc and free are provided")
                )  # fmt: skip
            else:
                self._inline(item, function, arguments, results, instance)
        if guard is not None:
            self.flat.body.append(Label(after, item.line))

    def _inline(
        self, item: Instruction, function: Function, arguments: tuple[Operand, ...], results: tuple[str, ...],
        instance: _Instance,
    ) -> None:  # fmt: skip
        if len(arguments) != len(function.parameters) or len(results) != len(function.results):
            raise FlattenProblem(
                Problem(f"the call of '{function.name}' has a wrong number of arguments", item.line, item.location)
            )
        if function.name in self.recursive:
            problem = self.stack.call(item, function, arguments, results)
            if problem is not None:
                raise FlattenProblem(problem)
            return
        end = self._label("return")
        bindings: dict[str, str] = {}
        formals = zip((*function.parameters, *function.results), (*arguments, *map(_result, results)), strict=True)
        registers: list[tuple[str, Operand, bool]] = []
        for index, (formal, actual) in enumerate(formals):
            if formal.is_register:
                registers.append((formal.name, actual, index >= len(function.parameters)))
            elif isinstance(actual, SymbolOperand):
                # The callee's name for the caller's own variable: nothing is copied.
                bindings[formal.name] = actual.name
        copy = self._instance(function, bindings, instance.local_base, end)
        copy.base = instance.base
        for name, actual, is_result in registers:
            if not is_result:
                self._move(copy.names[name], actual, function.registers[name], item)
        self._emit_framed(copy, end, item)
        for name, actual, is_result in registers:
            if is_result and isinstance(actual, RegisterOperand):
                self._move(actual.name, RegisterOperand(copy.names[name]), function.registers[name], item)

    def _emit_framed(self, copy: _Instance, end: str, item: Instruction) -> None:
        """The body of a copy up to its end, where the stack is again as it was."""
        frame = RegisterOperand(f"%frame#{self.instances}")
        steps = [
            Instruction(opcode, ("u64",), (frame,), item.line, None, item.location)
            for opcode in ("stacksave", "stackrestore")
            if moves_stack(copy.function)
        ]
        if steps:
            self.flat.registers[frame.name] = "b64"
        self.flat.body += steps[:1]
        self._emit(copy)
        self.flat.body += [Label(end, item.line), *steps[1:]]

    def _move(self, target: str, source: Operand, type_name: str, item: Instruction) -> None:
        self.flat.body.append(
            Instruction("mov", (type_name,), (RegisterOperand(target), source), item.line, None, item.location)
        )

    def _indirect(
        self, item: Instruction, register: str, arguments: tuple[Operand, ...], results: tuple[str, ...],
        instance: _Instance,
    ) -> None:  # fmt: skip
        """A call through a pointer: each function of the right shape whose address is taken is tried."""
        assert item.call is not None
        table = instance.function.tables.get(item.call.prototype or "")
        prototype = instance.function.prototypes.get(item.call.prototype or "")
        done = self._label("after_indirect")
        predicate = f"%is_callee{done}"
        self.flat.registers[predicate] = "pred"
        for name, address in self.flat.code_addresses.items():
            function = self.module.functions[name]
            if function.body is None or (table is not None and name not in table.targets):
                continue
            if prototype is not None and not (
                [p.size for p in prototype.parameters] == [p.size for p in function.parameters]
                and [p.size for p in prototype.results] == [p.size for p in function.results]
            ):
                continue
            skip = self._label("next_callee")
            self.flat.body += [
                Instruction("setp", ("ne", "u64"),
                            (RegisterOperand(predicate), RegisterOperand(register), ImmediateOperand(address)),
                            item.line, None, item.location),
                Instruction("bra", (), (SymbolOperand(skip),), item.line, Guard(predicate, False), item.location),
            ]  # fmt: skip
            self._inline(item, function, arguments, results, instance)
            self.flat.body += [
                Instruction("bra", (), (SymbolOperand(done),), item.line, None, item.location),
                Label(skip, item.line),
            ]
        self.flat.body += [Instruction("trap", ("callee",), (), item.line, None, item.location), Label(done, item.line)]


def _result(name: str) -> Operand:
    return RegisterOperand(name) if name[:1] == "%" else SymbolOperand(name)
