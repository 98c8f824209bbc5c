"""Cooperative launches and clusters: what a compilation tells of them, what is refused, and runs of them."""

from __future__ import annotations

from typing import Any

import pytest

from engine.devices import gpu_errors
from engine.languages.cooperation import with_cooperation
from engine.languages.source_text import SourceText
from protocol.kernel import CompiledKernel, Entry, Resources
from tests.engine import child_jobs
from tests.engine.test_launch_checks import ENTRY, found, kernel, only

PTX = """
.version 9.0
.target sm_90
.visible .entry plain(
	.param .u64 p
)
{
	mov.u32 %r1, %nctaid.x;
	ret;
}
.visible .entry meets()
{
	mov.u32 %r3, %envreg2;
	ret;
}
.entry fixed()
.explicitcluster
.reqnctapercluster 2, 4, 1
{
	ret;
}
.visible .entry shares()
{
	mapa.u64 %rd7, %rd6, %r8;
	ret;
}
"""
HELPER = ".func (.param .b32 out) inner()\n{\n\tmov.u32 %r1, %envreg1;\n\tret;\n}\n"


def facts(ptx: str) -> dict[str, tuple[bool, bool, Any]]:
    names = ("plain", "meets", "fixed", "shares")
    entries = tuple(Entry(name=name, display=name, resources=Resources(registers=8)) for name in names)
    compiled = CompiledKernel(language="ptx", architecture="sm_90", toolchain="", ptx=ptx, entries=entries)
    told = with_cooperation(compiled).entries
    return {item.name: (item.synchronises_grid, item.uses_clusters, item.cluster) for item in told}


def test_the_ptx_tells_what_a_kernel_asks_of_its_blocks() -> None:
    expected = {
        "plain": (False, False, None),
        "meets": (True, False, None),
        "fixed": (False, True, (2, 4, 1)),
        "shares": (False, True, None),
    }
    assert facts(PTX) == expected
    assert all(meets for meets, _, _ in facts(PTX + HELPER).values())


CLUSTERS: list[tuple[dict[str, Any], str, str, str]] = [
    ({"grid": [8], "cluster": [3]}, "grid", "error", "8 blocks along x, which is no multiple of the cluster's 3"),
    ({"grid": [8, 3], "cluster": [2, 2]}, "grid", "error", "3 blocks along y"),
    ({"grid": [32], "cluster": [17]}, "cluster", "error", "a cluster of 17 × 1 × 1 has 17 blocks; at most 16"),
    ({"grid": [32], "cluster": [16]}, "cluster", "note", "16 blocks; every GPU with clusters has room for 8"),
    ({"grid": [32], "cluster": [0]}, "cluster", "error", "a cluster of 0 × 1 × 1 holds no block"),
]


@pytest.mark.parametrize(("config", "field", "severity", "message"), CLUSTERS)
def test_clusters(config: dict[str, Any], field: str, severity: str, message: str) -> None:
    items = [item for item in found(kernel(ENTRY), **config) if message in item.message]
    only(items, severity, f"steps.0.config.{field}", message)


def test_clusters_that_fit_are_not_spoken_of() -> None:
    assert found(kernel(ENTRY), grid=[8, 4], cluster=[2, 4]) == []


def test_clusters_need_their_architecture() -> None:
    items = found(kernel(ENTRY, architecture="sm_89"), grid=[8], cluster=[2])
    only(items, "error", "steps.0.config.cluster", "sm_89 has no clusters of blocks; sm_90 and later do")


def test_a_kernel_may_fix_its_clusters() -> None:
    fixed = kernel(ENTRY.model_copy(update={"cluster": (4, 1, 1), "uses_clusters": True}))
    assert found(fixed, grid=[8]) == found(fixed, grid=[8], cluster=[4]) == []
    only(found(fixed, grid=[6]), "error", "steps.0.config.grid", "6 blocks along x")
    item = only(found(fixed, grid=[8], cluster=[2]), "error", "steps.0.config.cluster", "clusters of 4 × 1 × 1 blocks")
    assert item.help == "Leave the clusters of the launch empty."


def test_a_cooperative_grid_must_be_resident() -> None:
    # 1,024 threads of 32 registers: two blocks an SM, 132 SMs.
    assert found(kernel(ENTRY), grid=[264], block=[1024], cooperative=True) == []
    item = only(
        found(kernel(ENTRY), grid=[265], block=[1024], cooperative=True), "error", "steps.0.config.cooperative",
        "265 blocks are too many: H200 has 132 SMs, and each holds 2 of these blocks, 264 together",
    )  # fmt: skip
    assert item.help is not None
    assert item.help.startswith("Launch at most 264 blocks")
    assert found(kernel(ENTRY), grid=[265], block=[1024]) == []


def test_a_missing_barrier_is_a_warning() -> None:
    meets = kernel(ENTRY.model_copy(update={"synchronises_grid": True}))
    only(found(meets), "warning", "steps.0.config.cooperative", "this launch is not cooperative")
    assert found(meets, cooperative=True) == []


SUM = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void twice(int *a) {
  a[blockIdx.x] = blockIdx.x;
  cg::this_grid().sync();
  if (threadIdx.x == 0) a[gridDim.x + blockIdx.x] = a[(blockIdx.x + 1) % gridDim.x] + 10;
}"""


def run(text: str, count: int, grid: int = 8, block: int = 32, seconds: float = 9, **config: Any) -> child_jobs.Job:
    """One launch on a buffer `a` of zeros."""
    step = {
        "kind": "launch",
        "config": {"grid": [grid], "block": [block], **config},
        "arguments": [{"kind": "buffer", "buffer": "a"}],
    }
    asked = child_jobs.request(text, buffers=[child_jobs.buffer("a", shape=count)], steps=[step])
    return child_jobs.ran(asked, deadline_seconds=seconds)


def test_the_grid_meets_where_the_launch_is_cooperative() -> None:
    outcome = run(SUM, 16, cooperative=True)
    expected = [*range(8), *((k + 1) % 8 + 10 for k in range(8))]
    assert child_jobs.array(outcome, "a").tolist() == expected
    (launched,) = outcome.kind("launched")
    assert (launched["cooperative"], launched["cluster"]) == (True, None)


def test_grid_sync_without_a_cooperative_launch_is_named_at_its_line() -> None:
    outcome = run(SUM, 16)
    (finding,) = outcome.kind("found")
    assert (finding["code"], finding["class"], finding["span"]["line"]) == ("not-cooperative", "synchronisation", 5)
    assert "make it cooperative" in finding["message"]


def test_the_launch_gives_clusters() -> None:
    text = """#include <cooperative_groups.h>
__global__ void k(int *a) {
  auto c = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) a[blockIdx.x] = 10 * c.num_blocks() + c.block_rank();
}"""
    outcome = run(text, 8, cluster=[4])
    assert child_jobs.array(outcome, "a").tolist() == [40, 41, 42, 43] * 2
    assert outcome.kind("launched")[0]["cluster"] == [4, 1, 1]


def test_blocks_that_wait_for_blocks_which_cannot_start_are_told() -> None:
    text = """__global__ void k(int *a) {
  if (threadIdx.x == 0) { atomicAdd(a, 1); while (*(volatile int *)a < gridDim.x) {} }
}"""
    outcome = run(text, 1, grid=265, block=1024, seconds=1.5)
    told = next(item["diagnostic"] for item in outcome.kind("diagnosed"))
    assert (told["code"], told["field"]) == ("resident-blocks", "steps.0.config.grid")
    assert told["message"].startswith("1 of the 265 blocks have not started: at most 264 are resident")
    fits = run(text, 1, grid=264, block=1024)
    assert child_jobs.array(fits, "a").tolist() == [264]


def test_a_gpu_s_trap_is_explained_where_the_barrier_is_missing() -> None:
    source = SourceText("", "k.cu")
    missing = gpu_errors.finding(gpu_errors.TRAP, "steps.0", "", source, lacks_barrier=True)
    assert "make the launch cooperative" in missing.message
    assert "make the launch cooperative" not in gpu_errors.finding(gpu_errors.TRAP, "steps.0", "", source).message
