"""Bad input on the page: told at its line or field, nothing that was typed is lost, and the next run is right."""

import os
import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from playwright.sync_api import Browser, BrowserContext, Page, expect

from cli.processes import children_of
from store.version import VERSION
from store.workers import Worker, announce, withdraw
from tests.bad_input.cases import GOOD, HUGE_SOURCE, NUL, ON_PAGE, OnPage
from tests.bad_input.files import bad_array
from tests.bad_input.test_api_disturbed import full_disk
from tests.page.conftest import Running, Watch
from tests.page.steps import field, launch, open_page, run, verdict, write
from tests.page.test_story import SLOW

LIMIT = 20_000


def text_of(page: Page) -> str:
    return "\n".join(page.locator(".cm-content .cm-line").all_text_contents())


def one_thread(page: Page, threads: str = "1") -> None:
    launch(page).get_by_label("Size the grid to cover").uncheck()
    field(page, "Grid x").fill("1")
    field(page, "Block x").fill(threads)


def write_kernel(page: Page, source: str, name: str) -> None:
    """Replaces the source, and waits until the form has followed it."""
    write(page, source)
    expect(field(page, name)).to_be_visible(timeout=LIMIT)
    expect(page.locator(".status .state")).to_contain_text("compiled", timeout=LIMIT)


def discard(page: Page) -> None:
    page.get_by_role("button", name="Discard edits").click()
    expect(page.locator(".status .state")).to_contain_text("compiled", timeout=LIMIT)


@pytest.fixture(scope="module")
def shared(browser: Browser, service: str) -> Iterator[Page]:
    """One page for all cases: each finds it as the one before has left it."""
    context = browser.new_context(base_url=service, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(15_000)
    page = context.new_page()
    watch = Watch(service)
    watch.expect("422")
    watch.follow(page)
    open_page(page)
    yield page
    assert watch.unexpected() == []
    context.close()


@pytest.mark.parametrize("case", ON_PAGE, ids=lambda case: f"{case.item} {case.words}"[:50])
def test_what_is_wrong_is_told_and_kept(shared: Page, case: OnPage) -> None:
    page = shared
    write_kernel(page, case.source if case.fields else GOOD, "f, float")
    one_thread(page, "32")
    if case.fields:
        for name, value in case.fields.items():
            field(page, name).fill(value)
        first = field(page, next(iter(case.fields)))
        expect(first).to_have_attribute("aria-invalid", "true")
        expect(launch(page)).to_contain_text(re.compile(case.words))
        page.get_by_test_id("run").click()
        if case.verdict:
            expect(page.locator(".verdict:not(.busy)")).to_contain_text(case.verdict, timeout=LIMIT)
        else:
            expect(page.get_by_role("alert")).to_contain_text("Not sent")
        for name, value in case.fields.items():
            expect(field(page, name)).to_have_value(value)
    else:
        write(page, case.source)
        if case.mark:
            expect(page.locator(".cm-lintRange-error").first).to_have_text(case.mark, timeout=LIMIT)
        page.get_by_test_id("run").click()
        if case.verdict:
            expect(page.locator(".verdict:not(.busy)")).to_contain_text(re.compile(case.verdict), timeout=LIMIT)
            expect(page.get_by_role("region", name="Results")).to_contain_text(re.compile(case.words))
        else:
            expect(page.get_by_role("alert")).to_contain_text(re.compile(case.words))
        expect(field(page, "Block x")).to_have_value("32")
    assert text_of(page) == case.source
    discard(page)
    if not case.fields:
        run(page)
        expect(verdict(page)).to_contain_text("Finished")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("big.cu", HUGE_SOURCE.encode(), "big.cu has 10,000,002 bytes; a source has at most 262,144."),
        ("nul.cu", NUL.encode(), "nul.cu holds NUL characters"),
        ("bytes.cu", b"// \xff", "bytes.cu is not text in UTF-8"),
    ],
)
def test_a_file_that_is_no_source(shared: Page, name: str, content: bytes, words: str) -> None:
    before = text_of(shared)
    picker = shared.locator("input[type=file][accept*='.cu']")
    picker.set_input_files({"name": name, "mimeType": "text/plain", "buffer": content})
    expect(shared.get_by_role("alert")).to_contain_text(words)
    assert text_of(shared) == before


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("not an array", "This is not a .npy file"),
        ("objects", "Its dtype is object"),
        ("claims 400 GB", "a buffer has at most 1,073,741,824"),
        ("has 65 MiB", "larger than 67,108,864 bytes|at most"),
    ],
)
def test_a_file_that_is_no_array(page: Page, watch: Watch, tmp_path: Path, kind: str, words: str) -> None:
    watch.expect("422|413")
    open_page(page)
    write_kernel(page, GOOD, "f, float")
    field(page, "a initial value").select_option("upload")
    (tmp_path / "a.npy").write_bytes(bad_array(kind))
    page.get_by_label("File for a", exact=True).set_input_files(tmp_path / "a.npy")
    expect(launch(page).get_by_role("alert")).to_contain_text(re.compile(words), timeout=LIMIT)
    field(page, "a initial value").select_option("zeros")
    run(page)
    expect(verdict(page)).to_contain_text("Finished")


def test_the_database_is_locked(page: Page, watch: Watch, running: Running) -> None:
    watch.expect("503")
    open_page(page)
    other = sqlite3.connect(running.data / "warpyard.db", isolation_level=None)
    other.execute("begin immediate")
    try:
        page.get_by_role("button", name="Share", exact=True).click()
        expect(page.get_by_role("dialog")).to_contain_text("The database is locked by another program.", timeout=LIMIT)
        page.keyboard.press("Escape")
        page.get_by_test_id("run").click()
        expect(page.locator(".verdict")).to_contain_text("Running")
    finally:
        other.execute("rollback")
        other.close()
    expect(verdict(page)).to_contain_text("Finished", timeout=LIMIT)
    page.get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_label("Link")).to_have_value(re.compile("/k/"))


def test_the_disk_is_full(page: Page, running: Running) -> None:
    open_page(page)
    before = text_of(page)
    with full_disk(running.data / "blobs" / "passing", "64k"):
        run(page)
        expect(page.locator(".verdict")).to_contain_text("The service has no room for the results")
    assert text_of(page) == before
    run(page)
    expect(verdict(page)).to_contain_text("Finished")


def test_a_worker_of_another_version(page: Page, running: Running) -> None:
    with redis.Redis(unix_socket_path=str(running.data / "valkey.sock")) as client:
        announce(client, Worker(name="other", queues=("emulator",), version="0.0.1"), 60)
        open_page(page)
        expect(page.locator(".status")).to_contain_text("PTX emulator")
        reasons = page.request.get("/api/devices").json()["reasons"]
        assert reasons == [
            f"The worker other is of version 0.0.1 and this service of version {VERSION}: "
            "it gets no runs until both are of one release."
        ]
        run(page)
        expect(verdict(page)).to_contain_text("Finished")
        withdraw(client, "other")


def begin_slow(page: Page) -> None:
    write_kernel(page, SLOW, "out shape")
    one_thread(page)
    page.get_by_test_id("run").click()
    expect(page.locator(".verdict")).to_contain_text("Running", timeout=LIMIT)


def test_the_broker_goes_away_in_mid_run(page: Page, watch: Watch, running: Running) -> None:
    watch.expect("503|Failed to load|ERR_")
    open_page(page)
    begin_slow(page)
    time.sleep(1.1)  # what is younger than a second may go with the broker
    (broker,) = [
        pid for pid in children_of(running.process.pid) if b"valkey" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    os.kill(broker, signal.SIGKILL)  # the supervisor starts another one
    expect(verdict(page)).to_contain_text("Finished", timeout=60_000)
    expect(page.locator(".output")).to_contain_text("done")
    assert text_of(page) == SLOW
    discard(page)
    run(page)
    expect(verdict(page)).to_contain_text("Finished")


def test_the_browser_goes_offline(page: Page, watch: Watch, context: BrowserContext) -> None:
    watch.expect("ERR_INTERNET_DISCONNECTED|Failed to load|ERR_")
    open_page(page)
    write_kernel(page, SLOW, "out shape")
    one_thread(page)
    context.set_offline(True)
    page.get_by_test_id("run").click()
    expect(page.locator(".verdict")).to_contain_text("This browser is offline. Nothing that you typed is lost")
    context.set_offline(False)
    page.get_by_test_id("run").click()
    expect(page.locator(".verdict")).to_contain_text("Running", timeout=LIMIT)
    context.set_offline(True)
    page.wait_for_timeout(1500)
    context.set_offline(False)
    expect(verdict(page)).to_contain_text("Finished", timeout=LIMIT)
    expect(page.locator(".output")).to_contain_text("done")
    assert text_of(page) == SLOW


def test_two_tabs_lose_nothing(page: Page, watch: Watch, context: BrowserContext) -> None:
    open_page(page)
    other = context.new_page()
    watch.follow(other)
    open_page(other)
    texts = {page: GOOD.replace("= f", "= f + 1"), other: GOOD.replace("= f", "= f + 2")}
    for tab, text in texts.items():
        write_kernel(tab, text, "f, float")
        run(tab)
        expect(verdict(tab)).to_contain_text("Finished")
    write(page, texts[page] + "// more\n")
    expect(page.get_by_role("status").filter(has_text="Another tab edits this document too")).to_be_visible()
    for tab, text in ((page, texts[page] + "// more\n"), (other, texts[other])):
        tab.reload()
        tab.locator(".cm-content").wait_for()
        expect(tab.locator(".cm-content")).to_contain_text("f + 1" if tab is page else "f + 2")
        assert text_of(tab) == text
        expect(verdict(tab)).to_contain_text("Finished")
    page.get_by_role("button", name="History").click()
    rows = page.get_by_role("complementary", name="Run history").get_by_role("listitem")
    expect(rows).to_have_count(2)
    other.close()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Command").fill("another tab")
    page.keyboard.press("Enter")
    expect(page.locator(".cm-content")).to_contain_text("f + 2")
