"""With a layer off, canaries and corpus must report a breach; else their green would mean little.

Only cases that are harmless outside a wall: they read, list, open sockets, and connect to our own listeners.
"""

import dataclasses

import pytest

from cli.attacks.corpus import GotThrough
from cli.attacks.planted import Planted
from cli.attacks.python import beside, play
from sandbox import breach, fork_server
from sandbox.launcher import Sandbox, SandboxUnavailable
from tests.security.test_python_attacks import PYTHON

OFF = {
    "landlock": "from sandbox import landlock; landlock.restrict = lambda *a: 0",
    "seccomp": "from sandbox import seccomp; seccomp.install = lambda *a: None",
    "environment": "import os; os.environ['REDIS_URL'] = 'x'; os.environ.clear = lambda: None",
}


def without(monkeypatch: pytest.MonkeyPatch, *layers: str) -> None:
    """Zygotes started from now on skip these layers."""
    code = fork_server._BOOTSTRAP.replace("main(int", f"{'; '.join(OFF[layer] for layer in layers)}; main(int")
    monkeypatch.setattr(fork_server, "_BOOTSTRAP", code)


@pytest.mark.parametrize(
    ("mode", "layers", "attempts"),
    [
        ("weak", ("landlock",), ("planted file",)),
        ("weak", ("seccomp",), ("unix socket", "user namespace", "fork")),
        ("weak", ("landlock", "seccomp"), ("planted file", "loopback connection", "fork", "exec")),
        ("weak", ("environment",), ("environment",)),
        ("strong", ("seccomp",), ("unix socket", "raise a limit", "outlive init", "memfd", "fork")),
        ("strong", ("environment",), ("environment",)),
    ],
)
def test_canaries_notice(
    planted: Planted, monkeypatch: pytest.MonkeyPatch, mode: str, layers: tuple[str, ...], attempts: tuple[str, ...]
) -> None:
    without(monkeypatch, *layers)
    with pytest.raises(SandboxUnavailable, match="succeeded") as caught:
        Sandbox(mode, profiles=("python",))  # type: ignore[arg-type]
    assert [attempt for attempt in attempts if f"python: {attempt} (" not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("layers", "ids"),
    [
        (("landlock",), ("fr01_passwd", "fr08_kernel_files")),
        (("seccomp",), ("nw08_other_families",)),
        (
            ("landlock", "seccomp"),
            ("fr01_passwd", "nw01_tcp_redis", "nw02_tcp_redis_host", "nw04_tcp_web", "nw05_tcp_api"),
        ),
    ],
)
def test_corpus_notices(
    planted: Planted, monkeypatch: pytest.MonkeyPatch, layers: tuple[str, ...], ids: tuple[str, ...]
) -> None:
    without(monkeypatch, *layers)
    monkeypatch.setattr(breach, "find_breaches", lambda *_: [])
    with Sandbox("weak", profiles=("python",)) as box, beside(box) as sibling:
        for attack in PYTHON:
            if attack.id in ids:
                lenient = dataclasses.replace(attack, expect=("any",))
                with pytest.raises(GotThrough, match=r"PWNED|CANARY|passwd|open|connected"):
                    play(lenient, box, sibling, planted)
