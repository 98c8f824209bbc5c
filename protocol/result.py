"""The result of a run as a fold of its events."""

from collections.abc import Iterable
from typing import Any, Literal

from protocol.base import SCHEMA_VERSION, Model
from protocol.baseline import Baselined
from protocol.diagnostics import Diagnostic
from protocol.estimate import Estimated
from protocol.events import (
    BufferRead,
    Checked,
    Compiled,
    Counted,
    Diagnosed,
    EventRecord,
    Finished,
    Found,
    Launched,
    Printed,
    Queued,
    Timed,
)
from protocol.film import Filmed
from protocol.sweep import Concluded, Swept
from protocol.trace import Traced

MAX_PRINTED_CHARACTERS = 1 << 20


class RunResult(Model):
    """The fold of a run's events, of its latest attempt."""

    schema_version: int = SCHEMA_VERSION
    state: Literal["queued", "running", "finished"] = "queued"
    attempt: int = 0
    device: str = ""
    verdict: str | None = None
    message: str = ""
    compiled: Compiled | None = None
    launches: tuple[Launched, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    findings: tuple[Found, ...] = ()
    printed: str = ""
    printed_truncated: bool = False
    counters: tuple[Counted, ...] = ()
    timings: tuple[Timed, ...] = ()
    buffers: tuple[BufferRead, ...] = ()
    checks: tuple[Checked, ...] = ()
    sweep: tuple[Swept, ...] = ()
    """A row for each cell, in the order of their indices."""
    conclusion: Concluded | None = None
    estimates: tuple[Estimated, ...] = ()
    traces: tuple[Traced, ...] = ()
    baselines: tuple[Baselined, ...] = ()
    film: tuple[Filmed, ...] = ()


def fold(records: Iterable[EventRecord]) -> RunResult:
    """The state that the records amount to. Records of an attempt replace those of an earlier one."""
    attempt = -1
    state: dict[str, Any] = {}
    printed: list[str] = []

    def append(key: str, value: object) -> None:
        state[key] = (*state.get(key, ()), value)

    for record in records:
        number = int(record.id.split("-")[0])
        if number < attempt:
            continue
        if number > attempt:
            attempt = number
            state = {key: value for key, value in state.items() if key == "device"}
            printed = []
        event = record.event
        match event:
            case Queued():
                state["device"] = event.device
            case Compiled():
                state["compiled"] = event
            case Launched():
                append("launches", event)
            case Diagnosed():
                append("diagnostics", event.diagnostic)
            case Found():
                append("findings", event)
            case Printed():
                printed.append(event.text)
            case Counted():
                append("counters", event)
            case Timed():
                append("timings", event)
            case BufferRead():
                append("buffers", event)
            case Checked():
                append("checks", event)
            case Swept():
                rows = {row.index: row for row in state.get("sweep", ())} | {event.index: event}
                state["sweep"] = tuple(rows[index] for index in sorted(rows))
            case Concluded():
                state["conclusion"] = event
            case Estimated():
                append("estimates", event)
            case Traced():
                append("traces", event)
            case Baselined():
                append("baselines", event)
            case Filmed():
                append("film", event)
            case Finished():
                state["verdict"], state["message"], state["state"] = event.verdict, event.message, "finished"
            case _:
                pass
        if state.get("state") != "finished":
            state["state"] = "queued" if isinstance(event, Queued) else "running"
    text = "".join(printed)
    state["printed"] = text[:MAX_PRINTED_CHARACTERS]
    state["printed_truncated"] = len(text) > MAX_PRINTED_CHARACTERS
    return RunResult(attempt=max(attempt, 0), **state)
