"""PTX text to a Module: never raises on any text, returns what it could read and the problems."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from emulator.syntax.body import BodyParser
from emulator.syntax.declarations import parse_variables
from emulator.syntax.lexer import END, is_number, tokenize
from emulator.syntax.nodes import Function, Module, Parameter, Problem, SourceLocation, Variable
from emulator.syntax.passing import without_bodies
from emulator.syntax.reader import Reader, SyntaxProblem

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d{1,9})[ \t]+"((?:[^"\\\n]|\\.)*)"', re.MULTILINE)
_LINKING = (".visible", ".extern", ".weak", ".common")
_SPACES = (".global", ".const", ".shared", ".local", ".tex")


def parse(
    text: str, own_file: str | None = None, entries: Collection[str] | None = None
) -> tuple[Module, list[Problem]]:
    """The module of a PTX text of any dialect, and every problem met, in order of lines.

    `own_file`: the text is the user's own source and has this name, so that every location is a line of it; its
    .loc directives tell of a file that nobody has. `entries`: bodies of other entries are passed over.
    """
    problems: list[Problem] = []
    if entries is not None:
        text = without_bodies(text, entries)
    # Files are named at the end of the text, but locations refer to them from the start.
    files = {int(number): name for number, name in _FILE.findall(text)}
    module = _ModuleParser(Reader(tokenize(text)), files, problems, own_file).parse()
    if own_file is not None:
        problems = [replace(item, source=SourceLocation(own_file, item.ptx_line)) for item in problems]
    return module, problems


class _ModuleParser:
    def __init__(self, reader: Reader, files: dict[int, str], problems: list[Problem], own_file: str | None) -> None:
        self.reader = reader
        self.files = files
        self.problems = problems
        self.own_file = own_file
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.version = self.target = ""
        self.address_size = 64

    def parse(self) -> Module:
        reader = self.reader
        while reader.peek() != END:
            start = reader.at
            try:
                self._declaration()
            except SyntaxProblem as problem:
                self.problems.append(Problem(problem.message, problem.line))
                reader.skip_statement()
                if reader.peek() == "{":
                    reader.skip_block()
                elif reader.at == start:
                    reader.take()
        if not self.version:
            self.problems.append(Problem("the text has no .version directive: is it PTX?", 1))
        return Module(self.version, self.target, self.address_size, self.functions, self.variables, self.files)

    def _declaration(self) -> None:
        reader = self.reader
        extern = False
        while reader.peek() in _LINKING:
            extern |= reader.take() == ".extern"
        token = reader.peek()
        if token == ".version":
            reader.take()
            self.version = reader.take()
        elif token == ".target":
            reader.take()
            self.target = reader.take()
            while reader.accept(","):
                reader.take()
        elif token == ".address_size":
            reader.take()
            self.address_size = reader.integer()
        elif token in (".entry", ".func"):
            self._function()
        elif token.split("[")[0] in _SPACES:
            for variable in parse_variables(reader, extern):
                known = self.variables.get(variable.name)
                if known is None or (known.initial is None and known.size <= variable.size):
                    self.variables[variable.name] = variable
        elif token == ".section":
            while reader.peek() not in ("{", ";", END):
                reader.take()
            reader.skip_block()
        elif token == ".file":
            line = reader.line
            while reader.line == line and reader.peek() != END:
                reader.take()
        elif token in (".pragma", ".alias", ".metadata"):
            reader.skip_statement()
        elif token == ";":
            reader.take()
        else:
            raise reader.problem(f"expected a declaration before '{token or 'the end'}'")

    def _function(self) -> None:
        reader = self.reader
        line = reader.line
        is_entry = reader.take() == ".entry"
        if reader.peek() == ".attribute":
            reader.take()
            while reader.take() not in (")", END):
                pass
        results: tuple[Parameter, ...] = reader.parameters() if reader.peek() == "(" else ()
        name = reader.name()
        parameters: tuple[Parameter, ...] = reader.parameters() if reader.peek() == "(" else ()
        directives: dict[str, tuple[int, ...]] = {}
        while reader.peek() not in ("{", ";", END):
            directive = reader.take()
            values: list[int] = []
            while is_number(reader.peek()):
                values.append(reader.integer())
                reader.accept(",")
            directives[directive.lstrip(".")] = tuple(values)
        if reader.accept(";"):
            if name not in self.functions:
                self.functions[name] = Function(name, is_entry, results, parameters, line=line)
            return
        reader.expect("{")
        body = BodyParser(reader, self.files, self.problems, self.own_file)
        body.declare_parameters([(p.name, p.type) for p in (*results, *parameters) if p.is_register])
        body.parse()
        known = self.functions.get(name)
        if known is not None and known.body is not None:
            self.problems.append(Problem(f"'{name}' is defined twice", line))
            return
        self.functions[name] = Function(
            name, is_entry, results, parameters, body.registers, tuple(body.variables), tuple(body.items),
            body.tables, body.prototypes, directives, line,
        )  # fmt: skip
