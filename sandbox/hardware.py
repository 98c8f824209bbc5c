"""One kernel and launch on every GPU of the table: compiled once for each architecture, fitted to each model."""

from collections.abc import Callable

from protocol.gpus import GpuFacts, gpu_table
from protocol.inspection import GpuFit, InspectReport, InspectRequest
from protocol.kernel import Occupancy

Ask = Callable[[InspectRequest], InspectReport]


def every_gpu(request: InspectRequest, own: InspectReport, ask: Ask) -> tuple[GpuFit, ...]:
    """A fit for each GPU and entry. `own` is the report for the request's own architecture, `ask` makes the others."""
    reports = {own.architecture: own}
    fits: list[GpuFit] = []
    for gpu in gpu_table().gpus:
        if gpu.architecture not in reports:
            compile = request.compile.model_copy(update={"architecture": gpu.architecture})
            other = request.model_copy(update={"compile": compile, "every_gpu": False, "lint": None})
            reports[gpu.architecture] = ask(other)
        fits += _fits(gpu, reports[gpu.architecture])
    return tuple(fits)


def _fits(gpu: GpuFacts, report: InspectReport) -> list[GpuFit]:
    errors = [item.message for item in report.diagnostics if item.severity == "error"]
    if report.verdict != "ok":
        reason = errors[0] if errors else report.message or report.verdict
        why = f"it does not compile for {gpu.architecture}: {reason}"
        return [GpuFit(gpu=gpu.name, architecture=gpu.architecture, why_not=why)]
    by_entry = {item.entry: item.occupancy for item in report.occupancy}
    fits = []
    for entry in report.entries:
        occupancy = by_entry.get(entry.name)
        why = "" if occupancy else _reason(entry.display, errors)
        fits.append(
            GpuFit(
                gpu=gpu.name,
                architecture=gpu.architecture,
                entry=entry.name,
                resources=entry.resources,
                occupancy=None if occupancy is None else on_gpu(occupancy, gpu),
                why_not=why,
            )
        )
    return fits


def _reason(display: str, errors: list[str]) -> str:
    """Of the errors the one that names the kernel, where one does."""
    named = [message for message in errors if display.partition("(")[0] in message]
    return next(iter([*named, *errors]), "this launch is not possible")


def on_gpu(occupancy: Occupancy, gpu: GpuFacts) -> Occupancy:
    """The same launch with the waves of another model of its architecture."""
    places = occupancy.blocks_per_sm * gpu.sm_count
    blocks = round(occupancy.waves * occupancy.blocks_per_sm * occupancy.sm_count)
    last = blocks % places if places else 0
    return occupancy.model_copy(
        update={
            "gpu": gpu.name,
            "sm_count": gpu.sm_count,
            "waves": blocks / places if places else 0.0,
            "tail": 1 - last / places if last else 0.0,
        }
    )
