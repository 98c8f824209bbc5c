"""Finds what looks wrong with the launches of a run before it runs: each rule is a function of one launch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pydantic import TypeAdapter

from engine.launching.plan import Plan, plan
from engine.linting.barriers import divergent
from engine.linting.bounds import bounds, shared_bounds
from engine.linting.configurations import configuration, uncompiled
from engine.linting.context import Launched, finding, launches
from engine.linting.filling import filling
from engine.linting.grids import coverage
from engine.linting.memory import banks, strides
from protocol.diagnostics import Diagnostic, Fix
from protocol.dtypes import INTEGER_BITS, ITEM_BYTES
from protocol.kernel import CompiledKernel
from protocol.launch import Launch, walk
from protocol.run import RunRequest

Rule = Callable[[Launched], Iterator[Diagnostic]]
RULES: tuple[Rule, ...] = (bounds, shared_bounds, coverage, divergent, strides, banks, filling)
MOST = 64
"""Findings of one answer."""
_FINDINGS = TypeAdapter(tuple[Diagnostic, ...])
_ORDER = {"error": 0, "warning": 1, "note": 2, "advice": 3}
_LIMITS = frozenset({
    "block-zero", "block-axis", "block-threads", "launch-bounds", "grid-zero", "grid-axis", "shared-memory",
    "registers",
})  # fmt: skip


def lint_artifact(run: RunRequest, kernel: CompiledKernel | None) -> bytes:
    """A JSON list of Diagnostic; without a kernel of what the launches alone show."""
    return _FINDINGS.dump_json(lint(run, kernel))


def lint(run: RunRequest, kernel: CompiledKernel | None) -> tuple[Diagnostic, ...]:
    """All findings, errors first, each place and kind once."""
    steps = {path: step for path, step in walk(run.steps) if isinstance(step, Launch)}
    found: list[Diagnostic] = []
    if kernel is None:
        for path, step in steps.items():
            found += configuration(path, step, run.buffers, run.architecture, None)
            found += uncompiled(path, step, run.buffers)
        return _told(found)
    planned = plan(run, kernel)
    for path, step in steps.items():
        launch = planned.launches.get(path)
        found += configuration(path, step, run.buffers, run.architecture, launch.entry if launch else None)
    found += _planned(run, planned)
    for one in launches(run, kernel, planned, steps):
        for rule in RULES:
            found += rule(one)
    found += _unlaunched(kernel, planned)
    return _told(found)


def _planned(run: RunRequest, planned: Plan) -> Iterator[Diagnostic]:
    """What the checks before every launch say, dtypes with their fix; limits are told with theirs before."""
    for item in planned.diagnostics:
        if item.code in _LIMITS or (item.severity != "error" and item.code != "buffer-dtype"):
            continue
        update: dict[str, object] = {"origin": "lint"}
        if item.code == "buffer-dtype":
            update |= _dtype(run, planned, item)
        yield item.model_copy(update=update)


def _dtype(run: RunRequest, planned: Plan, item: Diagnostic) -> dict[str, object]:
    """How bad another dtype is, and the buffer that gets the type which the parameter points to."""
    path, _, position = (item.field or "").partition(".arguments.")
    for match in planned.launches[path].matches:
        if str(match.position) == position and match.buffer is not None and match.parameter.dtype is not None:
            wanted, given = match.parameter.dtype, match.buffer.dtype
            place = next(index for index, buffer in enumerate(run.buffers) if buffer.name == match.buffer.name)
            fix = Fix(title=f"Make {match.buffer.name} {wanted}", field=f"buffers.{place}.dtype", value=wanted)
            # char and unsigned char, int and unsigned: the same bits read with another sign.
            alike = {wanted, given} <= set(INTEGER_BITS) and ITEM_BYTES[wanted] == ITEM_BYTES[given]
            severity = "error" if item.severity == "error" else "note" if alike else "warning"
            return {"severity": severity, "fix": fix}
    return {}


def _unlaunched(kernel: CompiledKernel, planned: Plan) -> Iterator[Diagnostic]:
    launched = {launch.entry.name for launch in planned.launches.values()}
    if not launched:
        return
    for entry in kernel.entries:
        if entry.name not in launched and entry.compiled:
            span = None if entry.line is None else {"line": entry.line}
            made = finding("note", "never-launched", f"{entry.display.partition('(')[0]} is never launched")
            yield Diagnostic.model_validate({**made.model_dump(), "span": span, "field": None if span else "steps"})


def _told(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    kept: dict[object, Diagnostic] = {}
    for item in found:
        kept.setdefault((item.code, item.field, item.span), item)
    return tuple(sorted(kept.values(), key=lambda item: _ORDER[item.severity])[:MOST])
