"""What a sweep comes to, in words made of its cells' figures: which is best, how clearly, and what limits it."""

from __future__ import annotations

from collections.abc import Sequence

from engine.launching.shapes import cell_label
from protocol.sweep import Concluded, Swept

NEAR = 1.05
"""Cells within this ratio of the best are as good as it."""
_FULL = 0.999
_EMPTY_TAIL = 0.3
_FEW_WAVES = 3.0
_NAMED = 4


def conclude(rows: Sequence[Swept]) -> Concluded:
    """`rows` are all cells of one sweep, in any order."""
    right = [row for row in rows if row.state == "ran" and row.same_as_first is not False and row.passed is not False]
    timed = sorted((row for row in right if _seconds(row) is not None), key=lambda row: (_seconds(row), row.index))
    wrong = _wrong(rows)
    if not timed:
        text = _without_times(right)
        return Concluded(best=_fullest(right), text=" ".join(filter(None, [text, wrong])))
    best, worst = timed[0], timed[-1]
    said = [_first(timed), _limit(best)]
    near = [row for row in timed[1:] if _ratio(row, best) <= NEAR]
    if near and len(near) < len(timed) - 1:
        names = ", ".join(label(row) for row in near[:_NAMED]) + (" …" if len(near) > _NAMED else "")
        said.append(f"{_count(near)} within {100 * (NEAR - 1):.0f} % of it: {names}.")
    if _ratio(worst, best) > NEAR:
        said.append(_against(worst, best))
    return Concluded(best=best.index, text=" ".join(filter(None, [*said, wrong])))


def label(row: Swept) -> str:
    """Such as 16 × 16 with TILE=16."""
    return cell_label(row.block, tuple(row.macros.items()))


def _seconds(row: Swept) -> float | None:
    """GPU time where there is any, else the estimate of it; a processor's time counts for nothing."""
    if row.clock == "gpu-events" and row.seconds is not None:
        return row.seconds
    return row.estimate.seconds if row.estimate is not None else None


def _ratio(row: Swept, best: Swept) -> float:
    return (_seconds(row) or 0.0) / (_seconds(best) or 1.0)


def _first(timed: Sequence[Swept]) -> str:
    best, worst = timed[0], timed[-1]
    how = "measured"
    if best.clock != "gpu-events" and best.estimate is not None:
        how = f"estimated for the {best.estimate.gpu}, not measured"
    slowest = ""
    if _ratio(worst, best) > NEAR:
        slowest = f"; the slowest, {label(worst)}, takes {_ratio(worst, best):.2g} × as long"
    elif len(timed) > 1:
        slowest = f"; all others lie within {100 * (NEAR - 1):.0f} % of it"
    return f"Best of {len(timed)}: {label(best)} at {_time(_seconds(best) or 0.0)} ({how}){slowest}."


def _limit(row: Swept) -> str:
    """What the cell is limited by, as far as it is known."""
    parts = []
    if row.estimate is not None and row.estimate.bounds:
        bound = row.estimate.bounds[0]
        parts.append(f"It is limited by {bound.resource}, which alone would take {_time(bound.seconds)}")
    held = _held(row)
    if held:
        parts.append(held if not parts else f"with {held}")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _held(row: Swept) -> str:
    occupancy = row.occupancy
    if occupancy is None:
        return ""
    share = occupancy.warps_per_sm / occupancy.max_warps_per_sm
    full = "every warp slot of an SM taken" if share > _FULL else f"{100 * share:.0f} % of an SM's warp slots taken"
    limited = "" if share > _FULL else f" ({' and '.join(occupancy.limiters)} allow no more)"
    return full + limited


def _against(worst: Swept, best: Swept) -> str:
    """Why another cell takes longer: the figures in which it is worse."""
    reasons = []
    if worst.estimate is not None and best.estimate is not None and worst.estimate.limiter != best.estimate.limiter:
        reasons.append(f"is limited by {worst.estimate.limiter}")
    one, other = worst.occupancy, best.occupancy
    if one is not None and other is not None:
        if one.warps_per_sm / one.max_warps_per_sm < other.warps_per_sm / other.max_warps_per_sm:
            reasons.append(
                f"keeps {one.warps_per_sm} warps on an SM instead of {other.warps_per_sm}, limited by "
                f"{' and '.join(one.limiters)}"
            )
        if one.waves < _FEW_WAVES and one.tail > _EMPTY_TAIL and one.tail > other.tail:
            reasons.append(f"leaves {100 * one.tail:.0f} % of its last wave empty")
    if worst.spill_bytes > best.spill_bytes:
        reasons.append(f"spills {worst.spill_bytes} bytes a thread")
    idle = -(-_threads(worst) // 32) * 32 - _threads(worst)
    if idle:
        reasons.append(f"leaves {idle} lanes of its last warp idle")
    return f"{label(worst)} {_listed(reasons)}." if reasons else ""


def _wrong(rows: Sequence[Swept]) -> str:
    failed = [row for row in rows if row.state == "ran" and (row.same_as_first is False or row.passed is False)]
    if not failed:
        return ""
    names = ", ".join(label(row) for row in failed[:_NAMED]) + (" …" if len(failed) > _NAMED else "")
    return f"Not counted, since their results are wrong or differ: {names}."


def _without_times(right: Sequence[Swept]) -> str:
    """Of an emulated sweep that was not estimated: occupancy is all there is to go by."""
    index = _fullest(right)
    if index is None:
        return "No cell ran right."
    best = next(row for row in right if row.index == index)
    return f"Highest occupancy: {label(best)}, with {_held(best)}. Times of the emulator say nothing of a GPU."


def _fullest(right: Sequence[Swept]) -> int | None:
    held = [row for row in right if row.occupancy is not None]
    best = max(held, key=lambda row: row.occupancy.warps_per_sm if row.occupancy else 0, default=None)
    return None if best is None else best.index


def _threads(row: Swept) -> int:
    x, y, z = row.block
    return x * y * z


def _count(rows: Sequence[Swept]) -> str:
    return "One other lies" if len(rows) == 1 else f"{len(rows)} others lie"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
