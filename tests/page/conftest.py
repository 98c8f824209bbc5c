"""The whole service on a free port, and a browser page that notices every console error and foreign request."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--force-color-profile=srgb", "--font-render-hinting=none"),
]
START_SECONDS = 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.fspath).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.page)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium where there is one, else the browser that Playwright installed."""
    system = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return {**browser_type_launch_args, "args": FLAGS, **({"executable_path": system} if system else {})}


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where the service says that it is."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        found = re.search(r"http://\S+", log.read_text())
        if found:
            return found[0]
        time.sleep(0.1)
    pytest.fail(f"the service did not start:\n{log.read_text()}")


@dataclass(frozen=True)
class Running:
    """`warpyard serve`, where it is and where its data are."""

    address: str
    data: Path
    process: subprocess.Popen[bytes]


@pytest.fixture(scope="session")
def service(running: Running) -> str:
    """Address of `warpyard serve`."""
    return running.address


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    """`warpyard serve` with one worker and a data folder of its own."""
    # Unix socket paths have at most about 100 bytes, so pytest's long temporary folders will not do.
    data = Path(tempfile.mkdtemp(prefix="wy-page-", dir="/tmp"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WARPYARD_")}
    rates = ("RUNS_PER_SECOND", "RUNS_BURST", "COMPILES_PER_SECOND", "COMPILES_BURST")
    limits = {f"WARPYARD_{name}": "1000" for name in rates}
    # Long enough for any source of these tests but the one that must reach it, which they wait for.
    limits["WARPYARD_COMPILE_WALL_SECONDS"] = "8"
    log = data / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli", "serve", "--port", "0", "--workers", "1", "--data", str(data)],
            cwd=ROOT,
            env={**kept, **limits},
            stdout=output,
            stderr=output,
        )
    try:
        address = _address(process, log)
        # The page is up before the workers are: what it asks in its first second must wait, and not fail.
        yield Running(address, data, process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        shutil.rmtree(data)


@dataclass
class Watch:
    """What a page must not do: complain in the console, throw, or ask another host for anything."""

    service: str
    complaints: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expect(self, pattern: str) -> None:
        """A complaint that the test provokes."""
        self.expected.append(pattern)

    def follow(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https") and parts.netloc != urlsplit(self.service).netloc:
            self.complaints.append(f"foreign request: {request.url}")

    def unexpected(self) -> list[str]:
        return [text for text in self.complaints if not any(re.search(known, text) for known in self.expected)]


@pytest.fixture
def watch(service: str) -> Watch:
    return Watch(service)


@pytest.fixture
def context(browser: Browser, service: str) -> Iterator[BrowserContext]:
    """A fresh profile on a desktop screen, in the dark theme."""
    context = browser.new_context(
        base_url=service, viewport={"width": 1440, "height": 900}, color_scheme="dark", accept_downloads=True
    )
    context.set_default_timeout(15_000)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, watch: Watch) -> Iterator[Page]:
    page = context.new_page()
    watch.follow(page)
    yield page
    assert watch.unexpected() == []
