"""Where the emulator itself fails, the user is told so in one line with a number, and never by a traceback."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from emulator import InternalFailure, compile_entry, parse
from emulator.lowering.instructions import InstructionLowering
from emulator.lowering.kernel import KernelLowering
from engine.devices.device import DeviceRefusal
from engine.devices.emulated import EmulatedDevice
from engine.launching.plan import Plan
from protocol.source import Source

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k() {
    .reg .b32 %r<3>;
    add.s32 %r1, %r2, 1;
    ret;
}
"""


def _row_fails(*_: object) -> None:
    raise KeyError("%secret")


@pytest.fixture(params=["row", "code"])
def broken(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the lowering, and text that LLVM does not take."""
    if request.param == "row":
        monkeypatch.setattr(InstructionLowering, "_row", _row_fails)
    else:
        monkeypatch.setattr(KernelLowering, "_assemble", lambda self: "define nonsense")


@pytest.mark.usefixtures("broken")
def test_a_failure_has_a_number_of_its_own() -> None:
    module, _ = parse(PTX)
    reports = set()
    for block in ((32, 1, 1), (64, 2, 1)):
        with pytest.raises(InternalFailure) as caught:
            compile_entry(module, "k", block)
        reports.add(caught.value.report)
        assert "%secret" not in str(caught.value) and "/" not in caught.value.place.partition(" in ")[0]
    assert len(reports) == 1


@pytest.mark.usefixtures("broken")
def test_the_user_is_told_in_words() -> None:
    kernel = SimpleNamespace(ptx=PTX, language="cuda-c++")
    entry = SimpleNamespace(name="k", display="k()")
    launch: Any = SimpleNamespace(entry=entry, block=(32, 1, 1), step="steps.0")
    plan = Plan({"steps.0": launch}, ())
    source = Source(language="cuda-c++", text="__global__ void k() {}")
    with pytest.raises(DeviceRefusal) as caught:
        EmulatedDevice.prepare(kernel, plan, source)  # type: ignore[arg-type]
    (told,) = caught.value.diagnostics
    assert (told.severity, told.origin, told.code) == ("error", "emulator", "internal")
    assert told.message.startswith("The emulator failed on k(). This is our fault: please report it as ")
    assert "Traceback" not in " ".join((told.message, *told.notes))
