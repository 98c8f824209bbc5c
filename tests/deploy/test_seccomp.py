"""The workers' seccomp profile: lets through what the sandbox and its jobs call, and refuses what none needs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sandbox import seccomp
from sandbox.syscalls import NUMBERS

ROOT = Path(__file__).resolve().parents[2]
PROFILE: dict[str, Any] = json.loads((ROOT / "deploy" / "seccomp-worker.json").read_text(encoding="utf-8"))
ALLOWED = {
    name
    for rule in PROFILE["syscalls"]
    if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule
    for name in rule["names"]
}
REFUSED = {name for rule in PROFILE["syscalls"] if rule["action"] == "SCMP_ACT_ERRNO" for name in rule["names"]}
DANGEROUS = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key"),
    *("io_uring_setup", "open_by_handle_at", "setns", "unshare", "chroot", "init_module", "kexec_load", "reboot"),
    *("move_mount", "open_tree", "fsopen", "mount_setattr", "pidfd_getfd", "personality", "syslog", "swapon"),
)


def test_what_is_named_nowhere_does_not_exist() -> None:
    assert (PROFILE["defaultAction"], PROFILE["defaultErrnoRet"]) == ("SCMP_ACT_ERRNO", 38)


def test_jobs_may_call_what_their_own_filter_allows() -> None:
    wanted = {*seccomp.COMPUTE, *seccomp.SCRATCH, *seccomp.DRIVER.calls, *seccomp.DRIVER_START.calls}
    assert wanted - ALLOWED == {name for name in wanted if name in ("socket",)}


@pytest.mark.parametrize("name", ["clone", "mount", "umount2", "pivot_root", "sethostname", "seccomp", "pidfd_open"])
def test_the_sandbox_can_build_its_walls(name: str) -> None:
    assert name in ALLOWED


def test_it_names_every_wall_that_the_sandbox_calls_for_by_number() -> None:
    text = (ROOT / "sandbox" / "landlock.py").read_text(encoding="utf-8")
    assert {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"} <= ALLOWED
    assert re.search(r"44[456]", text)


@pytest.mark.parametrize("name", DANGEROUS)
def test_dangerous_calls_are_refused_by_name(name: str) -> None:
    assert name in REFUSED
    assert name not in ALLOWED


def test_sockets_are_of_four_families() -> None:
    rules = [rule for rule in PROFILE["syscalls"] if rule["names"] == ["socket"]]
    assert sorted(rule["args"][0]["value"] for rule in rules) == [1, 2, 10, 16]
    assert {(len(rule["args"]), rule["args"][0]["index"], rule["args"][0]["op"]) for rule in rules} == {
        (1, 0, "SCMP_CMP_EQ")
    }


def test_no_call_is_named_twice() -> None:
    names = [name for rule in PROFILE["syscalls"] if "args" not in rule for name in rule["names"]]
    assert len(names) == len(set(names))


def test_both_processors_and_no_32_bit_calls() -> None:
    assert PROFILE["archMap"] == [
        {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
        {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
    ]


def test_no_other_call_that_the_sandbox_knows_is_left_open() -> None:
    """These are answered as if the kernel did not have them."""
    queues = {f"{kind}{what}" for kind in ("msg", "sem") for what in ("get", "ctl")} | {"msgsnd", "msgrcv", "semop"}
    assert set(NUMBERS) - ALLOWED - REFUSED == {"socket", "_sysctl", "uselib"} | queues
