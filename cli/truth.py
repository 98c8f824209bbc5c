"""The truth format: launches, what one real GPU gave for them, and which defects must be reported."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from cli.usage import Refused
from protocol.events import Found
from protocol.reading import Unreadable, read
from protocol.result import RunResult
from protocol.run import RunRequest

CLASSES = {
    "memcheck": "memory",
    "racecheck": "race",
    "global race": "race",
    "initcheck": "initialisation",
    "synccheck": "synchronisation",
    "trap": "trap",
}
"""Defect of a case -> class of the finding that must name it."""

ADVICE_SUFFICES = frozenset({"barrier_after_exit"})
"""Legal on Volta and later, so that advice at the line is enough."""


@dataclass(frozen=True)
class Expected:
    """An output buffer: dtype, SHA-256 of its bytes, and the bytes where they are kept."""

    dtype: str
    sha256: str
    array: numpy.ndarray | None


@dataclass(frozen=True)
class Case:
    name: str
    request: RunRequest
    defect: str
    lines: tuple[int, ...]
    outputs: Mapping[str, Expected]
    """By buffer name."""
    tolerance: float | None
    absolute: float


def load(folder: Path) -> list[Case]:
    """Every case of the folder. Raises Refused, naming the file and the case at fault."""
    try:
        rows = json.loads((folder / "cases.json").read_text())
        table = next(iter(sorted(folder.glob("outputs_sm_*.json"))), None)
        if table is None:
            raise Refused(f"{folder}: there is no outputs_sm_NN.json")
        sums = json.loads(table.read_text())
        arrays: Mapping[str, numpy.ndarray] = numpy.load(table.with_suffix(".npz"), allow_pickle=False)
    except OSError as error:
        raise Refused(f"{error.filename}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise Refused(f"{folder}: {error}") from None
    architecture = table.stem.removeprefix("outputs_")
    return [_case(folder, architecture, row, sums, arrays) for row in rows]


def _case(
    folder: Path,
    architecture: str,
    row: dict[str, Any],
    sums: Mapping[str, Any],
    arrays: Mapping[str, numpy.ndarray],
) -> Case:
    name = row.get("name", "a case without a name")
    try:
        request = _request(folder, architecture, row)
        outputs = {}
        for index, argument in enumerate(row["arguments"]):
            key = f"{name}.{index}"
            if "buffer" in argument and argument.get("role") != "in" and not row.get("defect"):
                known = sums[key]
                array = arrays.get(key)
                outputs[f"a{index}"] = Expected(known["dtype"], known["sha256"], array)
        return Case(
            name,
            request,
            row.get("defect") or "",
            tuple(row.get("lines") or ()),
            outputs,
            row.get("tolerance"),
            row.get("absolute", 0.0),
        )
    except OSError as error:
        raise Refused(f"{name}: {error.filename}: {(error.strerror or str(error)).lower()}") from None
    except KeyError as error:
        raise Refused(f"{name}: {error.args[0]} is missing") from None
    except (Unreadable, TypeError, ValueError) as error:
        raise Refused(f"{name}: {error}") from None


def _request(folder: Path, architecture: str, row: dict[str, Any]) -> RunRequest:
    buffers, arguments = [], []
    for index, given in enumerate(row["arguments"]):
        if "scalar" in given:
            arguments.append({"kind": "scalar", "dtype": given["scalar"], "value": given["value"]})
        elif "null" in given:
            arguments.append({"kind": "null"})
        else:
            arguments.append({"kind": "buffer", "buffer": f"a{index}"})
            buffers.append(
                {
                    "name": f"a{index}",
                    "dtype": given["buffer"],
                    "shape": given["shape"],
                    "init": _initialiser(given["init"]),
                    "role": given["role"],
                }
            )
    request = {
        "source": {"text": (folder / "kernels" / row["file"]).read_text(), "file_name": row["file"]},
        "architecture": architecture,
        "buffers": buffers,
        "steps": [
            {
                "kind": "launch",
                "entry": row["entry"],
                "config": {
                    "grid": row["grid"],
                    "block": row["block"],
                    "dynamic_shared_bytes": row["dynamic_shared_bytes"],
                },
                "arguments": arguments,
            }
        ],
        "device": "auto",
    }
    return read(RunRequest, json.dumps(request))


def _initialiser(init: Mapping[str, Any]) -> dict[str, object]:
    if "full" in init:
        return {"kind": "full", "value": init["full"]}
    if "random" in init:
        return {"kind": "uniform", "seed": init["random"]}
    if "normal" in init:
        return {"kind": "normal", "seed": init["normal"]}
    if "integers" in init:
        low, high = init["integers"]
        return {"kind": "integers", "low": low, "high": high, "seed": init["seed"]}
    for kind in ("zeros", "arange", "uninitialised"):
        if kind in init:
            return {"kind": kind}
    raise ValueError(f"unknown init {json.dumps(init)}")


@dataclass(frozen=True)
class Verdict:
    """How one case came out: exact, tolerance, different, unsupported or failed; found or missed for a defect."""

    outcome: str
    detail: str = ""


def judge(case: Case, result: RunResult, blobs: Mapping[str, bytes]) -> Verdict:
    """Compares a run with the truth. `blobs`: the buffers that were read back, by name."""
    refused = (item for item in result.diagnostics if item.origin == "emulator" and item.severity == "error")
    missing = next(refused, None)
    if missing is not None:
        return Verdict("missed" if case.defect else "unsupported", missing.message)
    if case.defect:
        return _judge_defect(case, result)
    if result.verdict != "ok":
        said = result.message or next((item.message for item in result.diagnostics if item.severity == "error"), "")
        return Verdict("failed", f"{result.verdict}: {said}")
    if wrong := [item for item in result.findings if not item.advice]:
        found = wrong[0]
        return Verdict("failed", f"a finding where there is no defect: {found.message}")
    verdict = Verdict("exact")
    for name, expected in case.outputs.items():
        if name not in blobs:
            return Verdict("failed", f"{name} was not read back")
        read_back = next(event for event in result.buffers if event.name == name)
        if read_back.digest == expected.sha256:
            continue
        if expected.array is None or case.tolerance is None:
            return Verdict("different", f"{name} differs{_where(blobs[name], expected)}")
        within = close(blobs[name], expected, case.tolerance, case.absolute)
        if not within:
            return Verdict("different", f"{name} is outside the tolerance{_where(blobs[name], expected)}")
        verdict = Verdict("tolerance")
    return verdict


def _judge_defect(case: Case, result: RunResult) -> Verdict:
    wanted = CLASSES.get(case.defect, case.defect)
    for found in result.findings:
        if found.class_ == wanted and found.span is not None and found.span.line in case.lines:
            return Verdict("found", found.message)
    if case.name in ADVICE_SUFFICES:
        for advice in result.diagnostics:
            if advice.span is not None and advice.span.line in case.lines:
                return Verdict("found", advice.message)
    return Verdict("missed", _nearest(result.findings, wanted) or f"{result.verdict}: {result.message}")


def _nearest(findings: Sequence[Found], wanted: str) -> str:
    for found in findings:
        line = found.span.line if found.span else "no line"
        if found.class_ == wanted:
            return f"{wanted}, but at {line}: {found.message}"
    return f"no {wanted} finding; there is {findings[0].class_}: {findings[0].message}" if findings else ""


def close(data: bytes, expected: Expected, tolerance: float, absolute: float) -> bool:
    """|got − want| ≤ tolerance · |want| + absolute for every element; NaN equals NaN."""
    assert expected.array is not None
    want = expected.array.astype(numpy.float64)
    got = numpy.frombuffer(data, expected.dtype).astype(numpy.float64).reshape(want.shape)
    with numpy.errstate(invalid="ignore"):
        near = numpy.abs(got - want) <= tolerance * numpy.abs(want) + absolute
    return bool(numpy.all(near | (got == want) | (numpy.isnan(got) & numpy.isnan(want))))


def _where(data: bytes, expected: Expected) -> str:
    if expected.array is None:
        return ""
    want = expected.array.reshape(-1)
    got = numpy.frombuffer(data, expected.dtype)
    if got.shape != want.shape:
        return f": {got.size} elements instead of {want.size}"
    differing = numpy.flatnonzero((got != want) & ~((got != got) & (want != want)))
    if not differing.size:
        return " in the bits of zeros or NaNs"
    first = int(differing[0])
    return f" at {differing.size} of {want.size} elements, first [{first}]: {got[first]}, not {want[first]}"
