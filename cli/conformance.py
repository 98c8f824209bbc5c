"""`warpyard conformance`: every launch of a truth folder through the sandbox, compared with what a real GPU gave."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

OUTPUTS = ("exact", "tolerance", "different", "unsupported", "failed")
DEFECTS = ("found", "missed")


def conformance(
    folder: Annotated[Path, typer.Argument(help="Holds cases.json, kernels/ and outputs_sm_NN.json and .npz.")],
    device: Annotated[str, typer.Option(help="emulator or gpu.")] = "emulator",
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write counts and cases there.", show_default=False)
    ] = None,
    only: Annotated[str, typer.Option(help="Only cases whose name holds this text.", show_default=False)] = "",
) -> None:
    """Compare a device with the measured truth. Exit code 1 where anything differs, fails or is missed."""
    from cli.devices import resolve
    from cli.local import opened, perform
    from cli.truth import judge, load
    from cli.usage import Refused

    chosen = resolve(device)
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise Refused(f"--json {json_file}: {json_file.parent} is no folder")
    cases = [case for case in load(folder) if only in case.name]
    if chosen.gpu is not None:
        planted = sum(1 for case in cases if case.defect)
        cases = [case for case in cases if not case.defect]
        typer.echo(
            f"on {chosen.gpu.name}; {planted} cases with a planted defect are the emulator's: a GPU names no line"
        )
    if not cases:
        raise Refused(f"--only {only}: no case of {folder} is called so")
    rows: dict[str, dict[str, object]] = {}
    with opened(chosen.gpu) as local:
        for case in cases:
            watched = case.request.model_copy(update={"instruments": ("checks",)})
            request = watched if case.defect else case.request
            result, finished = perform(local, request, chosen.name, lambda event: None)
            if chosen.gpu is None and not case.defect:
                # The outputs are of the plain kernel; that nothing is found in it takes the checks.
                again, _ = perform(local, watched, chosen.name, lambda event: None)
                result = result.model_copy(update={"findings": (*result.findings, *again.findings)})
            blobs = {}
            for event in result.buffers:
                data = local.stores.blobs.get(event.digest)
                if data is not None:
                    blobs[event.name] = data
            verdict = judge(case, result, blobs)
            local.forget()
            rows[case.name] = {
                "outcome": verdict.outcome,
                "detail": verdict.detail,
                "defect": case.defect or None,
                "verdict": finished.verdict,
                "seconds": round(finished.seconds, 4),
            }
            typer.echo(f"{verdict.outcome:11} {case.name:28} {verdict.detail}".rstrip())
    outcomes = Counter(row["outcome"] for row in rows.values())
    if json_file is not None:
        counts = {
            "outputs": {name: outcomes[name] for name in OUTPUTS},
            "defects": {name: outcomes[name] for name in DEFECTS},
        }
        json_file.write_text(json.dumps({"device": chosen.name, **counts, "cases": rows}, indent=1) + "\n")
    typer.echo("outputs: " + ", ".join(f"{outcomes[name]} {name}" for name in OUTPUTS))
    typer.echo("defects: " + ", ".join(f"{outcomes[name]} {name}" for name in DEFECTS))
    bad = sum(outcomes[name] for name in ("different", "unsupported", "failed", "missed"))
    raise typer.Exit(1 if bad else 0)
