"""Writes the OCI configuration of one service of docker-compose.yml, so that crun alone can run it as an engine would.

buildah inspect IMAGE | python deploy/oci_bundle.py SERVICE ROOTFS VOLUMES BUNDLE [NAME=VALUE …]; in VOLUMES each
volume is a folder.
What differs from an engine: the network is the machine's own, and there is no init process.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
NAMESPACES = ("pid", "mount", "ipc", "uts", "cgroup")
# What engines hide and protect in /proc and /sys unless systempaths=unconfined.
MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats"),
    *("/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/firmware"),
)
PROTECTED = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_PRIVATE = ["nosuid", "noexec", "nodev"]
_MOUNTS: tuple[tuple[str, str, list[str]], ...] = (
    ("/proc", "proc", _PRIVATE),
    ("/dev", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
    ("/dev/pts", "devpts", ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]),
    ("/dev/shm", "tmpfs", [*_PRIVATE, "mode=1777", "size=65536k"]),
    ("/dev/mqueue", "mqueue", _PRIVATE),
    ("/sys", "sysfs", [*_PRIVATE, "ro"]),
    ("/sys/fs/cgroup", "cgroup", [*_PRIVATE, "ro"]),
)
_FROM_HOST = ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs")


def interpolated(value: Any, values: dict[str, str]) -> Any:
    """Compose's ${NAME:-default}, in every string of a document."""
    if isinstance(value, dict):
        return {key: interpolated(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, values) for item in value]
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: values.get(found[1]) or found[2], value)
    return value


def services(values: dict[str, str]) -> dict[str, dict[str, Any]]:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return dict(interpolated(document, values)["services"])


def configuration(
    service: dict[str, Any], image: dict[str, Any], rootfs: Path, volumes: Path, given: dict[str, str]
) -> dict[str, Any]:
    """`image` has Env, Entrypoint and WorkingDir, as a builder writes them; `given` is added to the environment."""
    uid, gid = map(int, service["user"].split(":"))
    options = dict(item.split("=", 1) if "=" in item else item.split(":", 1) for item in service["security_opt"])
    environment = dict(item.split("=", 1) for item in image["Env"]) | service["environment"] | given
    mounts = [{"destination": to, "type": kind, "source": kind, "options": how} for to, kind, how in _MOUNTS]
    for text in service["tmpfs"]:
        to, how = text.split(":", 1)
        mounts.append({"destination": to, "type": "tmpfs", "source": "tmpfs", "options": how.split(",")})
    for text in service["volumes"]:
        name, to, *how = text.split(":")
        mounts.append({"destination": to, "type": "bind", "source": str(volumes / name), "options": ["bind", *how]})
    for path in _FROM_HOST:
        mounts.append({"destination": path, "type": "bind", "source": path, "options": ["bind", "ro"]})
    unconfined = options.get("systempaths") == "unconfined"
    linux: dict[str, Any] = {
        "namespaces": [{"type": name} for name in NAMESPACES],
        "maskedPaths": [] if unconfined else MASKED,
        "readonlyPaths": [] if unconfined else PROTECTED,
        "resources": {"pids": {"limit": service["pids_limit"]}},
    }
    if "seccomp" in options:
        linux["seccomp"] = seccomp(json.loads((ROOT / options["seccomp"]).read_text(encoding="utf-8")))
    return {
        "ociVersion": "1.0.2",
        "root": {"path": str(rootfs), "readonly": service["read_only"]},
        "hostname": "container",
        "process": {
            "user": {"uid": uid, "gid": gid},
            "args": [*image["Entrypoint"], *service["command"]],
            "cwd": image["WorkingDir"],
            "env": [f"{name}={value}" for name, value in environment.items()],
            "capabilities": {kind: [] for kind in ("bounding", "effective", "inheritable", "permitted", "ambient")},
            "noNewPrivileges": options["no-new-privileges"] == "true",
        },
        "mounts": mounts,
        "linux": linux,
    }


def seccomp(profile: dict[str, Any]) -> dict[str, Any]:
    """An engine's profile in the runtime's words; `archMap` and `comment` are the engine's own."""
    return {
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile["defaultErrnoRet"],
        "architectures": [item["architecture"] for item in profile["archMap"]],
        "syscalls": [{key: rule[key] for key in rule if key != "comment"} for rule in profile["syscalls"]],
    }


def main() -> None:
    name, rootfs, volumes, bundle, *given = sys.argv[1:]
    values = dict(item.split("=", 1) for item in given)
    image = json.loads(sys.stdin.read())["Docker"]["config"]
    written = configuration(services(values)[name], image, Path(rootfs), Path(volumes), values)
    Path(bundle).mkdir(parents=True, exist_ok=True)
    (Path(bundle) / "config.json").write_text(json.dumps(written, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
