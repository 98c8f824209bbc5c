"""Sources of Numba through the children that a run takes them through: translate, compile, launch."""

from __future__ import annotations

from typing import Any

from engine import child_entry
from engine.translate import job as translating
from protocol.kernel import CompiledKernel
from protocol.run import CompileJob, RunRequest, TranslateJob, compile_request
from protocol.translation import Translation
from tests.engine.child_jobs import Job, launched, request

HEAD = "from numba import cuda\nimport numpy as np\nimport math\n"


def translated(run: RunRequest) -> Job:
    job = Job()
    translating.translate_job(TranslateJob(request=compile_request(run)).model_dump_json().encode(), {}, job)
    return job


def compiled(run: RunRequest) -> Job:
    """Translate and compile; the compile step is left out where the translation fails."""
    job = translated(run)
    if "translation" in job.artifacts:
        made = Translation.model_validate_json(job.artifacts["translation"])
        wanted = CompileJob(request=compile_request(run), run=run, device="emulator", translation=made)
        child_entry.compile_job(wanted.model_dump_json().encode(), {}, job)
    return job


def ran(run: RunRequest) -> Job:
    code = compiled(run)
    assert code.messages() == []
    return launched(run, code)


def kernel(job: Job) -> CompiledKernel:
    return CompiledKernel.model_validate_json(job.artifacts["kernel"])


def array_of(name: str, dtype: str = "float32", *shape: int, **init: Any) -> dict[str, Any]:
    init.setdefault("kind", "zeros")
    return {"name": name, "dtype": dtype, "shape": list(shape) or [32], "role": "inout", "init": init}


def run_of(
    text: str,
    *arguments: dict[str, Any],
    grid: tuple[int, ...] = (1,),
    block: tuple[int, ...] = (32,),
    entry: str = "",
    shared: int = 0,
    **fields: Any,
) -> RunRequest:
    """A run of one launch. An argument is a buffer as `array_of` makes it, or a scalar's name, value and dtype."""
    steps = [launch(*arguments, grid=grid, block=block, entry=entry, shared=shared)]
    return run_of_steps(text, steps, [item for item in arguments if "shape" in item], **fields)


def run_of_steps(text: str, steps: list[dict[str, Any]], buffers: list[dict[str, Any]], **fields: Any) -> RunRequest:
    made = request(text, buffers=buffers, steps=steps, **fields)
    source = made.source.model_copy(update={"language": "numba", "file_name": "kernel.py"})
    return made.model_copy(update={"source": source})


def launch(*arguments: dict[str, Any], grid: Any = (1,), block: Any = (32,), entry: str = "", shared: int = 0) -> Any:
    given = [
        {"kind": "buffer", "name": item["name"], "buffer": item["name"]}
        if "shape" in item
        else {"kind": "scalar", **item}
        for item in arguments
    ]
    config = {"grid": list(grid), "block": list(block), "dynamic_shared_bytes": shared}
    return {"kind": "launch", "entry": entry, "config": config, "arguments": given}


def number(name: str, value: Any, dtype: str | None = None) -> dict[str, Any]:
    return {"name": name, "value": value, **({} if dtype is None else {"dtype": dtype})}
