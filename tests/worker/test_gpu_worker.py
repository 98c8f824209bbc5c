"""A worker that offers a GPU: its queue, its profiles, and its GPU held against other workers; needs no GPU."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis

from protocol.devices import DeviceInfo
from sandbox.gpus import Gpu, NoGpu
from store import keys
from tests.service.harness import ROOT, Served, announce_worker, run_body, wait_for
from worker import devices, gpu_lease
from worker.gpu_lease import GpuLease, GpuTaken
from worker.process import _profiles

UUID = "GPU-00000000-0000-0000-0000-000000000000"
H200 = Gpu("NVIDIA H200", "sm_90", 132, 150 << 30, UUID, "13.0", ("/dev/null",), (), ())


@pytest.mark.parametrize(
    ("queues", "profiles"),
    [
        (("compile",), ("compile",)),
        (("emulator", "compile"), ("compile", "launch")),
        (("gpu:h200",), ("compile", "launch-gpu")),
        (("gpu:h200", "emulator"), ("compile", "launch", "launch-gpu")),
    ],
)
def test_a_worker_has_the_walls_that_its_queues_need(queues: tuple[str, ...], profiles: tuple[str, ...]) -> None:
    assert set(_profiles(queues)) >= set(profiles)
    assert ("launch-gpu" in _profiles(queues)) == ("launch-gpu" in profiles)


def test_the_queue_has_the_name_of_the_gpus_type(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def find(device: str) -> Gpu:
        asked.append(device)
        return H200

    monkeypatch.setattr(devices, "find_gpu", find)
    assert devices.with_gpu(("gpu", "compile")) == (("gpu:h200", "compile"), H200)
    assert devices.with_gpu(("emulator", "compile")) == (("emulator", "compile"), None)
    assert asked == ["gpu"]


def test_without_a_gpu_a_worker_for_one_does_not_start() -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("not run: there is an NVIDIA GPU here")
    command = [sys.executable, "-m", "worker", "--device", "gpu"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert "there is no NVIDIA GPU, or its driver is not loaded: /dev/nvidiactl does not exist" in ended.stderr


def test_a_gpu_belongs_to_one_worker(client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_lease, "LOOK_SECONDS", 0.01)
    with GpuLease(client, UUID, "first", ttl=0.6):
        time.sleep(0.9)
        assert client.get(keys.gpu(UUID)) == "first", "the lease is renewed"
        with pytest.raises(GpuTaken, match=f"the worker first has the GPU {UUID}"):
            GpuLease(client, UUID, "second", ttl=0.05).__enter__()
    assert not client.exists(keys.gpu(UUID))
    client.set(keys.gpu(UUID), "killed", px=200)
    with GpuLease(client, UUID, "third", ttl=0.6):
        assert client.get(keys.gpu(UUID)) == "third"


def test_a_worker_that_lost_its_gpu_stops(client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(gpu_lease.os, "kill", lambda pid, number: sent.append((pid, number)))
    with GpuLease(client, UUID, "first", ttl=0.3):
        client.set(keys.gpu(UUID), "other")
        wait_for(lambda: bool(sent), 5)
    assert sent == [(os.getpid(), signal.SIGTERM)]
    assert client.get(keys.gpu(UUID)) == "other"


def test_no_gpu_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(device: str) -> Gpu:
        raise NoGpu(f"there is no {device} here; there is gpu:h200")

    monkeypatch.setattr(devices, "find_gpu", refuse)
    with pytest.raises(NoGpu, match="there is no gpu:b200 here; there is gpu:h200"):
        devices.with_gpu(("gpu:b200",))


def test_a_kernel_for_another_architecture_is_refused_at_its_field(served: Served) -> None:
    gpu = DeviceInfo(id="gpu:h200", kind="gpu", name="NVIDIA H200", architecture="sm_90", isolation="strong")
    announce_worker(served.redis, name="hand", queues=("gpu:h200",), devices=(gpu,))
    served.app.state.service._workers_at = float("-inf")
    for device in ("gpu", "gpu:h200", "auto"):
        answer = served.http.post("/api/runs", json=run_body(device=device, architecture="sm_80"))
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["field"] == "architecture"
        assert "compiled for sm_80, and NVIDIA H200 is sm_90: choose sm_90" in error["message"]
        answer = served.http.post("/api/runs", json=run_body(device=device, architecture="sm_90"))
        assert (answer.status_code, answer.json()["device"]) == (202, "gpu:h200")
