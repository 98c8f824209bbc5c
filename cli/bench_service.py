"""Times of the whole service: a server of our own in an empty folder, asked over HTTP as the page does."""

import tempfile
from pathlib import Path

from cli.bench import spread
from cli.local import examples
from cli.served import served, submit

STAGES = ("queue", "sandbox", "compile", "jit", "setup", "run", "transfer")


def measure(rounds: int) -> list[tuple[str, ...]]:
    """Rows of name, p50, p95, count. Raises Refused where the server or a run fails."""
    request = next(example for example in examples() if example.id == "saxpy").payload.request
    body = request.model_dump_json()
    starts = []
    with tempfile.TemporaryDirectory(prefix="warpyard-bench-") as folder:
        with served(Path(folder)) as (_, first):
            pass
        for _ in range(2):
            with served(Path(folder)) as (_, again):
                starts.append(again)
        with served(Path(folder)) as (port, again):
            starts.append(again)
            for _ in range(3):
                submit(port, body)
            runs = [submit(port, body) for _ in range(rounds)]
    rows: list[tuple[str, ...]] = [
        ("service", "p50", "p95", "n"),
        spread("start to page, empty folder", [first]),
        spread("start to page", starts),
        spread("saxpy, 1 M elements: submit to finished", [whole for whole, _ in runs]),
    ]
    rows += [spread(f"  {stage}", [stages[stage] for _, stages in runs if stage in stages]) for stage in STAGES]
    return rows
