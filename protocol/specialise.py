"""The argument types of a run's launches, for languages that compile for them."""

from collections.abc import Iterable, Mapping, Sequence

from protocol.arguments import Argument, Buffer, BufferArgument, ScalarArgument
from protocol.dtypes import DType, Number, whole_number
from protocol.kernel import ArgumentType, Specialisation
from protocol.launch import Launch, Step, walk

SPECIALISING = frozenset({"numba"})
"""Languages whose kernels are compiled for the types of a launch's arguments, by translation to PTX."""


def specialisations(steps: Sequence[Step], buffers: Iterable[Buffer]) -> tuple[Specialisation, ...]:
    """One for each kernel and signature that the steps launch, in their order."""
    by_name = {buffer.name: buffer for buffer in buffers}
    launches = (step for _, step in walk(steps) if isinstance(step, Launch))
    return tuple(dict.fromkeys(specialisation(launch, by_name) for launch in launches))


def specialisation(launch: Launch, buffers: Mapping[str, Buffer]) -> Specialisation:
    """What one launch asks for. `buffers`: by name, each that an argument may name."""
    return Specialisation(
        entry=launch.entry, arguments=tuple(argument_type(argument, buffers) for argument in launch.arguments)
    )


def argument_type(argument: Argument, buffers: Mapping[str, Buffer]) -> ArgumentType:
    """A buffer is an array of its dtype and axes; a number without a dtype has the type of its value in Python."""
    match argument:
        case BufferArgument():
            buffer = buffers[argument.buffer]
            return ArgumentType(name=argument.name, kind="array", dtype=buffer.dtype, dimensions=len(buffer.shape))
        case ScalarArgument():
            return ArgumentType(name=argument.name, kind="number", dtype=argument.dtype or python_type(argument.value))
        case _:
            return ArgumentType(name=argument.name, kind="other")


def python_type(value: Number) -> DType:
    """bool, int64, float64 or complex128, as Python reads the number; text that is none of them is float64."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    text = value.strip().lower()
    if text in ("true", "false"):
        return "bool"
    try:
        whole_number(text)
    except ValueError:
        return "complex128" if text.endswith("j") else "float64"
    return "int64"


def step_of(steps: Sequence[Step], buffers: Iterable[Buffer], index: int) -> str:
    """The path of the first launch that asks for the specialisation at `index`."""
    by_name = {buffer.name: buffer for buffer in buffers}
    wanted = specialisations(steps, by_name.values())[index]
    return next(
        path for path, step in walk(steps) if isinstance(step, Launch) and specialisation(step, by_name) == wanted
    )
