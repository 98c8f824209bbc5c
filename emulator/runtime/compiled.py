"""A compiled entry: object code and everything a launch and its reports need, as bytes that can be cached."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from typing import Any

from emulator.lowering.sites import Site
from emulator.syntax.nodes import SourceLocation

_FORMAT = 7
_MAGIC = b"PTXO"
Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ModuleVariable:
    """A variable that the kernel refers to; `addresses` are (offset, size, symbol, addend) to be filled in."""

    name: str
    space: str
    size: int
    alignment: int
    initial: bytes
    addresses: tuple[tuple[int, int, str, int], ...]


@dataclass(frozen=True, slots=True)
class EntryParameter:
    name: str
    size: int
    offset: int


@dataclass(frozen=True, slots=True)
class CompiledEntry:
    """`block` is the block shape that the code was made for; it runs with no other."""

    name: str
    block: Dim3
    host: str  # of which host the object code is, see `jit.host_key`
    code: bytes
    parameters: tuple[EntryParameter, ...]
    sites: tuple[Site, ...]
    variables: tuple[ModuleVariable, ...]
    code_addresses: dict[str, int]
    module_key: str
    shared_bytes: int
    dynamic_offset: int | None  # where dynamic shared memory starts; None where the kernel has none
    local_bytes: int
    frame_bytes: int
    suspends: bool
    instruments: tuple[str, ...] = ()
    orders_memory: bool = False  # by fences or ordered accesses
    orders_cluster: bool = False  # the same, or by mbarriers, which other blocks of the cluster may use
    waits_for_blocks: bool = False  # so that many have to be resident at once
    cluster: Dim3 | None = None  # blocks of a cluster, where the kernel names them
    stack_bytes: int = 0  # of the local memory, at its end: the stack
    whole: bool = False  # the code runs all gangs of a block in one call
    gangs: int = 0  # of a block, each with a frame
    better: bytes = b""  # bitcode, where `code` is quick code that `runtime.tiers` may replace

    def to_bytes(self) -> bytes:
        """A self-contained encoding."""
        fields: dict[str, Any] = {
            "format": _FORMAT, "name": self.name, "block": self.block, "host": self.host,
            "parameters": [asdict(p) for p in self.parameters],
            "sites": [asdict(s) for s in self.sites],
            "variables": [
                {**asdict(v), "initial": base64.b64encode(v.initial).decode()} for v in self.variables
            ],
            "code_addresses": self.code_addresses, "module_key": self.module_key, "shared_bytes": self.shared_bytes,
            "dynamic_offset": self.dynamic_offset, "local_bytes": self.local_bytes, "frame_bytes": self.frame_bytes,
            "suspends": self.suspends, "instruments": self.instruments,
            "orders_memory": self.orders_memory, "orders_cluster": self.orders_cluster,
            "waits_for_blocks": self.waits_for_blocks, "cluster": self.cluster,
            "stack_bytes": self.stack_bytes, "whole": self.whole, "gangs": self.gangs,
            "code": len(self.code),
        }  # fmt: skip
        head = json.dumps(fields, separators=(",", ":")).encode()
        return _MAGIC + len(head).to_bytes(8, "little") + head + self.code + self.better

    @classmethod
    def from_bytes(cls, data: bytes) -> CompiledEntry:
        """Raises ValueError where the bytes are not of this format."""
        if data[:4] != _MAGIC:
            raise ValueError("not a compiled entry")
        start = 12 + int.from_bytes(data[4:12], "little")
        fields = json.loads(data[12:start])
        if fields["format"] != _FORMAT:
            raise ValueError(f"compiled entry of format {fields['format']}, expected {_FORMAT}")
        x, y, z = fields["block"]
        end = start + fields["code"]
        return cls(
            fields["name"], (x, y, z), fields["host"], data[start:end],
            tuple(EntryParameter(**p) for p in fields["parameters"]),
            tuple(Site(**{**s, "source": _location(s["source"])}) for s in fields["sites"]),
            tuple(
                ModuleVariable(
                    v["name"], v["space"], v["size"], v["alignment"], base64.b64decode(v["initial"]),
                    tuple((int(a), int(b), str(c), int(d)) for a, b, c, d in v["addresses"]),
                )
                for v in fields["variables"]
            ),
            fields["code_addresses"], fields["module_key"], fields["shared_bytes"], fields["dynamic_offset"],
            fields["local_bytes"], fields["frame_bytes"], fields["suspends"], tuple(fields["instruments"]),
            fields["orders_memory"], fields["orders_cluster"], fields["waits_for_blocks"],
            _dim3(fields["cluster"]), fields["stack_bytes"], fields["whole"], fields["gangs"], data[end:],
        )  # fmt: skip


def _dim3(value: list[int] | None) -> Dim3 | None:
    return None if value is None else (value[0], value[1], value[2])


def _location(value: dict[str, Any] | None) -> SourceLocation | None:
    if value is None:
        return None
    return SourceLocation(value["file"], value["line"], value["column"], _location(value["inlined_at"]))
