"""What a memory cgroup's files say, in both versions' words."""

from pathlib import Path

import pytest

from sandbox.cgroup import JobCgroup

V1_EVENTS = "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n"
V2_EVENTS = "low 0\nhigh 0\nmax 12\noom 3\noom_kill {}\noom_group_kill 0\n"


@pytest.mark.parametrize(
    ("version", "events", "text"), [(1, "memory.oom_control", V1_EVENTS), (2, "memory.events", V2_EVENTS)]
)
@pytest.mark.parametrize("kills", [0, 1, 7])
def test_running_out_is_read(tmp_path: Path, version: int, events: str, text: str, kills: int) -> None:
    (tmp_path / events).write_text(text.format(kills))
    assert JobCgroup(tmp_path, version, set()).ran_out() == (kills > 0)


@pytest.mark.parametrize(
    ("version", "present", "written"),
    [
        (
            1,
            ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
            {"memory.limit_in_bytes": "4096", "memory.memsw.limit_in_bytes": "4096"},
        ),
        (1, ("memory.limit_in_bytes",), {"memory.limit_in_bytes": "4096"}),
        (2, ("memory.max", "memory.swap.max"), {"memory.max": "4096", "memory.swap.max": "0"}),
        (2, ("memory.max",), {"memory.max": "4096"}),
    ],
)
def test_limits_are_written_where_the_kernel_has_them(
    tmp_path: Path, version: int, present: tuple[str, ...], written: dict[str, str]
) -> None:
    for name in present:
        (tmp_path / name).touch()
    JobCgroup(tmp_path, version, set()).limit(4096)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == written
