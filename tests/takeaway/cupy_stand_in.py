"""A module in cupy's place that keeps arrays in NumPy and notes launches, for machines without a GPU."""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Call:
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    shared: int


@dataclass
class Noted:
    modules: list[dict[str, Any]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    shared: dict[str, int] = field(default_factory=dict)


class _Kernel:
    def __init__(self, name: str, noted: Noted) -> None:
        self._name, self._noted = name, noted

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "max_dynamic_shared_size_bytes":
            self._noted.shared[self._name] = value
        else:
            object.__setattr__(self, name, value)

    def __call__(self, grid: Any, block: Any, args: tuple[Any, ...], *, shared_mem: int = 0) -> None:
        for item in args:
            # What CuPy takes: None, its arrays, NumPy's scalars, and NumPy's arrays of one element, by value.
            assert item is None or isinstance(item, np.generic | Array) or item.size == 1
        self._noted.calls.append(Call(self._name, grid, block, args, shared_mem))


class Array:
    def __init__(self, values: Any) -> None:
        self.values = values

    def fill(self, value: Any) -> None:
        assert value.dtype == self.values.dtype
        self.values.fill(value)


def stand_in() -> tuple[types.ModuleType, Noted]:
    noted = Noted()
    cupy: Any = types.ModuleType("cupy")

    def raw_module(**options: Any) -> Any:
        noted.modules.append(options)
        return types.SimpleNamespace(get_function=lambda name: _Kernel(name, noted))

    class Event:
        def record(self) -> None:
            pass

        def synchronize(self) -> None:
            pass

    cupy.RawModule = raw_module
    cupy.asarray = lambda values: Array(np.array(values))
    cupy.empty = lambda shape, dtype: Array(np.empty(shape, dtype))
    cupy.asnumpy = lambda array: array.values.copy()
    device = types.SimpleNamespace(synchronize=lambda: None)
    cupy.cuda = types.SimpleNamespace(Device=lambda: device, Event=Event, get_elapsed_time=lambda start, stop: 0.5)
    return cupy, noted
