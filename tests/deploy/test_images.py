"""The Dockerfile: linted, pinned, holding all that its programs import and nothing that may not be passed on."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import locks
import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
IGNORED = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
STAGES = dict(re.findall(r"^FROM \S+ AS (\S+)$(.*?)(?=^FROM |\Z)", TEXT, re.MULTILINE | re.DOTALL))
FROM = {name: base for base, name in re.findall(r"^FROM (\S+) AS (\S+)$", TEXT, re.MULTILINE)}
"""Stage -> what it is made from."""
LAZY = {"cli"}
"""Its commands import what they need when they are called; those of developers are not for containers."""


def copied(stage: str) -> set[str]:
    """What a stage and the stages that it is made from take from the checkout."""
    found: set[str] = set()
    while stage in STAGES:
        for line in re.findall(r"^COPY (?!--from)(.+)$", STAGES[stage], re.MULTILINE):
            found |= set(line.split()[:-1])
        stage = FROM[stage]
    return found


def hadolint(path: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).parent / "hadolint", "--failure-threshold", "info", path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_hadolint_finds_nothing() -> None:
    done = hadolint(ROOT / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


def test_hadolint_would_find_something(tmp_path: Path) -> None:
    wrong = tmp_path / "Dockerfile"
    wrong.write_text(TEXT.replace("WORKDIR /warpyard", "RUN cd /warpyard"), encoding="utf-8")
    assert "DL3003" in hadolint(wrong).stdout


def test_the_base_image_is_one_release() -> None:
    bases = re.findall(r"^ARG PYTHON_IMAGE=(\S+)$", TEXT, re.MULTILINE)
    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.1[1-4]\.\d+-slim-[a-z]+", bases[0])
    assert set(FROM.values()) <= {"${PYTHON_IMAGE}", *STAGES}


@pytest.mark.parametrize("target", ["app", "worker"])
def test_a_target_runs_as_nobody_in_particular_and_tells_its_health(target: str) -> None:
    body = STAGES[target]
    assert re.findall(r"^USER (.+)$", body, re.MULTILINE) == ["10001:10001"]
    assert "HEALTHCHECK" in body
    assert f'"health", "{target}"]' in body
    assert 'ENTRYPOINT ["python", "deploy/container.py"]' in body


def test_the_gpu_worker_is_a_worker() -> None:
    assert FROM["worker-gpu"] == "worker"
    assert "USER" not in STAGES["worker-gpu"]


def test_every_package_is_installed_by_its_hash_and_none_is_built() -> None:
    installs = re.findall(r"-m pip .*?(?=&&|\n\n|\nFROM)", TEXT, re.DOTALL)
    assert len(installs) == 3
    for install in installs:
        assert {"--require-hashes", "--no-deps", "--only-binary"} <= set(install.split())


def test_what_is_copied_is_in_the_build_context() -> None:
    kept = {line[1:] for line in IGNORED if line.startswith("!")}
    assert IGNORED[1] == "*"
    for stage in STAGES:
        for name in copied(stage):
            assert (ROOT / name).exists(), name
            assert any(name == path or name.startswith(f"{path}/") for path in kept), name


def imported(path: Path, deep: bool) -> Iterator[str]:
    """Top-level names that a module imports; without `deep` only those that it imports as it is loaded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if deep else tree.body:
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("stage", ["app-code", "worker-code"])
def test_an_image_has_every_folder_that_its_programs_import(stage: str) -> None:
    ours = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    held = copied(stage) & ours
    wanted = {
        name
        for folder in held
        for path in (ROOT / folder).rglob("*.py")
        for name in imported(path, deep=folder not in LAZY)
        if name in ours
    }
    assert wanted <= held


def test_no_image_holds_what_may_not_be_passed_on() -> None:
    """Of NVIDIA's wheels only some files may be redistributed, so none of them goes into an image."""
    everything = locks.entries(LOCK)
    licensed = {name for name in everything if name.startswith("nvidia")}
    assert len(licensed) >= 4
    assert set(locks.entries(locks.part(LOCK, "toolchain"))) == licensed
    for image in locks.LEFT_OUT:
        held = set(locks.entries(locks.part(LOCK, image)))
        assert not held & licensed
        assert {"numpy", "redis", "pydantic"} <= held
        assert held <= set(everything)
    gpu = (ROOT / "requirements-gpu.lock").read_text(encoding="utf-8")
    extra = set(locks.entries(locks.part(gpu, "worker"))) - set(everything)
    assert {"cupy-cuda13x"} <= extra
    assert not [name for name in extra if name.startswith("nvidia")]
    assert "requirements" not in " ".join(re.findall(r"--requirement (\S+)", TEXT))


def test_parts_of_a_lock_keep_their_hashes() -> None:
    for image in ("app", "worker", "toolchain"):
        for name, block in locks.entries(locks.part(LOCK, image)).items():
            assert block in LOCK
            assert block.count("--hash=sha256:") >= 1, name
            assert re.match(rf"{re.escape(name)}==\S+", block)
