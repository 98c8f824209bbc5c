"""Parses a function's body into a flat list of labels and instructions."""

from __future__ import annotations

from dataclasses import replace

from emulator.syntax.declarations import parse_variables
from emulator.syntax.lexer import END
from emulator.syntax.nodes import (
    AddressOperand,
    BranchTable,
    Call,
    Guard,
    Instruction,
    Label,
    Operand,
    PairOperand,
    Problem,
    Prototype,
    RegisterOperand,
    SourceLocation,
    SymbolOperand,
    Variable,
    VectorOperand,
)
from emulator.syntax.reader import Reader, SyntaxProblem

_MOST_REGISTERS = 1 << 18  # of one body; real kernels stay below 40,000
_DEEPEST_INLINING = 64
_VARIABLE_SPACES = (".shared", ".local", ".param", ".global", ".const", ".tex")


# What inlining makes of calls; no text has it.
_MADE = ("copy",)


class BodyParser:
    """Parses from behind the opening brace to behind the closing one."""

    def __init__(
        self, reader: Reader, files: dict[int, str], problems: list[Problem], own_file: str | None = None
    ) -> None:
        self.own_file = own_file
        self.reader = reader
        self.files = files
        self.problems = problems
        self.registers: dict[str, str] = {}
        self.variables: list[Variable] = []
        self.items: list[Label | Instruction] = []
        self.tables: dict[str, BranchTable] = {}
        self.prototypes: dict[str, Prototype] = {}
        self.location: SourceLocation | None = None
        self._places: dict[tuple[int, int, int], tuple[SourceLocation, int]] = {}
        self._scopes: list[dict[str, str]] = [{}]
        self._scope_items: list[int] = [0]
        self._scope_tables: list[list[str]] = [[]]  # names of branch tables in each open scope
        self._renames = 0
        self._words: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._operands: dict[str, Operand] = {}  # of one token, as the open scopes have them

    def declare_parameters(self, names: list[tuple[str, str]]) -> None:
        """Registers that stand in the parameter list: (name, type)."""
        for name, type_name in names:
            self._declare_register(name, type_name)

    def parse(self) -> None:
        reader = self.reader
        while True:
            token = reader.peek()
            if token == END:
                self._report("the body has no closing brace", reader.line)
                return
            if token == "{":
                reader.take()
                self._operands.clear()
                self._scopes.append({})
                self._scope_items.append(len(self.items))
                self._scope_tables.append([])
            elif token == "}":
                reader.take()
                if len(self._scopes) == 1:
                    return
                self._close_scope()
            elif token == ";":
                reader.take()
            else:
                start = reader.at
                try:
                    self._statement(token)
                except SyntaxProblem as problem:
                    self._report(problem.message, problem.line)
                    reader.skip_statement()
                    if reader.at == start:
                        reader.take()

    def _report(self, message: str, line: int) -> None:
        self.problems.append(Problem(message, line, self.location))

    def _statement(self, token: str) -> None:
        reader = self.reader
        if token[0] == ".":
            self._directive(token)
        elif reader.peek(1) == ":":
            self._label()
        else:
            self._instruction()

    def _label(self) -> None:
        reader = self.reader
        line = reader.line
        name = reader.name()
        reader.expect(":")
        directive = reader.peek()
        if directive in (".branchtargets", ".calltargets"):
            reader.take()
            targets = [reader.name()]
            while reader.accept(","):
                targets.append(reader.name())
            reader.expect(";")
            self.tables[name] = BranchTable(name, tuple(targets))
            self._scope_tables[-1].append(name)
        elif directive == ".callprototype":
            reader.take()
            self.prototypes[name] = reader.prototype(name)
        else:
            self.items.append(Label(name, line))

    def _directive(self, token: str) -> None:
        reader = self.reader
        if token == ".loc":
            self._loc()
        elif token == ".reg":
            self._register_declaration()
        elif token.split("[")[0] in _VARIABLE_SPACES:
            for variable in parse_variables(reader, extern=False):
                self.variables.append(replace(variable, name=self._declare(variable.name)))
        elif token == ".section":
            while reader.peek() not in ("{", ";", END):
                reader.take()
            reader.skip_block()
        elif token in (".pragma", ".file", ".branchtargets", ".alias"):
            line = reader.line
            reader.take()
            # .file has no semicolon: it ends with its line
            while reader.peek() not in (";", "{", "}", END) and (token != ".file" or reader.line == line):
                reader.take()
            reader.accept(";")
        else:
            raise reader.problem(f"unknown directive '{token}'")

    def _loc(self) -> None:
        reader = self.reader
        reader.take()
        place = (reader.integer(), reader.integer(), reader.integer())
        outer: SourceLocation | None = None
        depth = 0
        while reader.accept(","):
            word = reader.name()
            if word == "function_name":
                reader.name()
                reader.offset()
            elif word == "inlined_at":
                at = (reader.integer(), reader.integer(), reader.integer())
                outer, depth = self._places.get(at) or (self._place(at), 1)
                if depth >= _DEEPEST_INLINING:
                    outer, depth = self._place(at), 1
            else:
                reader.integer()
        self.location = replace(self._place(place), inlined_at=outer)
        self._places[place] = (self.location, depth + 1)

    def _at(self, line: int) -> SourceLocation | None:
        """Where an instruction on a line of the PTX comes from."""
        return self.location if self.own_file is None else SourceLocation(self.own_file, line)

    def _place(self, place: tuple[int, int, int]) -> SourceLocation:
        return SourceLocation(self.files.get(place[0], f"file {place[0]}"), place[1], place[2])

    def _register_declaration(self) -> None:
        reader = self.reader
        reader.take()
        if reader.peek() in (".v2", ".v4"):
            raise reader.problem("vector registers are not supported")
        type_name = reader.type()
        while True:
            name = reader.name()
            if reader.accept("<"):
                count = reader.integer()
                reader.expect(">")
                if not 0 <= count <= _MOST_REGISTERS or len(self.registers) + count > _MOST_REGISTERS:
                    raise reader.problem("too many registers")
                for index in range(count):
                    self._declare_register(f"{name}{index}", type_name)
            else:
                self._declare_register(name, type_name)
            if not reader.accept(","):
                break
        reader.expect(";")

    def _declare(self, name: str) -> str:
        """The unique name of something that this scope declares."""
        unique = name
        if len(self._scopes) > 1:
            self._renames += 1
            unique = f"{name}@{self._renames}"
        self._scopes[-1][name] = unique
        self._operands.pop(name, None)
        return unique

    def _declare_register(self, name: str, type_name: str) -> None:
        self.registers[self._declare(name)] = type_name

    def _resolve(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return name

    def _close_scope(self) -> None:
        self._operands.clear()
        self._scopes.pop()
        start = self._scope_items.pop()
        inside = self.items[start:]
        tables = self._scope_tables.pop()
        labels = {item.name for item in inside if isinstance(item, Label) and "@" not in item.name}
        labels.update(name for name in tables if "@" not in name)
        if not labels:
            self._scope_tables[-1] += tables
            return
        # Labels are as local as registers: inline assembly may use one name in many places.
        self._renames += 1
        fresh = {name: f"{name}@{self._renames}" for name in labels}
        for name in tables:
            targets = tuple(fresh.get(target, target) for target in self.tables.pop(name).targets)
            unique = fresh.get(name, name)
            self.tables[unique] = BranchTable(unique, targets)
            self._scope_tables[-1].append(unique)
        for index, item in enumerate(inside, start):
            if isinstance(item, Label):
                self.items[index] = Label(fresh.get(item.name, item.name), item.line)
            elif item.opcode in ("bra", "brx"):
                operands = tuple(
                    SymbolOperand(fresh.get(o.name, o.name)) if isinstance(o, SymbolOperand) else o
                    for o in item.operands
                )
                self.items[index] = replace(item, operands=operands)

    def _instruction(self) -> None:
        reader = self.reader
        line = reader.line
        guard: Guard | None = None
        if reader.accept("@"):
            negated = reader.accept("!")
            guard = Guard(self._resolve(reader.name()), negated)
            line = reader.line
        word = reader.peek()
        opcode, modifiers = self._words.get(word) or self._word(word)
        reader.take()
        if opcode == "call":
            self._call(modifiers, guard, line)
            return
        operands: list[Operand] = []
        if not reader.accept(";"):
            operands.append(self._operand())
            while reader.accept(","):
                operands.append(self._operand())
            reader.expect(";")
        location = self.location if self.own_file is None else self._at(line)
        self.items.append(Instruction(opcode, modifiers, tuple(operands), line, guard, location))

    def _word(self, word: str) -> tuple[str, tuple[str, ...]]:
        """Opcode and modifiers; the cursor is still before them."""
        if not word or not word[0].isalpha():
            raise self.reader.problem(f"expected an instruction before '{word or 'the end'}'")
        opcode, *modifiers = word.split(".")
        if opcode in _MADE or word.startswith("trap."):
            self.reader.take()
            raise self.reader.problem(f"the instruction '{word}' is not supported")
        self._words[word] = opcode, tuple(modifiers)
        return self._words[word]

    def _operand(self) -> Operand:
        """The operand at the cursor; most are one token that was met before."""
        reader = self.reader
        token, following = reader.texts[reader.at : reader.at + 2]
        alone = following in (",", ";")
        if alone and token in self._operands:
            reader.at += 1
            return self._operands[token]
        operand = self._resolved(reader.operand())
        if alone:
            self._operands[token] = operand
        return operand

    def _resolved(self, operand: Operand) -> Operand:
        if isinstance(operand, RegisterOperand):
            name = self._resolve(operand.name)
            return operand if name == operand.name else RegisterOperand(name, operand.negated)
        if isinstance(operand, SymbolOperand):
            name = self._resolve(operand.name)
            if name in self.registers:
                return RegisterOperand(name)
            return operand if name == operand.name else SymbolOperand(name, operand.offset)
        if isinstance(operand, AddressOperand):
            if operand.base is None:
                return operand
            return AddressOperand(self._resolve(operand.base), operand.offset)
        if isinstance(operand, VectorOperand):
            return VectorOperand(tuple(self._resolved(element) for element in operand.elements))
        if isinstance(operand, PairOperand):
            return PairOperand(self._resolved(operand.first), self._resolved(operand.second))
        return operand

    def _call(self, modifiers: tuple[str, ...], guard: Guard | None, line: int) -> None:
        reader = self.reader
        results: list[str] = []
        if reader.accept("("):
            while not reader.accept(")"):
                results.append(self._resolve(reader.name()))
                if not reader.accept(",") and reader.peek() != ")":
                    raise reader.problem(f"expected ')' before '{reader.peek() or 'the end'}'")
            reader.expect(",")
        callee = self._resolve(reader.name())
        arguments: list[Operand] = []
        prototype: str | None = None
        if reader.accept(","):
            if reader.accept("("):
                while not reader.accept(")"):
                    arguments.append(self._resolved(reader.operand()))
                    if not reader.accept(",") and reader.peek() != ")":
                        raise reader.problem(f"expected ')' before '{reader.peek() or 'the end'}'")
                if reader.accept(","):
                    prototype = reader.name()
            else:
                prototype = reader.name()
        reader.expect(";")
        call = Call(tuple(results), callee, tuple(arguments), prototype)
        self.items.append(Instruction("call", modifiers, (), line, guard, self._at(line), call))
