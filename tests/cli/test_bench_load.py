"""The load benchmark: what counts as ended, lost and refused, and a small measurement of a real server."""

from typing import Any

import pytest

from cli import bench_streams
from cli.bench_load import Press, summary, table

OK, WRONG, LOST = Press(202, "ok", 1.0), Press(202, "error", 3.0), Press(202, "", 9.0)
REFUSED, BROKEN = Press(429, "", 0.1), Press(0, "", 0.2)


@pytest.mark.parametrize(
    ("presses", "expected"),
    [
        ([OK, OK, WRONG], {"ended": 3, "ok": 2, "lost": 0, "refused": 0, "p50": 1.0, "p95": 3.0, "longest": 3.0}),
        ([OK, LOST], {"ended": 1, "ok": 1, "lost": 1, "refused": 0, "p95": 1.0, "longest": 1.0}),
        ([REFUSED, BROKEN], {"ended": 0, "lost": 0, "refused": 1, "statuses": {"429": 1, "0": 1}, "p95": None}),
    ],
)
def test_a_run_without_an_end_is_lost_and_takes_no_part_in_the_times(
    presses: list[Press], expected: dict[str, Any]
) -> None:
    found = summary(presses)
    assert {name: found[name] for name in expected} == expected
    head, row = table([{"workers": 2, "sessions": len(presses), **found}])
    assert len(head) == len(row)


@pytest.mark.service
def test_every_reader_gets_every_event_and_every_run_is_taken() -> None:
    figures = bench_streams.measure(readers=20, posts=40, seconds=1)
    streams, posts = figures["streams"], figures["posts"]
    assert (streams["readers"], streams["runs"], streams["ended"], streams["missing"]) == (20, 2, 20, 0)
    assert streams["received"] == streams["emitted"] * 10 == 500
    assert 0 < streams["p50"] <= streams["p95"] <= streams["p99"] < 60
    assert (posts["accepted"], posts["sent"]) == (40, 40)
    assert 0 < posts["p50"] <= posts["p99"] < 60
    assert [len(row) for row in bench_streams.table(figures)] == [5, 5, 5]
