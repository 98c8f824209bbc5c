"""A sweep as a script for Kernel Tuner, which searches where there are too many cells to try."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

from protocol.arguments import Argument, BufferArgument, ScalarArgument
from protocol.checks import NumpyReference
from protocol.kernel import Parameter
from protocol.launch import Cover, Launch, covered_shape, dim3
from protocol.source import Options
from protocol.sweep import Sweep
from takeaway.cupy_initial import initial, scalar, stored
from takeaway.cupy_script import cupy_options, helpers_of, kernel_name, python_list, python_text
from takeaway.program import NotExportable, Program
from takeaway.templates import fill_template, fragment


def kernel_tuner_script(program: Program, file_name: str) -> str:
    """The whole script. Raises NotExportable."""
    request = program.request
    if request.sweep is None:
        raise NotExportable("sweep", "there is nothing to search: give block shapes or macros to try")
    if len(request.steps) != 1 or not isinstance(request.steps[0], Launch):
        raise NotExportable("steps", "Kernel Tuner varies one launch; this run has more steps")
    launch = program.launches["steps.0"]
    if launch.cluster is not None or launch.cooperative:
        raise NotExportable("steps.0.config", "Kernel Tuner launches neither clusters nor cooperative kernels")
    starts = []
    for index, buffer in enumerate(program.buffers):
        expression, comment = initial(buffer, f"buffers.{index}.init.text")
        if comment:
            starts.append(f"        # {comment}")
        whole = f"{expression}.reshape({buffer.shape})"
        if expression is None:
            whole = f'np.empty({buffer.shape}, "{stored(buffer.dtype)}")'
        starts.append(f'        "{buffer.name}": {whole},')
    given = [_argument(*pair, f"steps.0.arguments.{index}") for index, pair in enumerate(launch.arguments)]
    answer = _answer(program)
    return fill_template(
        fragment("kernel_tuner.py.txt"),
        TITLE=" ".join(program.title.split()).replace("\\", "/").replace('"', "'"),
        FILE=file_name,
        SOURCE=python_text(request.source.text),
        OPTIONS=python_list(cupy_options(_without_macros(program), request.source.text)),
        TUNED=_tuned(request.sweep),
        SHAPES="\n".join(f"    {dim3(block)}," for block in request.sweep.blocks),
        HELPERS="\n".join(helpers_of("\n".join(starts))),
        INITIAL="\n".join(starts),
        NAMES="\n".join(f"    {line}" for line in _names(program, request.sweep)),
        GRID=_grid(program, request.sweep),
        SHARED=request.sweep.dynamic_shared_bytes or str(launch.dynamic_shared_bytes),
        WHERE="".join(f" and ({text})" for text in request.sweep.where),
        ARGUMENTS="\n".join(given),
        ANSWER=answer,
        CHECKED="answer(arrays)" if answer.strip() else "None",
        KERNEL=json.dumps(kernel_name(launch.entry)),
    )


def _without_macros(program: Program) -> Options:
    """The compiler's options; Kernel Tuner defines the macros that are varied."""
    request = program.request
    assert request.sweep is not None
    varied = {axis.name for axis in request.sweep.macros}
    kept = tuple(item for item in request.options.defines if item.name not in varied)
    return request.options.model_copy(update={"defines": kept})


def _tuned(sweep: Sweep) -> str:
    shapes = [dim3(block) for block in sweep.blocks]
    lines = []
    for axis, name in enumerate("xyz"):
        extents = sorted({shape[axis] for shape in shapes})
        lines.append(f'    "block_size_{name}": {extents},')
    for macro in sweep.macros:
        values = ", ".join(_value(value) for value in macro.values)
        lines.append(f'    "{macro.name}": [{values}],')
    return "\n".join(lines)


def _value(text: str) -> str:
    try:
        return str(int(text, 0))
    except ValueError:
        return json.dumps(text)


def _names(program: Program, sweep: Sweep) -> list[str]:
    """What expressions may name: buffers for len, scalar arguments, macros."""
    lines = [f"{buffer.name} = range({buffer.elements})" for buffer in program.buffers]
    for parameter, argument in program.launches["steps.0"].arguments:
        if isinstance(argument, ScalarArgument) and isinstance(argument.value, bool | int | float):
            lines.append(f"{argument.name or parameter.name} = {argument.value!r}")
    return lines + [f'{macro.name} = p["{macro.name}"]' for macro in sweep.macros]


def _grid(program: Program, sweep: Sweep) -> str:
    if sweep.grid:
        texts = [f"int({text})" for text in sweep.grid] + ["1", "1"]
        return ", ".join(texts[:3])
    step = program.steps[0]
    assert isinstance(step, Launch)
    config = step.config
    if isinstance(config.grid, Cover):
        target = next(buffer for buffer in program.buffers if buffer.name == config.grid.buffer)
        x, y, *rest = (*reversed(covered_shape(target.shape, config.grid.components)), 1, 1)
        threads = [x, y, 1]
        for extent in rest:
            threads[2] *= extent
    else:
        threads = [count * size for count, size in zip(dim3(config.grid), dim3(config.block), strict=True)]
    return ", ".join(f"ceil_div({count}, block_{axis})" for count, axis in zip(threads, "xyz", strict=True))


def _argument(parameter: Parameter, argument: Argument, field: str) -> str:
    match argument:
        case BufferArgument():
            return f'        arrays["{argument.buffer}"],  # {parameter.type} {parameter.name}'
        case ScalarArgument():
            dtype = argument.dtype or parameter.dtype
            assert dtype is not None
            return f"        {scalar(argument.value, dtype)},  # {parameter.type} {parameter.name}"
    raise NotExportable(field, "Kernel Tuner takes arrays and numbers as arguments, nothing else")


def _answer(program: Program) -> str:
    """What the results must be, where the run has a NumPy reference."""
    reference = next((check for check in program.request.checks if isinstance(check, NumpyReference)), None)
    if reference is None:
        return ""
    names = [f"{buffer.name} = arrays[{buffer.name!r}].copy()" for buffer in program.buffers]
    for parameter, argument in program.launches["steps.0"].arguments:
        if isinstance(argument, ScalarArgument):
            dtype = argument.dtype or parameter.dtype
            assert dtype is not None
            names.append(f"{argument.name or parameter.name} = {scalar(argument.value, dtype)}")
    results = [_result(argument, reference.buffers) for _, argument in program.launches["steps.0"].arguments]
    body = [*names, *textwrap.dedent(reference.text).strip().split("\n"), f"return [{', '.join(results)}]"]
    head = ["", "def answer(arrays):", '    """What the results must be."""']
    return "\n".join([*head, *(f"    {line}".rstrip() for line in body), ""])


def _result(argument: Argument, buffers: Sequence[str]) -> str:
    return argument.buffer if isinstance(argument, BufferArgument) and argument.buffer in buffers else "None"
