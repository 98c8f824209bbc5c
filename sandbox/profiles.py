"""What each kind of job may see and do, as data."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.seccomp import COMPUTE, DRIVER, DRIVER_START, SCRATCH, Policy

REPOSITORY = str(Path(__file__).resolve().parent.parent)

_MODELS = ("pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection")
_COMPUTE = ("numpy", "ml_dtypes", "llvmlite")
_NUMBA = ("numba", "numba_cuda", "_numba_cuda_redirector", "cuda", "nvidia", "packaging")
_OURS = ("engine", "emulator", "protocol")


@dataclass(frozen=True, slots=True)
class Profile:
    """Of one kind of job: its zygote, the packages it may read, whether it gets a scratch folder and a /proc.

    Kinds of one zygote share its imports and its root, but not what Landlock lets each of them read.
    """

    zygote: str
    packages: tuple[str, ...]
    scratch: bool = False
    proc: bool = False
    gpu: bool = False
    """Gets a GPU. Its process is forked and confined, and starts the driver, before a job is known."""

    @property
    def policy(self) -> Policy:
        """The calls that its jobs may make."""
        if self.gpu:
            return DRIVER
        return Policy((*COMPUTE, *SCRATCH)) if self.scratch else Policy(tuple(COMPUTE))

    @property
    def start_policy(self) -> Policy:
        """What else the driver's start may call, before there is a job."""
        return DRIVER_START


PROFILES: dict[str, Profile] = {
    # NVRTC and the emulator's code generation: reads headers, writes nothing.
    "compile": Profile("engine", packages=(*_OURS, *_MODELS, *_COMPUTE, "nvidia")),
    # Numba, which executes the source's Python text: makes PTX of it, which a compile job goes on with.
    "translate": Profile("numba", packages=(*_OURS, *_MODELS, *_COMPUTE, *_NUMBA)),
    # The emulator: threads and executable memory, no file of the user's, nothing writable.
    "launch": Profile("engine", packages=(*_OURS, *_MODELS, *_COMPUTE)),
    # An NVIDIA GPU: its device nodes, the driver's libraries, the bindings of CuPy.
    "launch-gpu": Profile("gpu", packages=(*_OURS, *_MODELS, *_COMPUTE, "cupy_backends", "cuda"), proc=True, gpu=True),
    # A NumPy reference, Python text on a run's arrays: the walls of a launch, and less to read.
    "reference": Profile("engine", packages=(*_OURS, *_MODELS, "numpy", "ml_dtypes")),
    # A baseline, the same with Numba and, where it is there, PyTorch.
    "baseline": Profile("numba", packages=(*_OURS, *_MODELS, *_COMPUTE, *_NUMBA, "torch")),
    # Python text: a scratch folder and a /proc of its own (both need namespaces; weak mode goes without).
    "python": Profile("python", packages=("numpy", "ml_dtypes"), scratch=True, proc=True),
}

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")

# What the driver reads there; in weak mode /proc is the machine's, and holds everybody's processes.
DRIVER_PROC = (
    "/proc/self",
    "/proc/driver/nvidia",
    *(f"/proc/{name}" for name in ("cpuinfo", "devices", "filesystems", "meminfo", "modules", "stat", "version")),
    "/proc/sys/vm",
)
DRIVER_WRITES = ("/proc/self/task",)
"""Where it names its threads; it does not start where that fails."""


TRANSLATING = {"numba": "translate"}
"""Languages whose sources are translated in a job of this kind before they are compiled."""


def compiling_kinds(language: str | None = None) -> tuple[str, ...]:
    """The kinds of jobs that compile sources of a language, or of all that this installation has."""
    wanted = [kind for name, kind in TRANSLATING.items() if language in (None, name) and _has(_PACKAGES[name])]
    return ("compile", *wanted)


def baseline_kinds() -> tuple[str, ...]:
    """The kind of jobs that time baselines, where this installation has what it takes."""
    return ("baseline",) if _has(_PACKAGES["numba"]) else ()


_PACKAGES = {"numba": ("numba", "numba-cuda", "nvidia-nvvm")}
"""What the translation of a language needs, all of it: half of it must not keep the other languages from running."""


def _has(packages: Sequence[str]) -> bool:
    for package in packages:
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return False
    return True


def system_folders() -> tuple[str, ...]:
    """Where the dynamic loader finds libc and its like."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    candidates = [f"/usr/lib/{multiarch}", f"/lib/{multiarch}", "/usr/lib64", "/lib64"]
    return tuple(path for path in dict.fromkeys(candidates) if Path(path).is_dir())


def standard_library() -> str:
    """The interpreter's own library, folders of installed packages (see `installed_packages`) included."""
    return str(Path(sys.base_prefix) / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}")


def installed_packages() -> tuple[str, ...]:
    """Folders below the standard library with whatever else is installed: jobs see only their own packages."""
    folders = (Path(standard_library()) / name for name in ("site-packages", "dist-packages"))
    return tuple(str(folder) for folder in folders if folder.is_dir())


def package_paths(packages: Sequence[str]) -> tuple[str, ...]:
    """Folders and files of importable packages, with the folder of bundled libraries that wheels put beside.

    Nothing is imported. Unknown names are left out: not every installation has every package.
    """
    paths: list[str] = []
    for name in packages:
        spec = importlib.util.find_spec(name)
        if spec is None:
            continue
        if spec.submodule_search_locations is not None:
            folders = [str(Path(folder).absolute()) for folder in spec.submodule_search_locations]
            paths += folders
            paths += [f"{folder}.libs" for folder in folders if Path(f"{folder}.libs").is_dir()]
        elif spec.origin:
            paths.append(str(Path(spec.origin).absolute()))
    return tuple(dict.fromkeys(paths))


def import_path() -> list[str]:
    """The host's folders of packages, for the zygote, which starts without `site`."""
    folders = [REPOSITORY, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return [str(folder) for folder in dict.fromkeys(folders) if folder]


def readable_paths(kind: str, strong: bool) -> list[str]:
    """All that jobs of this kind may read: system libraries, the standard library, the packages they run.

    Strong mode covers `installed_packages`; weak mode, which can only grant, names all that lies beside them.
    """
    library = Path(standard_library())
    beside = (str(path) for path in library.iterdir() if str(path) not in installed_packages())
    standard = [str(library)] if strong else sorted(beside)
    return [*system_folders(), *standard, *package_paths(PROFILES[kind].packages)]
