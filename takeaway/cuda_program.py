"""A run as a CUDA C++ program of one file."""

from __future__ import annotations

import re
import struct
import textwrap
from collections.abc import Sequence
from pathlib import PurePath

from protocol.arguments import (
    Argument,
    Buffer,
    BufferArgument,
    NullArgument,
    ScalarArgument,
    StructArgument,
    VectorArgument,
)
from protocol.dtypes import INTEGER_BITS, ITEM_BYTES, read_number
from protocol.kernel import Entry, Parameter
from protocol.launch import Fill, Launch, Repeat, Step, Swap
from protocol.source import Options
from takeaway.cuda_initial import initial, real, whole
from takeaway.numbers import number_bytes
from takeaway.program import NotExportable, Program, ResolvedLaunch
from takeaway.templates import fill_template, fragment

_BUILT_IN = {
    "bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "unsigned",
    "long", "unsigned long", "long long", "unsigned long long", "float", "double", "size_t",
    *(f"{name}_t" for name in INTEGER_BITS),
}  # fmt: skip
"""Types that a literal converts to by itself; any other argument goes by its bytes."""
_VECTOR = re.compile(r"(u?(char|short|int|long|longlong)|float|double)[1-4]")
_LOCALS = {
    "buffers", "choices", "count", "film", "filming", "memory", "median", "milliseconds", "round", "run_steps",
    "start", "stop", "take_frame", "times", "upload", "words",
}  # fmt: skip
_MAIN = re.compile(r"\bmain\s*\(")


def cuda_program(program: Program, file_name: str) -> str:
    """The whole program. Raises NotExportable."""
    request = program.request
    if request.options.default_device:
        raise NotExportable("options.default_device", "nvcc has no such option: write __device__ before the functions")
    made = [initial(buffer, index) for index, buffer in enumerate(program.buffers)]
    needs = set().union(*(item.needs for item in made), {"film"} if program.film_name else ())
    notes = [item.note for item in made if item.note]
    statements = []
    for buffer, item in zip(program.buffers, made, strict=True):
        lines = [_declared(buffer), *item.statements]
        if any(line.startswith("host_side::Generator") for line in lines):
            lines = [lines[0], "{", *textwrap.indent("\n".join(lines[1:]), "    ").split("\n"), "}"]
        statements += lines
    steps = _Steps(program)
    body = steps.lines(program.steps, "steps", 2)
    source = request.source.text.rstrip("\n") + "\n"
    if _MAIN.search(source):
        source = f"#define main warpyard_source_main\n{source}\n#undef main\n"
    return fill_template(
        fragment("program.cu"),
        TITLE=" ".join(program.title.split()),
        FILE=file_name,
        STEM=PurePath(file_name).stem,
        FLAGS=" ".join(nvcc_flags(request.options, request.architecture)),
        NOTES="".join(f"//\n{textwrap.indent(textwrap.fill(note, 107), '// ')}\n" for note in notes),
        HOST=_host(needs),
        DEFINES="".join(f"#define {define.name} {define.value}\n" for define in request.options.defines),
        SOURCE=source,
        DATA="".join(item.data for item in made),
        INITIAL=_lines(statements, 1),
        POINTERS=_lines(_pointers(program.buffers), 1),
        UPLOADS=_lines(
            [f"host_side::copy_in(d_{item.name} = memory[{index}], buffers[{index}]);"
             for index, item in enumerate(program.buffers)],
            2,
        ),
        ATTRIBUTES=_lines(steps.attributes(), 1),
        STEPS="\n".join(body) + "\n",
        DOWNLOADS=_lines(
            [f"host_side::copy_out(buffers[{index}], d_{item.name});" for index, item in enumerate(program.buffers)
             if item.role != "in"],
            1,
        ),
        FILM_HELP=", and the film" if program.film_name else "",
        FILM=_lines(_film(program), 1),
        FILM_SAVED=_lines(_film_saved(program), 1),
        COUNTED=program.counted,
        ROUNDS="0" if program.prints else "10",
        ROUNDS_HELP=", since the kernel prints" if program.prints else "",
    )  # fmt: skip


def nvcc_flags(options: Options, architecture: str) -> list[str]:
    """Options of nvcc that mean what the run's mean."""
    result = [f"-std={options.standard}", f"-arch={architecture}"]
    if options.fast_math:
        result.append("-use_fast_math")
    if not options.fmad:
        result.append("-fmad=false")
    if options.max_registers is not None:
        result.append(f"-maxrregcount={options.max_registers}")
    return [*result, "-Xcompiler", "-ffp-contract=off,-fwrapv"]


def _host(needs: set[str]) -> str:
    """The fragments that the program needs, in an order in which each finds what it uses."""
    parts = [fragment("host.cu")]
    parts += [fragment(f"{name}.cu") for name in ("values", "formula", "load", "film") if name in needs]
    if "normal" in needs:
        parts.append(fragment("ziggurat.cu"))
    if "random" in needs:
        normal = fragment("normal.cu") if "normal" in needs else ""
        parts.append(fill_template(fragment("random.cu"), NORMAL=normal))
    return "\n".join(parts)


def _lines(lines: Sequence[str], depth: int) -> str:
    return textwrap.indent("".join(f"{line}\n" for line in lines), "    " * depth)


def _declared(buffer: Buffer) -> str:
    shape = ", ".join(map(str, buffer.shape))
    result = "true" if buffer.role != "in" else "false"
    made = f'"{buffer.name}", "{buffer.dtype}", {ITEM_BYTES[buffer.dtype]}, {result}, {{{shape}}}'
    return f"buffers.push_back(host_side::make_buffer({made}));"


def _pointers(buffers: Sequence[Buffer]) -> list[str]:
    if not buffers:
        return []
    return [
        f"host_side::Pointer {', '.join(f'd_{buffer.name}' for buffer in buffers)};",
        f"host_side::Pointer memory[{len(buffers)}];",
        f"for (int i = 0; i < {len(buffers)}; ++i)",
        "    host_side::allocate(memory[i], buffers[i]);",
    ]


def _film(program: Program) -> list[str]:
    """Where frames are kept, which only --save asks for."""
    if program.request.film is None:
        return []
    index = next(at for at, item in enumerate(program.buffers) if item.name == program.request.film.buffer)
    buffer = program.buffers[index]
    shape = ", ".join(map(str, (0, *buffer.shape)))
    made = f'"{program.film_name}", "{buffer.dtype}", {ITEM_BYTES[buffer.dtype]}, true, {{{shape}}}'
    return [
        "// The film, frames first.",
        f"host_side::Buffer film = host_side::make_buffer({made});",
        "bool filming = !choices.save.empty();",
        "auto take_frame = [&](host_side::Pointer pointer) {",
        "    if (filming)",
        f"        host_side::append(film, buffers[{index}].bytes.size(), pointer);",
        "};",
        "",
    ]


def _film_saved(program: Program) -> list[str]:
    if program.request.film is None:
        return []
    return ["if (filming)", "    host_side::write_npy(choices.save, film);", "filming = false;"]


_PORTABLE_CLUSTER = 8
"""Blocks of a cluster that need no opting in (CUDA C++ Programming Guide, Thread Block Clusters)."""


class _Steps:
    """Writes the steps, and remembers which kernels need more shared memory."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._buffers = {buffer.name: buffer for buffer in program.buffers}
        self._shared: dict[str, int] = {}

    def lines(self, steps: Sequence[Step], path: str, depth: int) -> list[str]:
        indent, result = "    " * depth, []
        for index, step in enumerate(steps):
            here = f"{path}.{index}"
            match step:
                case Launch():
                    result += [f"{indent}{line}" for line in self._launch(self._program.launches[here])]
                case Repeat():
                    result += self._repeat(step, here, depth)
                case Swap():
                    result.append(f"{indent}std::swap(d_{step.first}, d_{step.second});")
                case Fill():
                    buffer = self._buffers[step.buffer]
                    element = _bytes(number_bytes(step.value, buffer.dtype))
                    result.append(f"{indent}host_side::fill(d_{buffer.name}, {buffer.elements}, {element});")
        return result

    def _repeat(self, step: Repeat, path: str, depth: int) -> list[str]:
        indent, name, film = "    " * depth, f"round_{depth - 1}", self._program.filmed(path)
        inner = self.lines(step.steps, f"{path}.steps", depth + 1)
        if film is None:
            return [f"{indent}for (int {name} = 0; {name} < {step.count}; ++{name}) {{", *inner, f"{indent}}}"]
        take = f"take_frame(d_{film.buffer});"
        last = [f"{indent}    {take}"]
        if film.every > 1:
            last = [f"{indent}    if ({name} % {film.every} == 0)", f"{indent}        {take}"]
        head = f"{indent}for (int {name} = 1; {name} <= {step.count}; ++{name}) {{"
        return [f"{indent}{take}", head, *inner, *last, f"{indent}}}"]

    def attributes(self) -> list[str]:
        if not self._shared:
            return []
        lines = ["// More than 48 KiB of shared memory a block has to be asked for."]
        for name, size in self._shared.items():
            attribute = "cudaFuncAttributeMaxDynamicSharedMemorySize"
            lines.append(f"HOST_CHECK(cudaFuncSetAttribute({name}, {attribute}, {size}));")
        return [*lines, ""]

    def _launch(self, launch: ResolvedLaunch) -> list[str]:
        name = _callable(launch.entry)
        if launch.cooperative or launch.cluster is not None:
            return self._launch_together(launch, name)
        if launch.opts_in:
            self._shared[name] = max(self._shared.get(name, 0), launch.dynamic_shared_bytes)
        grid, block = (f"dim3({', '.join(map(str, extents))})" for extents in (launch.grid, launch.block))
        shared = f", {launch.dynamic_shared_bytes}" if launch.dynamic_shared_bytes else ""
        head = f"{name}<<<{grid}, {block}{shared}>>>("
        lines = [f"{head});"]
        if launch.arguments:
            last = len(launch.arguments) - 1
            lines = [head]
            for position, (parameter, argument) in enumerate(launch.arguments):
                end = ");" if position == last else ","
                lines.append(f"    {_argument(parameter, argument)}{end}  // {parameter.type} {parameter.name}")
        return [*lines, "HOST_CHECK(cudaGetLastError());"]

    def _launch_together(self, launch: ResolvedLaunch, name: str) -> list[str]:
        """A launch with attributes, which has a call of its own; its arguments are those of the kernel's types."""
        if launch.opts_in:
            self._shared[name] = max(self._shared.get(name, 0), launch.dynamic_shared_bytes)
        lines = ["{", "    cudaLaunchConfig_t config = {};"]
        for field, extents in (("gridDim", launch.grid), ("blockDim", launch.block)):
            lines.append(f"    config.{field} = dim3({', '.join(map(str, extents))});")
        lines.append(f"    config.dynamicSmemBytes = {launch.dynamic_shared_bytes};")
        attributes = []
        if launch.cooperative:
            attributes.append(("Cooperative", "cooperative = 1"))
        if launch.cluster is not None:
            x, y, z = launch.cluster
            attributes.append(("ClusterDimension", f"clusterDim = {{{x}, {y}, {z}}}"))
            if x * y * z > _PORTABLE_CLUSTER:
                attribute = "cudaFuncAttributeNonPortableClusterSizeAllowed"
                lines.append(f"    HOST_CHECK(cudaFuncSetAttribute({name}, {attribute}, 1));")
        lines.append(f"    cudaLaunchAttribute attributes[{len(attributes)}] = {{}};")
        for index, (identifier, value) in enumerate(attributes):
            lines.append(f"    attributes[{index}].id = cudaLaunchAttribute{identifier};")
            lines.append(f"    attributes[{index}].val.{value};")
        lines += ["    config.attrs = attributes;", f"    config.numAttrs = {len(attributes)};"]
        given = ", ".join([f"&config, {name}", *(_argument(*pair) for pair in launch.arguments)])
        return [*lines, f"    HOST_CHECK(cudaLaunchKernelEx({given}));", "}"]


def _callable(entry: Entry) -> str:
    """The kernel as an expression; an overloaded one by its type."""
    base, overloaded, _ = entry.display.partition("(")
    first = re.split(r"[<:]", base)[0]
    name = f"::{base}" if first in _LOCALS or first.startswith("d_") else base
    if not overloaded:
        return name
    return f"static_cast<void (*)({', '.join(item.type for item in entry.parameters)})>({name})"


def _argument(parameter: Parameter, argument: Argument) -> str:
    match argument:
        case BufferArgument():
            return f"d_{argument.buffer}" if parameter.kind == "pointer" else f"host_side::raw(d_{argument.buffer})"
        case NullArgument():
            return "nullptr" if parameter.kind == "pointer" else _bytes(bytes(8))
        case StructArgument():
            return _bytes(bytes.fromhex(argument.hex))
        case ScalarArgument():
            dtype = argument.dtype or parameter.dtype
            assert dtype is not None
            literal = _literal(argument.value, dtype)
            if literal is not None and parameter.type in _BUILT_IN:
                return literal
            return f"{_bytes(number_bytes(argument.value, dtype))} /* {str(argument.value).replace('*/', '')} */"
        case VectorArgument():
            literals = [_literal(value, argument.dtype) for value in argument.values]
            if _VECTOR.fullmatch(parameter.type) and None not in literals:
                return f"make_{parameter.type}({', '.join(str(literal) for literal in literals)})"
            packed = b"".join(number_bytes(value, argument.dtype) for value in argument.values)
            return _bytes(packed.ljust(parameter.bytes, b"\0"))


def _literal(value: bool | int | float | str, dtype: str) -> str | None:
    """The number in C++, None where its type has no literals."""
    number = read_number(value, dtype)
    if dtype == "bool":
        return "true" if number else "false"
    if isinstance(number, int):
        return f"{number}ull" if dtype == "uint64" else f"({whole(number)})" if number < -(1 << 31) else whole(number)
    if isinstance(number, complex) or dtype in ("float16", "bfloat16"):
        return None
    if dtype == "float32":
        (rounded,) = struct.unpack("<f", number_bytes(value, dtype))
        return real(rounded) if rounded != rounded or abs(rounded) == float("inf") else f"{_shortest(rounded)}f"
    return real(number)


def _shortest(number: float) -> str:
    """The fewest digits that read as this float32."""
    for digits in range(1, 10):
        text = f"{number:.{digits}g}"
        try:
            if struct.unpack("<f", struct.pack("<f", float(text)))[0] == number:
                return text if "." in text or "e" in text else f"{text}.0"
        except OverflowError:
            pass
    return repr(number)


def _bytes(data: bytes) -> str:
    return f"host_side::Bytes<{len(data)}>{{{{{', '.join(f'0x{byte:02x}' for byte in data)}}}}}"
