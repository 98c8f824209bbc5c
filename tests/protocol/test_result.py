"""The fold of events: one attempt's facts, the latest one's."""

from protocol.events import Compiling, Event, EventRecord, Finished, Printed, Queued, Timed
from protocol.result import MAX_PRINTED_CHARACTERS, RunResult, fold
from protocol.sweep import Swept


def records(*pairs: tuple[str, Event]) -> RunResult:
    return fold(EventRecord(id=id_, at=0.0, event=event) for id_, event in pairs)


def test_nothing_yet() -> None:
    assert fold([]) == RunResult()


def test_states_follow_the_events() -> None:
    queued = ("0-1", Queued(device="emulator"))
    compiling = ("1-1", Compiling(attempt=1))
    finished = ("1-2", Finished(verdict="ok"))
    assert records(queued).state == "queued"
    assert records(queued, compiling).state == "running"
    done = records(queued, compiling, finished)
    assert (done.state, done.verdict, done.device, done.attempt) == ("finished", "ok", "emulator", 1)


def test_a_second_attempt_replaces_the_first() -> None:
    result = records(
        ("0-1", Queued(device="emulator")),
        ("1-1", Compiling(attempt=1)),
        ("1-2", Printed(text="lost")),
        ("2-1", Compiling(attempt=2)),
        ("1-3", Printed(text="stale")),
        ("2-2", Printed(text="kept")),
        ("2-3", Timed(stage="run", seconds=1.0)),
    )
    assert (result.printed, result.attempt, len(result.timings), result.device) == ("kept", 2, 1, "emulator")


def test_a_flood_of_text_is_cut_and_said_to_be() -> None:
    flood = [("1-1", Compiling(attempt=1))]
    text = "x" * 100_000
    result = records(*flood, *[(f"1-{n}", Printed(text=text)) for n in range(2, 20)])
    assert len(result.printed) == MAX_PRINTED_CHARACTERS
    assert result.printed_truncated


def test_a_sweep_is_kept_in_order() -> None:
    shapes = [
        Swept(index=index, step="steps.0", block=(32 << index, 1, 1), grid=(1, 1, 1), state="ran", registers=8)
        for index in range(2)
    ]
    assert records(*((f"1-{shape.index}", shape) for shape in shapes)).sweep == tuple(shapes)
