"""Finds the functions that may call themselves."""

from __future__ import annotations

from emulator.syntax.nodes import Instruction, Module


def calls_of(module: Module, name: str) -> set[str]:
    """The defined functions that a function calls by name."""
    function = module.functions[name]
    return {
        item.call.callee
        for item in function.body or ()
        if isinstance(item, Instruction) and item.call is not None and item.call.callee in module.functions
    }


def recursive_functions(module: Module, entry: str) -> set[str]:
    """The functions, reachable from the entry by direct calls, that can reach themselves."""
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
