"""Forks and their differences, the history of runs, and runs taken away as programs."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Watch
from tests.page.steps import field, open_page, run, verdict
from tests.page.test_shell import violations


def share(page: Page) -> str:
    page.get_by_role("button", name="Share").click()
    link = page.get_by_role("dialog").get_by_label("Link").input_value()
    page.keyboard.press("Escape")
    return link


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_fork_names_its_parent_and_shows_what_differs(page: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    open_page(page)
    parent = share(page)
    open_page(page, parent)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("// mine\n")
    fork = share(page)
    page.goto("about:blank")
    open_page(page, fork)
    page.get_by_role("button", name=f"forked from {parent.rsplit('/', 1)[1]}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 line added, 0 lines removed.")
    expect(dialog.locator(".added")).to_contain_text("// mine")
    assert violations(page) == []


def test_edits_of_a_link_are_compared_with_it(page: Page) -> None:
    open_page(page)
    open_page(page, share(page))
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("// edit")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Command").fill("differs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Your edits of")
    expect(page.get_by_role("dialog").locator(".added")).to_contain_text("// edit")


def test_the_run_that_is_open_keeps_its_kernel_when_it_is_opened_again(page: Page) -> None:
    open_page(page)
    run(page)
    page.get_by_role("button", name="History").click()
    drawer = page.get_by_role("complementary", name="Run history")
    drawer.get_by_role("listitem").get_by_role("button").click()
    expect(page).to_have_title(re.compile("^Run "))
    expect(page.get_by_text("The source has no kernel called")).to_have_count(0)
    run(page)


def test_runs_are_remembered_reopened_and_compared(page: Page) -> None:
    open_page(page)
    run(page)
    field(page, "Block x").fill("64")
    run(page)
    page.get_by_role("button", name="History").click()
    drawer = page.get_by_role("complementary", name="Run history")
    rows = drawer.get_by_role("listitem")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("vector_add: grid 15,625, block 64")
    expect(rows.nth(1)).to_contain_text("vector_add: grid 3,907, block 256")
    expect(rows.nth(1)).to_contain_text("Finished")
    for row in (rows.nth(0), rows.nth(1)):
        expect(row).to_contain_text("emulated")
        row.get_by_role("checkbox").check()
    expect(drawer.get_by_role("status")).to_contain_text("emulated on a CPU and tell nothing of a GPU")
    assert violations(page) == []
    rows.nth(1).get_by_role("button").click()
    expect(field(page, "Block x")).to_have_value("256")
    expect(verdict(page)).to_contain_text("Finished")
    page.reload()
    expect(field(page, "Block x")).to_have_value("256")
    drawer_button = page.get_by_role("button", name="History")
    drawer_button.click()
    drawer.get_by_role("button", name="Clear").click()
    expect(drawer).to_contain_text("No run of this browser is kept.")


def test_a_run_that_is_gone_is_told(page: Page, watch: Watch) -> None:
    watch.expect("404")
    open_page(page)
    run(page)
    page.evaluate(
        "() => localStorage.setItem('warpyard.history',"
        ' localStorage.getItem(\'warpyard.history\').replace(/"id":"[^"]+"/, \'"id":"111111111Az"\'))'
    )
    page.get_by_role("button", name="History").click()
    page.get_by_role("complementary", name="Run history").get_by_role("listitem").get_by_role("button").click()
    expect(page.get_by_role("alert")).to_contain_text("does not keep this run any more")


@pytest.mark.parametrize(
    ("name", "ending", "words"), [("CuPy script", ".py", "cupy"), (".cu with main()", ".cu", "main(")]
)
def test_a_run_is_taken_away_as_a_program(page: Page, name: str, ending: str, words: str) -> None:
    open_page(page)
    run(page)
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("button", name=name).click()
    assert download.value.suggested_filename.endswith(ending)
    assert words in Path(download.value.path()).read_text(encoding="utf-8")


def test_a_refused_export_says_why(page: Page, watch: Watch) -> None:
    watch.expect("409")
    open_page(page)
    run(page)
    body = json.dumps({"status": 409, "title": "Conflict", "detail": "This run has not compiled."})

    def refuse(route: Route) -> None:
        route.fulfill(status=409, content_type="application/problem+json", body=body)

    page.route("**/export?*", refuse)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Command").fill("cupy")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This run has not compiled.")


def test_a_service_that_starts_is_no_failure(page: Page, watch: Watch) -> None:
    watch.expect("503")
    body = json.dumps({"devices": [], "default": "", "isolation": "", "version": "", "reasons": ["no worker yet"]})
    page.route("**/api/devices", lambda route: route.fulfill(content_type="application/json", body=body))
    page.route(
        "**/api/compile", lambda route: route.fulfill(status=503, content_type="application/problem+json", body="{}")
    )
    page.goto("/")
    status = page.locator(".status")
    expect(status).to_contain_text("starting…")
    expect(status.locator(".bad, .off")).to_have_count(0)
    page.unroute("**/api/devices")
    page.unroute("**/api/compile")
    expect(status).to_contain_text("PTX emulator", timeout=10_000)
