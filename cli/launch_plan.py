"""From what was typed and the kernel's parameters to a RunRequest: roles, dtypes, grid and block by default."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cli.argument_syntax import Given, GivenAlias, GivenBuffer, GivenBytes, GivenNull, GivenValue
from cli.source_options import OPTION_NAMES
from cli.usage import Refused, did_you_mean, refusal
from protocol.kernel import Entry, Parameter
from protocol.launch import covered_shape
from protocol.reading import Unreadable, read
from protocol.run import CompileRequest, RunRequest

Json = dict[str, object]


@dataclass(frozen=True)
class Typed:
    """The launch as typed; None where a default is to be found."""

    arguments: Sequence[Given] = ()
    entry: str = ""
    grid: str | None = None
    block: str | None = None
    shared: int = 0
    cooperative: bool = False
    cluster: str | None = None
    uploads: dict[str, "NpyFile"] = field(default_factory=dict)


@dataclass(frozen=True)
class NpyFile:
    """An .npy file that was read: what its header says and the digest of its bytes."""

    digest: str
    dtype: str
    shape: tuple[int, ...]


def choose_entry(entries: Sequence[Entry], wanted: str) -> Entry:
    """The entry of that name, as the user calls it or as in the PTX; the only one where none is named."""
    names = [entry.display for entry in entries]
    if not entries:
        raise Refused(
            "the source holds no __global__ function that can be launched: write one, or name the\n"
            "instantiation of a template with --entry 'scale<float>'",
            code=1,
        )
    if not wanted:
        if len(entries) > 1:
            raise Refused(f"the source holds several kernels: choose one with --entry ({', '.join(names)})")
        return entries[0]
    for entry in entries:
        if wanted in (entry.name, entry.display, entry.display.split("(")[0]):
            return entry
    raise Refused(f"no kernel is called {wanted}{did_you_mean(wanted, names)} (there are: {', '.join(names)})")


def plan(compile_request: CompileRequest, entry: Entry, typed: Typed, device: str) -> RunRequest:
    """The request of one launch. Raises Refused where an argument does not belong to the kernel."""
    given = _by_parameter(entry, typed.arguments)
    roles = {parameter.name: "in" if parameter.const else "inout" for parameter in entry.parameters}
    for parameter in entry.parameters:
        argument = given[parameter.name]
        if isinstance(argument, GivenAlias) and roles[parameter.name] == "inout":
            roles[argument.buffer] = "inout"
    declared = [argument for argument in typed.arguments if isinstance(argument, GivenBuffer)]
    buffers = [_buffer(argument, roles[argument.name], typed.uploads) for argument in declared]
    target = _cover_target(buffers)
    vectors = _vectors(entry, given)
    request = {
        **compile_request.model_dump(mode="json", include={"source", "options", "architecture"}),
        "buffers": buffers,
        "steps": [
            {
                "kind": "launch",
                "entry": typed.entry,
                "config": {
                    "grid": _grid(typed.grid, target, vectors),
                    "block": extents(typed.block, "--block") if typed.block else _block(target, entry, vectors),
                    "dynamic_shared_bytes": typed.shared,
                    "cooperative": typed.cooperative,
                    "cluster": extents(typed.cluster, "--cluster") if typed.cluster else None,
                },
                "arguments": [_argument(parameter, given[parameter.name]) for parameter in entry.parameters],
            }
        ],
        "device": device,
    }
    try:
        return read(RunRequest, json.dumps(request))
    except Unreadable as error:
        raise refusal(error, typed_names(entry, typed)) from None


def typed_names(entry: Entry, typed: Typed) -> list[tuple[str, str]]:
    """Paths in the request that `plan` makes, each with what the user typed there."""
    declared = [argument.name for argument in typed.arguments if isinstance(argument, GivenBuffer)]
    return [
        *((f"buffers.{index}", f"--arg {name}") for index, name in enumerate(declared)),
        *((f"steps.0.arguments.{index}", f"--arg {item.name}") for index, item in enumerate(entry.parameters)),
        *NAMES,
    ]


NAMES = (
    ("steps.0.config.grid", "--grid"),
    ("steps.0.config.block", "--block"),
    ("steps.0.config.dynamic_shared_bytes", "--shared"),
    ("steps.0.config.cooperative", "--cooperative"),
    ("steps.0.config.cluster", "--cluster"),
    ("steps.0.entry", "--entry"),
    ("buffers", "--arg"),
    ("device", "--device"),
    *OPTION_NAMES,
)
"""Paths in the request, and what the user typed there."""


def _by_parameter(entry: Entry, arguments: Sequence[Given]) -> dict[str, Given]:
    known = {parameter.name: parameter for parameter in entry.parameters}
    given: dict[str, Given] = {}
    for argument in arguments:
        if argument.name in given:
            raise Refused(f"--arg {argument.name} is given twice")
        if argument.name not in known:
            raise Refused(
                f"--arg {argument.name}: {entry.display} has no such parameter"
                f"{did_you_mean(argument.name, known)} (it has: {', '.join(known) or 'none'})"
            )
        given[argument.name] = argument
    missing = [parameter for name, parameter in known.items() if name not in given]
    if missing:
        wanted = "\n".join(f"  {_suggestion(parameter)}" for parameter in missing)
        raise Refused(f"{entry.display} needs more arguments, for example:\n{wanted}")
    return given


def _suggestion(parameter: Parameter) -> str:
    if parameter.kind == "pointer":
        dtype = parameter.dtype or "uint8"
        init = _first_values(parameter) if parameter.const else "zeros"
        shape = f"1024,{parameter.components}" if parameter.components > 1 else "1024"
        return f"--arg '{parameter.name}={dtype}[{shape}]:{init}'    ({parameter.type})"
    if parameter.kind == "vector":
        return f"--arg {parameter.name}={','.join('1' * parameter.components)}    ({parameter.type})"
    if parameter.kind == "struct":
        return f"--arg {parameter.name}=hex:{'00' * parameter.bytes}    ({parameter.type})"
    if re.search(r"cuda(Texture|Surface)Object_t", parameter.type):
        return f"--arg {parameter.name}=0    ({parameter.type}: a launch here has none; pass the array by a pointer)"
    return f"--arg {parameter.name}=1024    ({parameter.type})"


def _first_values(parameter: Parameter) -> str:
    """Numbers that the pointee's dtype holds; the bytes of a struct are none."""
    if parameter.dtype is None:
        return "zeros"
    if parameter.dtype == "bool":
        return "integers=0,2,1"
    return "integers=0,100,1" if "int" in parameter.dtype else "random"


def _buffer(given: GivenBuffer, role: str, uploads: dict[str, NpyFile]) -> Json:
    dtype, shape, init = given.dtype, given.shape, given.init
    if given.file is not None:
        npy = uploads[given.name]
        if dtype is not None and (dtype, shape) != (npy.dtype, npy.shape):
            held = ",".join(map(str, npy.shape))
            raise Refused(f"--arg {given.name}: {given.file} holds {npy.dtype}[{held}], not what is written there")
        dtype, shape, init = npy.dtype, npy.shape, {"kind": "upload", "digest": npy.digest}
    return {"name": given.name, "dtype": dtype, "shape": shape, "init": init, "role": given.role or role}


def _argument(parameter: Parameter, given: Given) -> Json:
    name = parameter.name
    pointer = parameter.kind == "pointer"
    if pointer and isinstance(given, GivenValue):
        raise Refused(
            f"--arg {name}: the parameter is a pointer ({parameter.type}), so it needs a buffer, for example\n"
            f"  {_suggestion(parameter)}"
        )
    if not pointer and parameter.kind != "unknown" and isinstance(given, GivenBuffer | GivenAlias | GivenNull):
        raise Refused(
            f"--arg {name}: the parameter is no pointer ({parameter.type}), so it takes a value, not a buffer"
        )
    match given:
        case GivenBuffer():
            return {"kind": "buffer", "name": name, "buffer": given.name}
        case GivenAlias():
            return {"kind": "buffer", "name": name, "buffer": given.buffer}
        case GivenNull():
            return {"kind": "null", "name": name}
        case GivenBytes():
            return {"kind": "struct", "name": name, "hex": given.hex}
        case GivenValue():
            return _value(parameter, given)


def _value(parameter: Parameter, given: GivenValue) -> Json:
    if parameter.kind == "struct":
        raise Refused(
            f"--arg {parameter.name}: {parameter.type} is a struct: give its {parameter.bytes} bytes, "
            f"padding included, in hexadecimal, for example\n  {_suggestion(parameter)}\n"
            "Python packs them: struct.pack('<fi', 0.5, 100).hex()"
        )
    common = {"name": parameter.name, "dtype": given.dtype or parameter.dtype}
    if parameter.kind == "vector" or len(given.numbers) > 1:
        if len(given.numbers) != parameter.components:
            raise Refused(
                f"--arg {parameter.name}: {parameter.type} takes {parameter.components} numbers, "
                f"not {len(given.numbers)}"
            )
        return {"kind": "vector", **common, "values": given.numbers}
    return {"kind": "scalar", **common, "value": given.numbers[0]}


def _vectors(entry: Entry, given: dict[str, Given]) -> dict[str, int]:
    """Components of what a buffer's parameter points to: 4 for a float4 pointer."""
    found = {}
    for parameter in entry.parameters:
        argument = given[parameter.name]
        if parameter.kind == "pointer" and isinstance(argument, GivenBuffer | GivenAlias):
            found[argument.buffer if isinstance(argument, GivenAlias) else argument.name] = parameter.components
    return found


def _cover_target(buffers: Sequence[Json]) -> Json | None:
    """The first buffer that the kernel writes, else the first one."""
    written = [buffer for buffer in buffers if buffer["role"] != "in"]
    return next(iter([*written, *buffers]), None)


def _block(target: Json | None, entry: Entry, vectors: Mapping[str, int]) -> tuple[int, ...]:
    most = entry.resources.max_threads_per_block
    shape = target["shape"] if target is not None else ()
    if target is not None and isinstance(shape, tuple):
        shape = covered_shape(shape, vectors.get(str(target["name"]), 1))
    if isinstance(shape, tuple) and len(shape) > 1 and most >= 256:
        return (16, 16)
    return (min(256, most),)


def _grid(typed: str | None, target: Json | None, vectors: Mapping[str, int]) -> tuple[int, ...] | Json:
    """`vectors`: components of what a buffer's parameter points to, so that a thread gets a whole float4."""
    if typed is not None and not typed.startswith("cover:"):
        return extents(typed, "--grid")
    if typed is None and target is None:
        return (1,)
    name = typed.removeprefix("cover:") if typed is not None else str(target["name"] if target else "")
    return {"kind": "cover", "buffer": name, "components": vectors.get(name, 1)}


def extents(text: str, option: str) -> tuple[int, ...]:
    """One to three whole numbers as typed after `option`; Refused otherwise."""
    try:
        values = tuple(int(part) for part in re.split(r"[,x]", text))
    except ValueError:
        values = ()
    if not 1 <= len(values) <= 3:
        more = " or cover:NAME" if option == "--grid" else ""
        raise Refused(f"{option} {text}: expected one to three whole numbers, such as 256 or 16,16{more}")
    return values
