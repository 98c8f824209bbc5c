"""What the CUDA driver's error numbers mean to the user of a kernel, in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.languages.source_text import SourceText
from protocol.diagnostics import Diagnostic
from protocol.events import FindingClass, Found

ASK_EMULATOR = "Run it on the emulator to see which."
NO_RESULTS = "A GPU's memory cannot be read after that, so there are no results."

OUT_OF_MEMORY, NOT_STARTED, NO_DEVICE, NO_BINARY, NOT_READY, ASSERTION, TRAP = 2, 3, 100, 209, 600, 710, 719


@dataclass(frozen=True, slots=True)
class Meaning:
    """A fault of a kernel: class and code of its finding, and a sentence that a launch begins."""

    kind: FindingClass
    code: str
    sentence: str


# cudaError_t and CUresult agree on these numbers (driver_types.h, cuda.h).
FAULTS: dict[int, Meaning] = {
    700: Meaning("memory", "illegal-address", "A thread used an address that is in no allocation."),
    714: Meaning("memory", "stack", "A thread's call stack overflowed or was overwritten."),
    715: Meaning("trap", "illegal-instruction", "A thread met an instruction that the GPU does not know."),
    716: Meaning("memory", "misaligned", "A thread used an address that is no multiple of the size that it accessed."),
    717: Meaning("memory", "address-space", "A thread used an address of another memory space than the access is for."),
    718: Meaning("memory", "bad-function-pointer", "A thread jumped to an address that holds no code."),
    719: Meaning("trap", "launch-failure", "The GPU stopped the kernel: a trap, or a fault that it does not name."),
    702: Meaning("limit", "wall", "The GPU's own watchdog stopped the kernel: it drives a display."),
    ASSERTION: Meaning("assert", "assert", "An assertion of the kernel failed."),
}
"""Errors after which the context is gone: every later call answers the same number."""

REFUSALS: dict[int, tuple[str, str]] = {
    1: ("invalid-launch", "The driver refuses this launch: a configuration or an argument is not valid."),
    OUT_OF_MEMORY: ("out-of-memory", "The GPU has not enough free memory."),
    9: ("invalid-launch", "The driver refuses this launch: its configuration is not possible on this GPU."),
    98: ("no-kernel", "The compiled code holds no such kernel."),
    200: ("bad-code", "The driver cannot read the compiled code."),
    NO_BINARY: ("no-binary", "The compiled code is not for this GPU."),
    500: ("no-kernel", "The compiled code holds no such kernel."),
    701: ("too-many-resources", "A block of this launch takes more registers or shared memory than the GPU has."),
    720: ("cooperative-launch", "The grid does not fit the GPU at once, which a cooperative launch needs."),
    912: ("cluster-size", "The GPU cannot hold a cluster of this size, or the grid is no multiple of it."),
}
"""Errors that refuse a call and change nothing: code and sentence of the diagnostic."""

ATTACHING: dict[int, str] = {
    NOT_STARTED: "it was started before a fork; that is a fault of ours",
    35: "there is no driver for CUDA 13 or later (version 580) whose library can be loaded",
    46: "another program holds it for itself",
    NO_DEVICE: "there is no NVIDIA GPU that this process may use",
    101: "there is no GPU of that number",
    304: "the driver was refused a system call or a file that it needs",
    802: "the system behind it is not ready yet (the fabric manager of an NVSwitch machine)",
    803: "the driver's library and its kernel module have different versions",
    804: "the driver is older than CUDA 13; version 580 or later is needed",
    999: "the driver does not say why; its kernel module may not be loaded",
}
"""Errors when a GPU is first used."""

# As the driver writes it to standard error: file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `…` failed.
_FAILED_ASSERTION = re.compile(
    r"^(?P<file>[^\n]*?):(?P<line>\d+): (?P<function>[^\n]*?): block: \[(?P<block>\d+,\d+,\d+)\], "
    r"thread: \[(?P<thread>\d+,\d+,\d+)\] Assertion `(?P<text>[^\n]*)` failed\.",
    re.MULTILINE,
)


def finding(status: int, step: str, said: str, source: SourceText, lacks_barrier: bool = False) -> Found:
    """A fault of a kernel as an event. `said` is what the driver wrote to standard error meanwhile.

    `lacks_barrier`: the kernel uses the grid's barrier, and its launch is not cooperative.
    """
    assertion = _FAILED_ASSERTION.search(said) if status == ASSERTION else None
    if assertion is not None:
        return _failed_assertion(assertion, step, source)
    unknown = Meaning("trap", f"cuda-{status}", f"The GPU stopped the kernel: CUDA error {status}.")
    meaning = FAULTS.get(status, unknown)
    message = f"{meaning.sentence} The GPU does not say which thread or line. {ASK_EMULATOR} {NO_RESULTS}"
    if lacks_barrier and status == TRAP:
        message = f"{meaning.sentence} The kernel uses grid.sync(): make the launch cooperative. {NO_RESULTS}"
    return Found.model_validate({"class": meaning.kind, "code": meaning.code, "message": message, "step": step})


def _failed_assertion(match: re.Match[str], step: str, source: SourceText) -> Found:
    block, thread = (tuple(map(int, match[name].split(","))) for name in ("block", "thread"))
    span = source.span(int(match["line"])) if match["file"].rpartition("/")[2] == source.file_name else None
    who = f"Thread ({', '.join(map(str, thread))}) of block ({', '.join(map(str, block))})"
    return Found.model_validate(
        {
            "class": "assert",
            "code": "assert",
            "message": f"{who}: assertion `{match['text']}` failed. {NO_RESULTS}",
            "span": span,
            "block": block,
            "thread": thread,
            "step": step,
        }
    )


def refusal(status: int, field: str, detail: str = "") -> Diagnostic:
    """A call that the driver refused, for the field of the request that asked for it."""
    code, sentence = REFUSALS.get(status, (f"cuda-{status}", f"The GPU's driver answered with CUDA error {status}."))
    message = f"{sentence} {detail}".rstrip()
    return Diagnostic(severity="error", message=message, origin="launch", code=code, field=field)


def attaching(status: int) -> str:
    """Why a GPU cannot be used at all."""
    return ATTACHING.get(status, f"the driver answered with CUDA error {status}")


def wrong_architecture(wanted: str, name: str, architecture: str) -> Diagnostic:
    """A kernel that is compiled for another architecture than the GPU's."""
    return Diagnostic(
        severity="error",
        message=f"The kernel is compiled for {wanted}, and {name} is {architecture}.",
        origin="launch",
        code="architecture",
        field="architecture",
        help=f"Choose {architecture} as the architecture, or the emulator as the device.",
    )


def printf_note(ring_bytes: int) -> Diagnostic:
    """What a launch printed may not have fitted the ring that the GPU keeps for it."""
    message = (
        f"A GPU keeps {ring_bytes >> 20} MiB of what one launch prints and drops the oldest of it: "
        "lines may be missing at the beginning"
    )
    return Diagnostic(severity="note", message=message, origin="launch", code="printf-buffer")
