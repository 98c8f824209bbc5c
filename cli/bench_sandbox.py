"""Times of the sandbox: opening it, starting a job, and the smallest kernel through both kinds of job."""

import time

from cli.bench import spread
from cli.doctor import DOCTOR_RUN
from cli.local import opened, perform
from cli.report import timed_total
from cli.usage import Refused
from protocol.reading import read
from protocol.run import RunRequest


def measure(rounds: int) -> list[tuple[str, ...]]:
    """Rows of name, p50, p95, count. Raises Refused where the kernel fails."""
    request = read(RunRequest, DOCTOR_RUN)
    opening, starting, compiling, whole = [], [], [], []
    for _ in range(3):
        begin = time.perf_counter()
        with opened():
            opening.append(time.perf_counter() - begin)
    with opened() as local:
        mode = local.box.report.mode
        for index in range(rounds + 1):
            fresh = request.source.model_copy(update={"text": f"{request.source.text}// {time.time_ns()}"})
            cold, ended = perform(local, request.model_copy(update={"source": fresh}), "emulator", lambda event: None)
            if ended.verdict != "ok":
                raise Refused(f"the kernel ended with {ended.verdict}: {ended.message}", code=1)
            begin = time.perf_counter()
            warm, _ = perform(local, request, "emulator", lambda event: None)
            if index:
                whole.append(time.perf_counter() - begin)
                starting.append(timed_total(warm.timings, "sandbox"))
                compiling.append(timed_total(cold.timings, "compile") + timed_total(cold.timings, "jit"))
            local.forget()
    return [
        (f"sandbox ({mode})", "p50", "p95", "n"),
        spread("open, with canaries", opening),
        spread("start of a launch job", starting),
        spread("compile and code, not cached", compiling),
        spread("smallest run, cached", whole),
    ]
