"""The wall around jobs on a GPU, on machines without one: all of it but the driver."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.attacks.house import lives
from cli.attacks.planted import Planted
from protocol.kernel import CompiledKernel, Entry, Resources
from protocol.launch import Launch, LaunchConfig
from protocol.run import LaunchRequest, RunRequest
from protocol.source import Source
from sandbox import fork_server, gpus, seccomp
from sandbox.gpus import Gpu, NoGpu, find_gpus, gpu_type, turn
from sandbox.jobs import run_job
from sandbox.launcher import JobLimits, Sandbox, SandboxUnavailable
from sandbox.syscalls import NUMBERS

NOTHING = Gpu(
    name="NVIDIA Nothing",
    architecture="sm_90",
    sm_count=1,
    memory_bytes=0,
    uuid="GPU-00000000-0000-0000-0000-000000000000",
    cuda="13.0",
    nodes=("/dev/full",),
    libraries=(),
    facts=("/sys/devices/system/cpu/online",),
)
# The bindings of CuPy need not be installed here; the driver's absence is then told when a job asks for it.
_WITHOUT_BINDINGS = "from engine.devices.gpu import GpuDevice; GpuDevice.prewarm = staticmethod(lambda: None)"


@pytest.fixture(params=["strong", "weak"])
def gpu_box(request: pytest.FixtureRequest, planted: Planted, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    code = fork_server._BOOTSTRAP.replace("main(int", f"{_WITHOUT_BINDINGS}; main(int")
    monkeypatch.setattr(fork_server, "_BOOTSTRAP", code)
    try:
        box = Sandbox(request.param, profiles=("launch-gpu",), gpu=NOTHING, weak_gpu=True)
    except SandboxUnavailable as error:
        if "succeeded" in str(error):
            raise
        pytest.skip(f"not run: {request.param} mode is unavailable here: {error}")
    with box:
        yield box


def request() -> bytes:
    step = Launch(entry="k", config=LaunchConfig(grid=(1,), block=(1,)))
    run = RunRequest(source=Source(text="__global__ void k() {}"), steps=(step,))
    entry = Entry(name="k", display="k", resources=Resources(registers=1))
    kernel = CompiledKernel(language="cuda-c++", architecture="sm_90", toolchain="", ptx="", entries=(entry,))
    return LaunchRequest(run=run, kernel=kernel, device="gpu").model_dump_json().encode()


def test_jobs_wait_behind_the_wall_and_say_what_a_gpu_lacks(gpu_box: Sandbox) -> None:
    assert gpu_box.report.canaries > 0
    said: list[str] = []
    for _ in range(3):
        outcome = run_job(
            gpu_box,
            "launch-gpu",
            request(),
            {"cubin": b""},
            JobLimits(cpu=3),
            threading.Event(),
            lambda header, _: said.append(json.dumps(header)),
        )
        assert (outcome.verdict, outcome.stderr) == ("ok", b"")
        assert "The GPU cannot be used" in said.pop()
    assert all(map(lives, gpu_box.zygotes))


def test_a_cancelled_job_leaves_nothing(gpu_box: Sandbox) -> None:
    job = gpu_box.start("launch-gpu", request(), {"cubin": b""})
    job.cancel()
    assert job.wait().verdict in ("cancelled", "ok")


def test_weak_mode_is_the_operators_choice(planted: Planted) -> None:
    with pytest.raises(SandboxUnavailable, match="WARPYARD_GPU_WITHOUT_NAMESPACES"):
        Sandbox("weak", profiles=("launch-gpu",), gpu=NOTHING)


@pytest.mark.parametrize(("profiles", "gpu"), [(("launch-gpu",), None), (("launch",), NOTHING)])
def test_a_gpu_and_its_jobs_go_together(profiles: tuple[str, ...], gpu: Gpu | None) -> None:
    with pytest.raises(ValueError, match="go together"):
        Sandbox(profiles=profiles, gpu=gpu)


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("Tesla T4", "tesla-t4"),
        ("NVIDIA GeForce RTX 4090", "geforce-rtx-4090"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-blackwell-server-ed"),
        ("", "unnamed"),
    ],
)
def test_a_models_name_is_a_device(name: str, device: str) -> None:
    assert gpu_type(name) == device
    assert RunRequest.model_fields["device"] is not None
    text = json.dumps({"source": {"text": "x"}, "steps": [], "device": f"gpu:{device}"})
    with pytest.raises(ValueError) as caught:
        RunRequest.model_validate_json(text)
    assert "device" not in str(caught.value)


def test_why_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "CONTROL", ("/dev/no-nvidiactl",))
    with pytest.raises(NoGpu, match="there is no NVIDIA GPU, or its driver is not loaded"):
        find_gpus()
    monkeypatch.setattr(gpus, "CONTROL", ("/dev/null",))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(NoGpu, match="CuPy is not installed"):
        find_gpus()


def test_one_job_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus.tempfile, "gettempdir", lambda: str(tmp_path))
    order: list[str] = []
    never, entered = threading.Event(), threading.Event()

    def second() -> None:
        entered.set()
        with turn(NOTHING, never):
            order.append("second")

    with turn(NOTHING, never):
        thread = threading.Thread(target=second)
        thread.start()
        entered.wait()
        thread.join(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    never.set()
    with turn(NOTHING, never), turn(NOTHING, never):
        pass  # a cancelled run waits for nobody


ALLOWED, EPERM, ENOTTY, ENOSYS = 0x7FFF0000, 0x50001, 0x50019, 0x50026


def decide(policy: seccomp.Policy, name: str, *arguments: int) -> int:
    """What the filter answers, by going through its instructions."""
    program = list(seccomp.struct.iter_unpack("HBBI", seccomp.assemble(policy, None)))
    values = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = seccomp.struct.pack("<iIQ6Q", NUMBERS[name], seccomp.AUDIT_ARCHITECTURE, 0, *values)
    place = accumulator = 0
    while True:
        operation, if_true, if_false, constant = program[place]
        place += 1
        if operation == seccomp._RETURN:
            return int(constant)
        if operation == seccomp._LOAD:
            (accumulator,) = seccomp.struct.unpack_from("<I", data, constant)
        elif operation == seccomp._AND:
            accumulator &= constant
        else:
            true = {
                seccomp._JUMP_EQUAL: accumulator == constant,
                seccomp._JUMP_AT_LEAST: accumulator >= constant,
                seccomp._JUMP_SET: bool(accumulator & constant),
            }[operation]
            place += if_true if true else if_false


@pytest.mark.parametrize(
    ("call", "arguments", "start", "job", "other"),
    [
        ("ioctl", (5, 0xC0384627), ALLOWED, ALLOWED, ENOTTY),  # NVIDIA's own, of type 'F'
        ("ioctl", (5, 0x30000001), ALLOWED, ALLOWED, ENOTTY),  # of nvidia-uvm
        ("ioctl", (5, 37), ALLOWED, ALLOWED, ENOTTY),
        ("ioctl", (1, 0x5413), ALLOWED, ALLOWED, ALLOWED),  # a terminal's size
        ("ioctl", (1, 0x5412), ENOTTY, ENOTTY, ENOTTY),  # typing into a terminal
        ("socket", (1, 1), ALLOWED, EPERM, EPERM),
        ("socket", (2, 1), EPERM, EPERM, EPERM),
        ("socket", (16, 3), EPERM, EPERM, EPERM),
        ("connect", (5,), ALLOWED, ENOSYS, ENOSYS),
        ("memfd_create", (0,), ALLOWED, EPERM, EPERM),
        ("seccomp", (1,), ALLOWED, EPERM, EPERM),
        ("symlink", (0,), ALLOWED, ENOSYS, ENOSYS),
        ("execve", (0,), EPERM, EPERM, EPERM),
        ("clone", (0,), EPERM, EPERM, EPERM),
        ("ptrace", (0,), EPERM, EPERM, EPERM),
        ("read", (0,), ALLOWED, ALLOWED, ALLOWED),
    ],
)
def test_calls_of_a_gpu_job_before_and_after_its_code_arrives(
    call: str, arguments: tuple[int, ...], start: int, job: int, other: int
) -> None:
    if call not in NUMBERS:
        pytest.skip(f"not run: this processor's kernels have no call {call}")
    policies = (seccomp.DRIVER_START, seccomp.DRIVER, seccomp.Policy(tuple(seccomp.COMPUTE)))
    assert [decide(policy, call, *arguments) for policy in policies] == [start, job, other]
