"""A run as a Python script for CuPy."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence

from protocol.arguments import (
    Argument,
    BufferArgument,
    NullArgument,
    ScalarArgument,
    StructArgument,
    Uninitialised,
    VectorArgument,
)
from protocol.kernel import Entry, Parameter
from protocol.launch import Fill, Launch, Repeat, Step, Swap, count_launches
from protocol.source import Options
from takeaway.cupy_initial import HELPERS, NEEDS, initial, scalar, stored
from takeaway.numbers import number_bytes
from takeaway.program import NotExportable, Program, ResolvedLaunch
from takeaway.templates import fill_template, fragment

_CONSTANT = re.compile(r"\b(INFINITY|NAN|HUGE_VALF?|M_[A-Z0-9_]+)\b")
"""Constants that nvcc and Warpyard know without an include."""
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)


def cupy_script(program: Program, file_name: str) -> str:
    """The whole script. Raises NotExportable."""
    starts, kinds = [], []
    for index, buffer in enumerate(program.buffers):
        expression, comment = initial(buffer, f"buffers.{index}.init.text")
        if comment:
            starts.append(f"        # {comment}")
        shaped = "None" if expression is None else f"{expression}.reshape({buffer.shape})"
        starts.append(f'        "{buffer.name}": {shaped},')
        kinds.append(f'    "{buffer.name}": ("{buffer.dtype}", {buffer.shape}, {buffer.role != "in"}),')
    for path, launch in program.launches.items():
        if launch.cluster is not None:
            message = (
                "CuPy launches no clusters of its own: fix them in the source by __cluster_dims__, or export CUDA C++"
            )
            raise NotExportable(f"{path}.config.cluster", message)
    steps = _Steps(program)
    body = steps.lines(program.steps, "steps", 1)
    expressions = sorted({kernel_name(entry) for entry in steps.entries if by_expression(entry)})
    text = "\n".join(starts + body)
    headers = host_headers(program.request.source.text)
    return fill_template(
        fragment("script.py.txt"),
        TITLE=" ".join(program.title.split()).replace("\\", "/").replace('"', "'"),
        FILE=file_name,
        SOURCE=python_text(program.request.source.text),
        OPTIONS=python_list(cupy_options(program.request.options, program.request.source.text)),
        EXPRESSIONS=python_list(expressions),
        COMPILE="\n".join(_compiling(headers, steps.kernels(), steps.cooperative)),
        HEADERS=_header_texts(headers),
        TEMPFILE="import tempfile\n" if headers else "",
        KINDS="\n".join(kinds),
        HELPERS="\n".join(helpers_of(text)),
        INITIAL="\n".join(starts),
        STEPS="\n".join(body),
        FILM_PARAMETER=", film=lambda array: None" if program.film_name else "",
        FILM_HELP=", and the frames of the film stacked" if program.film_name else "",
        **_film(program.film_name),
        LAUNCHES=str(count_launches(program.steps)),
        COUNTED=program.counted,
        ROUNDS="0" if program.prints else "10",
        ROUNDS_HELP="; 0 by default, since the kernel prints" if program.prints else "",
        UNSET=" Uninitialised buffers hold what the memory held." if _unset(program) else "",
    )


def _film(name: str) -> dict[str, str]:
    """What the script does for the film's file; nothing without a name."""
    if not name:
        return {"FILM": "", "FILM_ARGUMENT": "", "FILM_SAVED": "results"}
    return {
        "FILM": "    frames = []\n",
        "FILM_ARGUMENT": ", lambda array: frames.append(cupy.asnumpy(array)) if options.save else None",
        "FILM_SAVED": f'results | {{"{name}": np.stack(frames)}}',
    }


def _unset(program: Program) -> bool:
    return any(isinstance(buffer.init, Uninitialised) for buffer in program.buffers)


def cupy_options(options: Options, source: str) -> list[str]:
    """For NVRTC; CuPy itself adds -arch for the current device."""
    result = [f"-std={options.standard}"]
    if _CONSTANT.search(source):
        result.append("-include=cmath")
    if "__int128" in source:
        result.append("-device-int128")
    if options.fast_math:
        result.append("-use_fast_math")
    if not options.fmad:
        result.append("-fmad=false")
    if options.max_registers is not None:
        result.append(f"-maxrregcount={options.max_registers}")
    if options.default_device:
        result.append("-default-device")
    return result + [f"-D{define.name}={define.value}" for define in options.defines]


def host_headers(source: str) -> dict[str, str]:
    """The host's C and C++ headers that the source includes, by name: NVRTC has none, Warpyard its own."""
    known: dict[str, str] = json.loads(fragment("headers.json"))
    found: dict[str, str] = {}
    todo = [*_INCLUDE.findall(source), *(["cmath"] if _CONSTANT.search(source) else [])]
    while todo:
        name = todo.pop()
        if name in known and name not in found:
            found[name] = known[name]
            todo += _INCLUDE.findall(known[name])
    return dict(sorted(found.items()))


def _header_texts(headers: dict[str, str]) -> str:
    if not headers:
        return ""
    texts = "".join(f"    {json.dumps(name)}: {python_text(text)},\n" for name, text in headers.items())
    told = "# NVRTC has no headers of the host's C++ library. This is what Warpyard gives of them."
    return f"{told}\nHEADERS = {{\n{texts}}}\n\n"


def _compiling(headers: dict[str, str], kernels: Sequence[str], cooperative: bool) -> list[str]:
    """Statements that compile the module and look its kernels up, which is when CuPy compiles."""
    common = 'code=SOURCE, backend="nvrtc", name_expressions=NAME_EXPRESSIONS'
    if cooperative:
        # Of the module: CuPy launches all its kernels so.
        common += ", enable_cooperative_groups=True"
    if not headers:
        return [f"    module = cupy.RawModule({common}, options=OPTIONS)", *kernels]
    return [
        "    with tempfile.TemporaryDirectory() as folder:",
        "        for name, text in HEADERS.items():",
        '            (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")',
        '        options = (*OPTIONS, f"-I{folder}")',
        f"        module = cupy.RawModule({common}, options=options)",
        *(f"    {line}" for line in kernels),
    ]


def by_expression(entry: Entry) -> bool:
    """Whether the kernel's own name finds it; an overloaded one goes by its name in the PTX."""
    return "(" not in entry.display


def kernel_name(entry: Entry) -> str:
    return entry.display if by_expression(entry) else entry.name


def python_list(items: Sequence[str]) -> str:
    texts = [json.dumps(item, ensure_ascii=False) for item in items]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def python_text(text: str) -> str:
    """A raw string where one can hold the text, else one string a line."""
    for quotes in ('"""', "'''"):
        if quotes not in text and not text.endswith(("\\", quotes[0])) and "\r" not in text:
            return f"r{quotes}{text}{quotes}"
    return "(\n" + "\n".join(f"    {line!r}" for line in re.findall(r"[^\n]*\n|[^\n]+", text)) + "\n)"


def helpers_of(text: str) -> list[str]:
    """The functions that the text calls, and those that they call."""
    wanted: set[str] = set()
    todo = [name for name in HELPERS if f"{name}(" in text]
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted.add(name)
            todo += NEEDS.get(name, ())
    return [f"\n{body.strip()}\n" for name, body in HELPERS.items() if name in wanted]


class _Steps:
    """Writes the steps, and remembers the kernels that they launch."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._dtypes = {buffer.name: buffer.dtype for buffer in program.buffers}
        self.entries: list[Entry] = []
        self.cooperative = False
        self._shared: dict[str, int] = {}

    def lines(self, steps: Sequence[Step], path: str, depth: int) -> list[str]:
        indent, result = "    " * depth, []
        for index, step in enumerate(steps):
            here = f"{path}.{index}"
            match step:
                case Launch():
                    result += textwrap.indent(self._launch(self._program.launches[here]), indent).split("\n")
                case Repeat():
                    result += self._repeat(step, here, depth)
                case Swap():
                    one, two = f'buffers["{step.first}"]', f'buffers["{step.second}"]'
                    result.append(f"{indent}{one}, {two} = {two}, {one}")
                case Fill():
                    value = scalar(step.value, self._dtypes[step.buffer])
                    result.append(f'{indent}buffers["{step.buffer}"].fill({value})')
        return result

    def _repeat(self, step: Repeat, path: str, depth: int) -> list[str]:
        indent, film = "    " * depth, self._program.filmed(path)
        inner = self.lines(step.steps, f"{path}.steps", depth + 1)
        if film is None:
            return [f"{indent}for _ in range({step.count}):", *inner]
        take = f'film(buffers["{film.buffer}"])'
        last = [f"{indent}    {take}"]
        if film.every > 1:
            last = [f"{indent}    if rounds % {film.every} == 0:", f"{indent}        {take}"]
        return [f"{indent}{take}", f"{indent}for rounds in range(1, {step.count + 1}):", *inner, *last]

    def kernels(self) -> list[str]:
        """Lines that look the kernels up."""
        lines = [f"    kernels[{name}] = module.get_function({name})"
                 for name in dict.fromkeys(json.dumps(kernel_name(entry)) for entry in self.entries)]  # fmt: skip
        for name, size in self._shared.items():
            lines.append("    # More than 48 KiB of shared memory a block has to be asked for.")
            lines.append(f"    kernels[{json.dumps(name)}].max_dynamic_shared_size_bytes = {size}")
        return lines

    def _launch(self, launch: ResolvedLaunch) -> str:
        name = kernel_name(launch.entry)
        self.entries.append(launch.entry)
        self.cooperative |= launch.cooperative
        if launch.opts_in:
            self._shared[name] = max(self._shared.get(name, 0), launch.dynamic_shared_bytes)
        shared = f", shared_mem={launch.dynamic_shared_bytes}" if launch.dynamic_shared_bytes else ""
        head = f"kernels[{json.dumps(name)}]({launch.grid}, {launch.block}, ("
        lines = [f"    {_argument(*pair)},  # {pair[0].type} {pair[0].name}" for pair in launch.arguments]
        return "\n".join([head, *lines, f"){shared})"]) if lines else f"{head}){shared})"


def _argument(parameter: Parameter, argument: Argument) -> str:
    match argument:
        case BufferArgument():
            return f'buffers["{argument.buffer}"]'
        case NullArgument():
            return "None"
        case ScalarArgument():
            dtype = argument.dtype or parameter.dtype
            assert dtype is not None
            return scalar(argument.value, dtype)
        case VectorArgument():
            packed = b"".join(number_bytes(value, argument.dtype) for value in argument.values)
            if argument.dtype == "bfloat16":
                return _bytes(packed.ljust(parameter.bytes, b"\0"))
            values = ", ".join(scalar(value, argument.dtype).partition("(")[2][:-1] for value in argument.values)
            return f'np.array([{values}], "{stored(argument.dtype)}").view("V{len(packed)}")'
        case StructArgument():
            return _bytes(bytes.fromhex(argument.hex))


def _bytes(data: bytes) -> str:
    """An array of one element, which CuPy passes by value."""
    return f'np.frombuffer(bytes.fromhex("{data.hex()}"), "V{len(data)}")'
