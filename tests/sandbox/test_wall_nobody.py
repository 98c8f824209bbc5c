"""The way through user namespaces, and weak mode, as an ordinary user with no cgroup to divide."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import fork_server, landlock
from sandbox.launcher import Sandbox, SandboxUnavailable
from sandbox.probe import isolation

NO_NAMESPACES = """
from sandbox import namespaces
def refuse(*arguments, **options):
    raise PermissionError(1, "no namespaces here")
namespaces.enter = refuse
"""

EXPECTED = {
    "answer": ("ok",),
    "spin": ("limit:cpu", "limit:wall"),
    "sleep": ("limit:wall",),
    "memory": ("limit:memory",),
    "output": ("limit:output",),
    "threads": ("limit:pids",),
    "fr01_passwd": ("ok", "error"),
    "fr05_proc_root": ("ok",),
    "nw08_other_families": ("ok",),
    "pr04_kill_all": ("ok", "signal:SIGKILL", "signal:SIGTERM"),
    "pr10_userns": ("ok",),
}


def test_jobs_of_an_ordinary_user(strong: Sandbox) -> None:
    """Root plays it as uid 65534; for anybody else the whole suite goes this way already."""
    if os.getuid() != 0:
        assert strong.report.namespaces
        return
    script = Path(__file__).parent / "as_nobody.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["isolation"] == "strong"
    for mode in ("strong", "weak"):
        assert report[mode]["cgroup"] is False
        assert report[mode]["kernel"] == ["ok", "00002842"]
        for name, (verdict, text) in report[mode]["jobs"].items():
            assert verdict in EXPECTED[name], (mode, name, verdict, text)
            assert "PWNED" not in text and "OPEN" not in text, (mode, name, text)
    assert {name: outcome[0] for name, outcome in report["strong"]["jobs"].items()}.keys() == EXPECTED.keys()


def test_report_and_probe_agree(strong: Sandbox, weak: Sandbox) -> None:
    found = isolation()
    assert found.mode == strong.report.mode == "strong"
    assert found.cgroup == strong.report.cgroup == weak.report.cgroup
    assert found.landlock_abi == strong.report.landlock_abi > 0
    assert weak.report.mode == "weak"
    assert not weak.report.namespaces
    assert strong.report.canaries > 10


@pytest.mark.parametrize("mode", ["strong", "weak", "auto"])
def test_no_isolation_is_refused(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"import sys; sys.path[:0] = sys.argv[2:]\n{NO_NAMESPACES}\n{fork_server._BOOTSTRAP}"
    monkeypatch.setattr(fork_server, "_BOOTSTRAP", text)
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    with pytest.raises(SandboxUnavailable) as caught:
        Sandbox(mode, profiles=("python",))  # type: ignore[arg-type]
    words = {"strong": ["no namespaces here"], "weak": ["no Landlock"]}
    for word in words.get(mode, ["no namespaces here", "no Landlock"]):
        assert word in str(caught.value)


def test_auto_goes_weak_where_a_security_module_refuses_mounts(weak: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a desktop whose AppArmor lets anybody make a user namespace and then use it for nothing."""
    refuse = NO_NAMESPACES.replace("namespaces.enter", "linux.mount").replace("import namespaces", "import linux")
    text = f"import sys; sys.path[:0] = sys.argv[2:]\n{refuse}\n{fork_server._BOOTSTRAP}"
    monkeypatch.setattr(fork_server, "_BOOTSTRAP", text)
    with Sandbox("auto", profiles=("python",)) as box:
        assert box.report.mode == "weak"
        assert any("strong: PermissionError: [Errno 1] no namespaces here" in reason for reason in box.report.reasons)
        assert box.start("python", b"print(6 * 7)").wait().stdout == b"42\n"
    with pytest.raises(SandboxUnavailable, match="no namespaces here"):
        Sandbox("strong", profiles=("python",))
