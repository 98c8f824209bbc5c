"""Finds the functions that may call themselves."""

from __future__ import annotations

from emulator.syntax.nodes import Instruction, Module, SymbolOperand


def calls_of(module: Module, name: str) -> set[str]:
    """The defined functions that a function may call; through a pointer, any whose address is taken."""
    found: set[str] = set()
    function = module.functions[name]
    for item in function.body or ():
        if isinstance(item, Instruction) and item.call is not None:
            callee = item.call.callee
            found |= {callee} if callee not in function.registers else set(addressed_functions(module))
    return found & module.functions.keys()


def addressed_functions(module: Module) -> list[str]:
    """The functions whose address the module takes, in order of appearance."""
    names: dict[str, None] = {}
    for variable in module.variables.values():
        for _, _, symbol, _ in variable.addresses:
            if symbol in module.functions:
                names[symbol] = None
    for function in module.functions.values():
        for item in function.body or ():
            if isinstance(item, Instruction) and item.opcode in ("mov", "cvta"):
                for operand in item.operands:
                    if isinstance(operand, SymbolOperand) and operand.name in module.functions:
                        names[operand.name] = None
    return list(names)


def recursive_functions(module: Module, entry: str) -> set[str]:
    """The functions, reachable from the entry, that can reach themselves."""
    graph: dict[str, set[str]] = {}
    queue = [entry]
    while queue:
        name = queue.pop()
        if name not in graph:
            graph[name] = calls_of(module, name)
            queue += graph[name]
    found: set[str] = set()
    for start in graph:
        seen: set[str] = set()
        stack = list(graph[start])
        while stack:
            name = stack.pop()
            if name not in seen:
                seen.add(name)
                stack += graph[name]
        if start in seen:
            found.add(start)
    return found
