"""`warpyard bench estimate`: the estimate of GPU times beside what an H200 measured."""

from collections.abc import Sequence

from benchmarks.estimate import counting, judging
from benchmarks.estimate.judging import Figures, Judged
from cli.usage import Refused

HEAD = ("kernel", "shapes", "median", "worst", "limited by", "best shape", "estimate's", "slower by")


def judged(recount: bool, left_out: bool) -> list[Judged]:
    """Every timed launch with its estimate. `recount`: of counts made now. `left_out`: by constants fitted without its
    kernel. Raises Refused where the timings are not there."""
    try:
        profiles = [profile for _, profile in counting.count()] if recount else None
        samples = judging.samples(profiles)
    except OSError as error:
        raise Refused(f"{error.filename}: {(error.strerror or str(error)).lower()}") from None
    return judging.left_out(samples) if left_out else judging.judge(samples)


def table(items: Sequence[Judged]) -> list[tuple[str, ...]]:
    """Rows for `show`: one a kernel."""
    groups: dict[str, list[Judged]] = {}
    for item in items:
        groups.setdefault(item.timing.kernel, []).append(item)
    regrets = judging.regrets(items)
    return [HEAD, *(_row(kernel, group, regrets.get(kernel)) for kernel, group in groups.items())]


def _row(kernel: str, group: Sequence[Judged], regret: float | None) -> tuple[str, ...]:
    errors = sorted(item.error for item in group)
    best = min(group, key=lambda item: item.timing.warm)
    chosen = min(group, key=lambda item: item.estimated.seconds)
    limit = chosen.estimated.bounds[0].resource
    shapes = (_shape(best), _shape(chosen), f"{100 * (regret - 1):.0f} %") if regret is not None else ("", "", "")
    return (kernel, str(len(group)), f"{errors[len(errors) // 2]:.2f}", f"{errors[-1]:.2f}", limit, *shapes)


def _shape(item: Judged) -> str:
    x, y, z = item.timing.block
    return "x".join(map(str, (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)))


def summary(figures: Figures, left_out: bool) -> list[str]:
    """What stands below the table."""
    median, p90, worst = judging.constant_figures()
    how = "each kernel by constants fitted on the others" if left_out else "by the model's own constants"
    return [
        f"ratio of estimate and measurement, {how}: median {figures.median:.2f}, p90 {figures.p90:.2f}, "
        f"worst {figures.worst:.2f}",
        f"of one constant for all: median {median:.2f}, p90 {p90:.2f}, worst {worst:.2f}",
        f"recommended shape at most 10 % slower than the best: {figures.close} of {figures.kernels} kernels "
        f"({100 * figures.close / figures.kernels:.0f} %)",
    ]
