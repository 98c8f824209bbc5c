"""How a job's end, a diagnostic or a finding becomes the verdict and message of a run."""

from dataclasses import fields

from protocol.diagnostics import Diagnostic
from protocol.events import Found
from sandbox.launcher import JobLimits, JobOutcome

_WHO = {
    "compile": "The compiler",
    "translate": "Numba",
    "launch": "The kernel",
    "reference": "The reference",
    "baseline": "The baseline",
}

_LIMITS = {
    "limit:wall": "{who} was stopped after {wall:g} s of wall time, the limit of this service.",
    "limit:cpu": "{who} was stopped after {cpu:g} s of processor time, the limit of this service.",
    "limit:memory": "{who} needed more than {memory_mib:,} MiB of memory, the limit of this service.",
    "limit:output": "{who} wrote more than {output:,} bytes to its standard streams, the limit of this service.",
    "limit:log": "{who} printed more than {log:,} bytes, the limit of this service; what came before is shown.",
    "limit:result": "{who} returned more than {result_mib:,} MiB of results, the limit of this service.",
    "limit:pids": "{who} started more than {pids} threads or processes, the limit of this service.",
    "limit:files": "{who} used more files or scratch space than this service allows.",
}


def finished(outcome: JobOutcome, kind: str, limits: JobLimits) -> tuple[str, str]:
    """Verdict and message for a job of `kind` that did not end well."""
    verdict = outcome.verdict
    who = _WHO[kind]
    if verdict == "cancelled":
        return verdict, "Cancelled while compiling." if kind in ("compile", "translate") else "Cancelled while running."
    if verdict in _LIMITS:
        values = {item.name: getattr(limits, item.name) for item in fields(limits)}
        mib = {"memory_mib": limits.memory >> 20, "result_mib": limits.result >> 20}
        return verdict, _LIMITS[verdict].format(who=who, **mib, **values)
    if verdict.startswith("signal:"):
        return "signal", f"{who}'s process ended by {verdict.removeprefix('signal:')}. This may be a fault of ours."
    if kind in ("reference", "baseline", "translate"):  # its process is the user's to break
        return "error", f"{who}'s process ended before it was done."
    return "error", f"{who}'s process failed. This is a fault of ours, not of your kernel."


def worst(cause: Diagnostic | Found) -> tuple[str, str]:
    """Verdict and message where the engine itself said why it stopped."""
    if isinstance(cause, Found):
        return (f"limit:{cause.code}" if cause.class_ == "limit" else "error"), cause.message
    return ("compile-error" if cause.origin in ("compiler", "assembler", "emulator") else "error"), cause.message
