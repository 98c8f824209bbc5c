"""A cursor over tokens, and the pieces of grammar that declarations and bodies share."""

from __future__ import annotations

from emulator.syntax.lexer import END, SENTINELS, Tokens, is_number, number
from emulator.syntax.nodes import (
    TYPE_SIZES,
    AddressOperand,
    ImmediateOperand,
    Operand,
    PairOperand,
    Parameter,
    Prototype,
    RegisterOperand,
    SymbolOperand,
    VectorOperand,
)


class SyntaxProblem(Exception):
    """Raised and caught inside the parser only; `line` is where the text stops making sense."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Reader:
    def __init__(self, tokens: Tokens) -> None:
        self.texts = tokens.texts
        self.lines = tokens.lines
        self.at = 0
        # The cursor stops at the first token behind the text.
        self.end = len(tokens.texts) - SENTINELS

    @property
    def line(self) -> int:
        return self.lines[self.at]

    def peek(self, ahead: int = 0) -> str:
        return self.texts[self.at + ahead]

    def take(self) -> str:
        token = self.texts[self.at]
        if self.at < self.end:
            self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.texts[self.at] == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise SyntaxProblem(f"expected '{token}' before '{self.peek() or 'the end'}'", self.line)

    def problem(self, message: str) -> SyntaxProblem:
        return SyntaxProblem(message, self.line)

    def skip_statement(self) -> None:
        """To behind the next ';', or to a brace, which the caller handles."""
        while self.peek() not in (";", "{", "}", END):
            self.at += 1
        self.accept(";")

    def skip_block(self) -> None:
        """Behind the brace that closes the one at the cursor."""
        depth = 0
        while self.peek() != END:
            token = self.take()
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth <= 0:
                    return

    def integer(self) -> int:
        value, width = self._signed_number()
        if width is not None:
            raise self.problem("expected an integer constant")
        return value

    def _signed_number(self) -> tuple[int, int | None]:
        negative = False
        while self.peek() in ("-", "+"):
            negative ^= self.take() == "-"
        token = self.peek()
        if not is_number(token):
            raise self.problem(f"expected a number before '{token or 'the end'}'")
        try:
            value, width = number(token)
        except ValueError as error:
            raise self.problem(f"'{token[:40]}' is not a number: {error}") from None
        self.at += 1
        if negative:
            value = value ^ (1 << (width - 1)) if width is not None else -value
        return value, width

    def immediate(self) -> ImmediateOperand:
        negated = False
        while self.accept("~"):
            negated = not negated
        value, width = self._signed_number()
        return ImmediateOperand(~value if negated else value, width)

    def name(self) -> str:
        token = self.peek()
        if not token or not (token[0].isalpha() or token[0] in "_$%"):
            raise self.problem(f"expected a name before '{token or 'the end'}'")
        self.at += 1
        return token

    def type(self) -> str:
        token = self.peek()
        if token[:1] != "." or token[1:] not in TYPE_SIZES:
            raise self.problem(f"expected a type before '{token or 'the end'}'")
        self.at += 1
        return token[1:]

    def offset(self) -> int:
        return self.integer() if self.peek() in ("+", "-") else 0

    def operand(self) -> Operand:
        """One operand, names unresolved: a register without declaration comes back as a symbol."""
        first = self._single_operand()
        if self.accept("|"):
            return PairOperand(first, self._single_operand())
        return first

    def _single_operand(self) -> Operand:
        token = self.peek()
        if token == "[":
            return self._address()
        if token == "{":
            self.at += 1
            elements: list[Operand] = []
            while not self.accept("}"):
                elements.append(self._single_operand())
                if not self.accept(",") and self.peek() != "}":
                    raise self.problem(f"expected ',' or '}}' before '{self.peek() or 'the end'}'")
            return VectorOperand(tuple(elements))
        if token == "!":
            self.at += 1
            return RegisterOperand(self.name(), negated=True)
        if token in ("-", "+", "~") or is_number(token):
            return self.immediate()
        if token == "(":
            self.at += 1
            inner = self._single_operand()
            self.expect(")")
            return inner
        name = self.name()
        if name[0] == "%":
            return RegisterOperand(name)
        return SymbolOperand(name, self.offset())

    def _address(self) -> Operand:
        self.expect("[")
        if self.peek() in ("-", "+") or is_number(self.peek()):
            result: Operand = AddressOperand(None, self.integer())
        else:
            result = AddressOperand(self.name(), self.offset())
        if self.accept(","):
            rest = [result]
            while self.peek() not in ("]", END):
                rest.append(self._single_operand())
                if not self.accept(","):
                    break
            result = VectorOperand(tuple(rest))
        self.expect("]")
        return result

    def parameters(self) -> tuple[Parameter, ...]:
        """`( .param .align 8 .b8 name[16], … )` with C's layout of offsets."""
        self.expect("(")
        found: list[Parameter] = []
        offset = 0
        while not self.accept(")"):
            parameter = self._parameter(offset)
            offset = parameter.offset + parameter.size
            found.append(parameter)
            if not self.accept(",") and self.peek() != ")":
                raise self.problem(f"expected ',' or ')' before '{self.peek() or 'the end'}'")
        return tuple(found)

    def _parameter(self, offset: int) -> Parameter:
        space = self.peek()
        if space not in (".param", ".reg"):
            raise self.problem(f"expected '.param' before '{space or 'the end'}'")
        self.at += 1
        alignment, type_name = 0, ""
        pointee: str | None = None
        while self.peek()[:1] == ".":
            token = self.take()
            if token == ".align":
                value = self.integer()
                alignment = value if not alignment and not type_name else alignment
            elif token[1:] in TYPE_SIZES:
                type_name = token[1:]
            elif token == ".ptr":
                # What follows describes the pointee, not the parameter.
                pointee = ""
                while self.peek()[:1] == ".":
                    part = self.take()
                    if part == ".align":
                        self.integer()
                    else:
                        pointee = part[1:]
        if not type_name:
            raise self.problem("a parameter without a type")
        name = self.name()
        count = 1
        if self.accept("["):
            count = 0 if self.peek() == "]" else self.integer()
            self.expect("]")
        size = TYPE_SIZES[type_name] * count
        alignment = alignment or max(TYPE_SIZES[type_name], 1)
        if size < 0 or size > 1 << 20 or alignment <= 0 or alignment & (alignment - 1):
            raise self.problem("a parameter's size or alignment is out of range")
        start = (offset + alignment - 1) // alignment * alignment
        return Parameter(name, type_name, alignment, size, start, space == ".reg", pointee)

    def prototype(self, name: str) -> Prototype:
        """Behind `.callprototype`: `(results) _ (parameters) .noreturn …`."""
        results: tuple[Parameter, ...] = ()
        if self.peek() == "(":
            results = self.parameters()
        self.name()
        parameters = self.parameters() if self.peek() == "(" else ()
        while self.peek() not in (";", END):
            self.at += 1
        self.accept(";")
        return Prototype(name, results, parameters)
