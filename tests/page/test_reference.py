"""A NumPy reference: written, sent, and told as passed, as the first difference, or as an error at its line."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.page.steps import field, open_page, verdict, write
from tests.page.test_shell import violations


def check(page: Page, text: str) -> None:
    page.keyboard.press("Alt+6")
    page.get_by_label("NumPy reference").fill(text)
    page.get_by_role("button", name="Run and check").click()
    page.locator(".verdict:not(.busy)").wait_for(timeout=30_000)


def test_a_reference_that_agrees_passes(page: Page) -> None:
    open_page(page)
    with page.expect_request("**/api/runs") as sent:
        check(page, "c = a + b")
    request = json.loads(sent.value.post_data or "")
    assert request["checks"] == [
        {"kind": "numpy", "text": "c = a + b", "buffers": ["c"], "relative": 1e-5, "absolute": 1e-8}
    ]
    expect(verdict(page)).to_contain_text("Every check passed.")
    expect(page.get_by_role("status", name="Result of the check")).to_contain_text("as the reference says")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_first_difference_is_told_with_its_thread(page: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    open_page(page)
    check(page, "c = a + b\nc[300] = 7")
    result = page.get_by_role("status", name="Result of the check")
    for words in ("1 element differs", "c[300]", "Block (1, 0, 0), thread (44, 0, 0).", "300.5", "7"):
        expect(result).to_contain_text(words)
    expect(verdict(page)).to_contain_text("1 check failed")
    assert violations(page) == []


def test_an_error_of_the_reference_stands_at_its_line(page: Page) -> None:
    open_page(page)
    check(page, "c = a + b\nc += q")
    result = page.get_by_role("status", name="Result of the check")
    expect(result).to_contain_text("Line 2 of the reference")
    expect(result).to_contain_text("name 'q' is not defined")
    expect(verdict(page)).to_contain_text("1 buffer not compared")
    result.get_by_role("button", name="Go to line 2").click()
    selected = page.evaluate("(e => e.value.slice(e.selectionStart, e.selectionEnd))(document.activeElement)")
    assert selected == "c += q"
    page.keyboard.press("Alt+1")
    page.get_by_role("list", name="Messages of the compiler").get_by_role("button").click()
    expect(page.get_by_label("NumPy reference")).to_be_focused()


def test_a_fault_of_the_reference_is_told_at_its_field(page: Page) -> None:
    open_page(page)
    page.keyboard.press("Alt+6")
    page.get_by_label("NumPy reference").fill("c = a")
    page.get_by_label("Relative tolerance").fill("-1")
    page.get_by_role("button", name="Run and check").click()
    expect(page.get_by_role("alert")).to_contain_text("A tolerance is at least 0.")
    expect(page.get_by_label("Relative tolerance")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("NumPy reference").fill("")
    page.keyboard.press("Control+Enter")
    expect(verdict(page)).to_contain_text("Finished")


def test_a_link_keeps_the_reference(page: Page) -> None:
    open_page(page)
    page.keyboard.press("Alt+6")
    page.get_by_label("NumPy reference").fill("c = a + b")
    page.get_by_role("button", name="Share").click()
    link = page.get_by_role("dialog").get_by_label("Link").input_value()
    page.goto("about:blank")
    open_page(page, link)
    page.keyboard.press("Alt+6")
    expect(page.get_by_label("NumPy reference")).to_have_value("c = a + b")
    expect(field(page, "c shape")).to_have_value("1000000")


def test_a_reference_of_another_kernel_is_left_out_and_says_so(page: Page) -> None:
    open_page(page)
    check(page, "c = a + b")
    write(page, "__global__ void other(float *fresh) { fresh[threadIdx.x] = 1.0f; }\n")
    expect(field(page, "fresh shape")).to_be_visible()
    expect(page.get_by_text("Nothing is checked: the kernel has no buffer called c any more.")).to_be_visible()
    with page.expect_request("**/api/runs") as sent:
        page.get_by_role("button", name="Run and check").click()
    assert json.loads(sent.value.post_data or "")["checks"] == []


def test_the_reference_and_a_baseline_of_ones_own_are_timed(page: Page) -> None:
    page.goto("/#example=saxpy")
    page.locator(".cm-content").wait_for()
    page.keyboard.press("Alt+6")
    section = page.get_by_role("region", name="Baselines")
    section.get_by_text("A baseline of your own").click()
    section.get_by_label("Python that sees buffers").fill("def baseline(a, x, y):\n    y += a * x\n")
    section.get_by_role("button", name="Run and time").click()
    row = section.get_by_role("row", name="Own baseline")
    expect(row).to_contain_text("of this size", timeout=30_000)
    expect(section).to_contain_text("The GPU’s time is an estimate for the H200 SXM, not a measurement")
    assert violations(page) == []
