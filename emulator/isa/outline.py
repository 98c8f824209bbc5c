"""Long instructions as functions of their own, so that a kernel with dozens of them stays quick to compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from emulator.isa.builder import Value
from emulator.isa.lanes import Lanes


def outlined(
    x: Lanes, name: str, body: Callable[[Lanes, Sequence[Value]], Sequence[Value]], arguments: Sequence[Value]
) -> tuple[Value, ...]:
    """Calls `body` as a function of its own, defined once a module: kernels repeat such instructions by the dozen.

    Arguments and results are vectors; `name` stands for the body and the arguments' number and types.
    """
    types = x.functions.get(name)
    if types is None:
        types = x.functions[name] = _define(x, name, body, arguments)
    aggregate = "{ " + ", ".join(f"<{x.width} x {type}>" for type in types) + " }"
    call = x.fresh()
    x.emit(f"{call} = call {aggregate} @{name}({', '.join(str(x.splat(v)) for v in arguments)})")
    return tuple(x._put(f"extractvalue {aggregate} {call}, {index}", type, x.width) for index, type in enumerate(types))


def _define(
    x: Lanes, name: str, body: Callable[[Lanes, Sequence[Value]], Sequence[Value]], arguments: Sequence[Value]
) -> tuple[str, ...]:
    """Writes the function; the types of its results."""
    lines: list[str] = []
    numbers = count()
    inner = Lanes(x.width, lambda line: lines.append(f"  {line}"), lambda: f"%t{next(numbers)}", x.declare)
    inner.functions = x.functions
    parameters = [Value(f"%a{index}", value.type, x.width) for index, value in enumerate(arguments)]
    results = [inner.splat(value) for value in body(inner, parameters)]
    aggregate = "{ " + ", ".join(value.llvm_type for value in results) + " }"
    packed = "poison"
    for index, value in enumerate(results):
        lines.append(f"  %r{index} = insertvalue {aggregate} {packed}, {value}, {index}")
        packed = f"%r{index}"
    head = f"define internal {aggregate} @{name}({', '.join(str(p) for p in parameters)}) noinline nounwind {{"
    x.declare("\n".join([head, "entry:", *lines, f"  ret {aggregate} {packed}", "}"]))
    return tuple(value.type for value in results)


def once(x: Lanes, name: str, body: Callable[[Lanes, Value], Value], a: Value) -> Value:
    """A function of one operand: called where the operand differs by lane, in place where it is uniform."""
    if not a.lanes:
        return body(x, a)
    return outlined(x, name, lambda inner, arguments: [body(inner, arguments[0])], [a])[0]
