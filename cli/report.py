"""What a run shows in the terminal: diagnostics and prints as they come, then results, occupancy and times."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cli.sweep_table import sweep_lines
from cli.terminal import Terminal, diagnostic_text, excerpt, plain
from cli.usage import as_typed
from protocol.baseline import Baselined
from protocol.checks import NumpyReference
from protocol.diagnostics import Diagnostic
from protocol.estimate import Estimated
from protocol.events import BufferRead, Checked, Counted, Diagnosed, Event, Finished, Found, Launched, Printed, Timed
from protocol.film import Filmed
from protocol.kernel import Entry, Occupancy
from protocol.result import RunResult
from protocol.run import RunRequest
from protocol.sweep import Concluded, Swept

if TYPE_CHECKING:
    from numpy import ndarray

FIRST_ELEMENTS = 8


class Live:
    """Shows events as they come: what was found goes to `errors`, what the kernel printed to `out`."""

    def __init__(
        self, out: Terminal, errors: Terminal, request: RunRequest, file: str, names: Sequence[tuple[str, str]] = ()
    ) -> None:
        """`names`: paths in the request and what the user typed there."""
        self._out, self._errors, self._file, self._names = out, errors, file, names
        self._request, self._source = request, request.source.text
        self._cells: set[int] = set()

    def __call__(self, event: Event) -> None:
        match event:
            case Diagnosed():
                diagnostic = event.diagnostic
                if diagnostic.field:
                    diagnostic = diagnostic.model_copy(update={"field": as_typed(diagnostic.field, self._names)})
                self._errors.line(diagnostic_text(self._errors, diagnostic, self._source, self._file))
                for line in self._of_reference(event.diagnostic):
                    self._errors.line(line)
            case Found():
                self._errors.line(finding_text(self._errors, event, self._source, self._file))
            case Printed():
                self._out.text(event.text)
            case Launched():
                self._out.line(self._out.paint("dim", launch_line(event)))
            case Counted():
                self._out.line(counters_text(event))
            case Swept():
                self._cells.add(event.index)
                self._errors.progress(f"{len(self._cells)} cells known")
            case Concluded() | Finished():
                self._errors.progress("")
            case _:
                pass

    def _of_reference(self, diagnostic: Diagnostic) -> list[str]:
        """The line of a reference that a diagnostic is about."""
        if diagnostic.span is None or diagnostic.field is None or not diagnostic.field.startswith("checks."):
            return []
        check = self._request.checks[int(diagnostic.field.split(".")[1])]
        return excerpt(self._errors, diagnostic.span, check.text) if isinstance(check, NumpyReference) else []


def launch_line(event: Launched) -> str:
    """Such as: saxpy · grid 4096 × block 256 · PTX emulator (2 threads)."""
    shared = f" · {event.dynamic_shared_bytes:,} B dynamic shared" if event.dynamic_shared_bytes else ""
    shared += f" · clusters of {_extents(event.cluster)}" if event.cluster else ""
    shared += " · cooperative" if event.cooperative else ""
    return (
        f"{plain(event.entry)} · grid {_extents(event.grid)} × block {_extents(event.block)}{shared} · "
        f"{plain(event.device_name)}"
    )


def _extents(extents: Sequence[int]) -> str:
    x, y, z = extents
    return f"({x}, {y}, {z})" if z > 1 else f"({x}, {y})" if y > 1 else str(x)


def finding_text(terminal: Terminal, found: Found, source: str, file: str) -> str:
    """A defect with its place in the source, and which thread met it."""
    place = f"{file}:{found.span.line}:{found.span.column}: " if found.span else ""
    severity = "error" if found.fatal else "warning"
    head = f"{place}{terminal.paint(severity, f'{found.class_}:')} {plain(found.message)} [{found.code}]"
    parts = [head, *(excerpt(terminal, found.span, source) if found.span else ())]
    if found.thread is not None and found.block is not None:
        where = f"  = thread {tuple(found.thread)} of block {tuple(found.block)}"
        if found.warp is not None and found.lane is not None:
            where += f", warp {found.warp}, lane {found.lane}"
        parts.append(where)
    return "\n".join(parts)


def counters_text(counted: Counted) -> str:
    """What an instrument counted over one launch, a row each; zeros are left out."""
    rows = [(name.replace("_", " "), value) for name, value in counted.counters.items() if value]
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(["counted", *(f"  {name:<{width}}  {value:>15,}" for name, value in rows)])


def array_of(event: BufferRead | Filmed, data: bytes) -> "ndarray":
    """The buffer as a NumPy array of its dtype (bfloat16 by ml_dtypes) and shape."""
    import ml_dtypes
    import numpy

    dtype = numpy.dtype(ml_dtypes.bfloat16 if event.dtype == "bfloat16" else event.dtype)
    return numpy.frombuffer(data, dtype).reshape(event.shape)


def summary(
    terminal: Terminal, result: RunResult, finished: Finished, blob: Callable[[str], bytes | None], fresh: bool
) -> list[str]:
    """The lines after the last event: buffers, checks, occupancy, times, and how it ended.

    `fresh`: this command compiled the source itself, although the run then found it in the cache.
    """
    lines = [_buffer_line(terminal, event, blob(event.digest)) for event in result.buffers]
    if result.film:
        lines.append(_film_line(terminal, result.film))
    lines += [_check_line(terminal, check) for check in result.checks]
    lines += sweep_lines(terminal, result.sweep, result.conclusion) if result.sweep else []
    several = len(result.launches) > 1
    for launch in result.launches:
        if launch.occupancy is not None and not result.sweep:
            lines.append(f"{f'{plain(launch.entry)}: ' if several else ''}{occupancy_line(launch.occupancy)}")
    lines += [estimate_line(item, several) for item in result.estimates]
    lines += [baseline_line(item, result) for item in result.baselines if item.seconds is not None]
    if result.timings:
        lines.append(_times_line(result, fresh))
    if finished.verdict == "ok":
        lines.append(_end_line(terminal, result))
    else:
        lines.append(f"{terminal.paint('error', finished.verdict)}: {plain(finished.message)}".rstrip(": "))
    return lines


def _end_line(terminal: Terminal, result: RunResult) -> str:
    """ok, unless a run that came to its end met a defect or missed a check, as the exit code says too."""
    defects = sum(not found.advice for found in result.findings)
    missed = sum(not check.passed for check in result.checks)
    counts = [(defects, "defect", "found"), (missed, "check", "not passed")]
    said = [f"{count} {word}{'' if count == 1 else 's'} {ending}" for count, word, ending in counts if count]
    return terminal.paint("error", f"finished; {', '.join(said)}") if said else terminal.paint("good", "ok")


def _buffer_line(terminal: Terminal, event: BufferRead, data: bytes | None) -> str:
    extents = ",".join(map(str, event.shape))
    parts = [f"{terminal.paint('bold', event.name)}  {event.dtype}[{extents}]"]
    if event.minimum is not None:
        parts.append(f"min {_number(event.minimum)}  max {_number(event.maximum)}")
    if event.not_finite:
        parts.append(f"{event.not_finite:,} not finite")
    if data is not None:
        first = array_of(event, data).reshape(-1)[:FIRST_ELEMENTS].tolist()
        more = ", …" if event.bytes > len(data) or _count(event.shape) > FIRST_ELEMENTS else ""
        parts.append(f"[{', '.join(map(_number, first))}{more}]")
    return "  ".join(parts)


def _film_line(terminal: Terminal, frames: Sequence[Filmed]) -> str:
    first, last = frames[0], frames[-1]
    dtype = f"{first.dtype}[{len(frames)},{','.join(map(str, first.shape))}]"
    parts = [f"{terminal.paint('bold', f'film of {first.buffer}')}  {dtype}", f"rounds {first.round} to {last.round}"]
    low = [frame.minimum for frame in frames if frame.minimum is not None]
    high = [frame.maximum for frame in frames if frame.maximum is not None]
    if low and high:
        parts.append(f"min {_number(min(low, key=float))}  max {_number(max(high, key=float))}")
    return "  ".join(parts)


def _count(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _number(value: object) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _check_line(terminal: Terminal, check: Checked) -> str:
    if check.passed:
        return f"{terminal.paint('good', 'check passed')}  {check.buffer}"
    where = f"[{', '.join(map(str, check.index))}]" if check.index is not None else ""
    detail = f"{check.buffer}{where} is {check.got}, expected {check.expected}; {check.differing:,} elements differ"
    said = plain(check.message) or detail
    if check.thread is not None and check.block is not None:
        said += f"; thread {tuple(check.thread)} of block {tuple(check.block)}"
    return f"{terminal.paint('error', 'check failed')}  {said}"


def occupancy_line(occupancy: Occupancy, with_waves: bool = True) -> str:
    """Theoretical occupancy with the resource that limits it and, for a real grid, how that fills a named GPU."""
    share = 100 * occupancy.warps_per_sm / occupancy.max_warps_per_sm
    limits = ", ".join(f"{limit.resource} {limit.blocks}" for limit in occupancy.limits)
    waves = (
        f"; {occupancy.waves:.3g} waves on {occupancy.gpu} ({occupancy.sm_count} SMs)"
        if with_waves and occupancy.waves
        else ""
    )
    blocks = occupancy.driver_blocks_per_sm
    driver = "" if blocks is None else f"; its driver says {blocks} {'block' if blocks == 1 else 'blocks'}"
    return (
        f"occupancy  {share:.0f} %: {occupancy.blocks_per_sm} blocks, {occupancy.warps_per_sm} of "
        f"{occupancy.max_warps_per_sm} warps an SM on {occupancy.architecture}, limited by "
        f"{' and '.join(occupancy.limiters)} (blocks allowed: {limits}){driver}{waves}"
    )


def baseline_line(told: Baselined, result: RunResult) -> str:
    """Such as: baseline numba  1.2 ms (median of 9, 2 processors; first with compilation 812 ms); GPU 40 × faster."""
    assert told.seconds is not None
    first = f"; with its first start {_short(told.first_seconds)}" if told.first_seconds is not None else ""
    line = (
        f"baseline {plain(told.name)}  {_short(told.seconds)} (median of {told.samples}, {told.threads} "
        f"processor{'s' if told.threads > 1 else ''}{first})"
    )
    gpu, how = gpu_seconds(result)
    if gpu is None:
        return line
    times = told.seconds / gpu
    return f"{line}; the launches alone are {times:.3g} × {'faster' if times >= 1 else 'as fast'} on the GPU ({how})"


def gpu_seconds(result: RunResult) -> tuple[float | None, str]:
    """Seconds of all launches on a GPU, measured or else estimated, and which; never a processor's time."""
    measured = [timed.seconds for timed in result.timings if timed.stage == "run" and timed.clock == "gpu-events"]
    if measured:
        return sum(measured), "measured"
    estimates = [item.estimate for item in result.estimates]
    if estimates and all(item is not None for item in estimates):
        launches = {timed.step: timed.launches for timed in result.timings if timed.stage == "run"}
        total = sum(
            item.estimate.seconds * launches.get(item.step, 1) for item in result.estimates if item.estimate is not None
        )
        return total, f"estimated for the {estimates[0].gpu}, not measured" if estimates[0] else ""
    return None, ""


def estimate_line(told: Estimated, several: bool) -> str:
    """Such as: estimate  57 µs on the H200 SXM, limited by DRAM; not a measurement."""
    step = f" of {told.step}" if several else ""
    found = told.estimate
    if found is None:
        return f"estimate{step}  none: {plain(told.why_not)}"
    judged = f"on the {found.judged_on} half of such estimates were within {found.median_error:g} × of the time"
    if found.judged_on != found.gpu:
        judged += f"; on the {found.gpu} nobody has judged them"
    return (
        f"estimate{step}  {_short(found.seconds)} on the {found.gpu}, limited by {found.limiter}; "
        f"not a measurement ({judged})"
    )


def _short(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def _times_line(result: RunResult, fresh: bool) -> str:
    stages: dict[str, float] = {}
    clock = "wall"
    for timed in result.timings:
        stages[timed.stage] = stages.get(timed.stage, 0.0) + timed.seconds
        if timed.stage == "run":
            clock = timed.clock
    emulated = any(launch.device == "emulator" for launch in result.launches)
    note = " (GPU events)" if clock == "gpu-events" else " (emulator on the CPU, not GPU time)" if emulated else ""
    note = _repeated(result.timings) or note
    parts = [
        f"{stage} {milliseconds(stages[stage])}{note if stage == 'run' else ''}" for stage in STAGES if stage in stages
    ]
    if result.compiled and result.compiled.cached and not fresh:
        parts.insert(0, "compiled before")
    return "time  " + " · ".join(parts)


def _repeated(timings: Sequence[Timed]) -> str:
    """What the time of a GPU's launch is, in words; empty where none was timed so."""
    timed = next((timed for timed in timings if timed.stage == "run" and timed.clock == "gpu-events"), None)
    if timed is None:
        return ""
    if timed.cold_seconds is None or timed.first_seconds is None:
        return f" (GPU events{f'; {timed.note}' if timed.note else ''})"
    return (
        f" (GPU events, median of {timed.samples}; with a cold L2 {milliseconds(timed.cold_seconds)}, "
        f"the first {milliseconds(timed.first_seconds)})"
    )


STAGES = ("compile", "jit", "sandbox", "reference", "setup", "run", "repeat", "film", "transfer", "total")


def milliseconds(seconds: float) -> str:
    """Such as 3.52 ms or 1.20 s."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def resource_lines(entry: Entry) -> list[str]:
    """An entry with its parameters and what a thread and a block of it take."""
    resources = entry.resources
    parameters = ", ".join(f"{item.type} {item.name}".replace("* ", "*") for item in entry.parameters)
    barriers = "1 barrier" if resources.barriers == 1 else f"{resources.barriers} barriers"
    place = f"  (line {entry.line})" if entry.line else ""
    spills = f"{resources.spill_store_bytes} B stored and {resources.spill_load_bytes} B loaded by spills"
    return [
        f"{plain(entry.display)}({plain(parameters)}){place}",
        f"  {resources.registers} registers a thread · {resources.static_shared_bytes:,} B static shared a block · "
        f"{resources.local_bytes} B stack a thread · {spills}",
        f"  {resources.constant_bytes} B constant · {barriers} · "
        f"at most {resources.max_threads_per_block} threads a block",
        *_together(entry),
    ]


def _together(entry: Entry) -> list[str]:
    """What the kernel asks of its blocks together; nothing of most kernels."""
    parts = ["grid.sync(): needs a cooperative launch"] if entry.synchronises_grid else []
    if entry.cluster is not None:
        parts.append(f"clusters of {_extents(entry.cluster)} blocks")
    elif entry.uses_clusters:
        parts.append("clusters, whose size the launch gives")
    return [f"  {' · '.join(parts)}"] if parts else []


def timed_total(timings: Sequence[Timed], stage: str) -> float:
    """Seconds of one stage, over all its events."""
    return sum(timed.seconds for timed in timings if timed.stage == stage)
