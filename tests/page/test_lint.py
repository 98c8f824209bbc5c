"""What looks wrong with a launch, on the page: at its field or line, each with its fix, which can be undone."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.steps import field, launch, open_page, write
from tests.page.test_shell import violations

BARE = """__global__ void twice(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i];
}
"""


def findings(page: Page) -> Locator:
    return launch(page).get_by_role("region", name="What looks wrong")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_finding_at_a_field_is_fixed_and_undone_by_keys(page: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    open_page(page)
    field(page, "Block x").fill("100")
    expect(findings(page)).to_contain_text("28 of the 128 lanes have no thread: 22 %", timeout=20_000)
    assert violations(page) == []
    findings(page).get_by_role("button", name="Fix: Use a block of 128").press("Enter")
    expect(field(page, "Block x")).to_have_value("128")
    undo = findings(page).get_by_role("button", name="Undo")
    expect(undo).to_be_focused()
    expect(findings(page)).not_to_contain_text("lanes have no thread", timeout=20_000)
    undo.press("Enter")
    expect(field(page, "Block x")).to_have_value("100")


def test_a_finding_at_a_line_is_marked_and_fixed_in_the_source(page: Page) -> None:
    open_page(page)
    write(page, BARE)
    expect(findings(page)).to_contain_text("Warning line 4", timeout=20_000)
    expect(page.locator(".cm-lintRange-warning")).to_have_count(1)
    findings(page).get_by_role("button", name="Fix: Guard with if (i < ").click()
    expect(page.locator(".cm-content")).to_contain_text("if (i < ")
    expect(findings(page)).not_to_contain_text("line 4", timeout=20_000)
    # The editor's own undo has it too.
    page.locator(".cm-content").click()
    page.keyboard.press("Control+z")
    expect(page.locator(".cm-content")).not_to_contain_text("if (i < ")
    expect(findings(page)).to_contain_text("Warning line 4", timeout=20_000)


def test_what_is_wrong_with_an_unedited_document_is_told_once_the_page_rests(page: Page) -> None:
    open_page(page, "/#example=out-of-bounds")
    expect(findings(page)).to_contain_text("reads values[1,000], and values has 1,000 elements", timeout=20_000)


def test_a_launch_is_looked_at_while_the_source_does_not_compile(page: Page) -> None:
    open_page(page)
    write(page, BARE.replace("int i", "int"))
    field(page, "Block x").fill("100")
    expect(findings(page)).to_contain_text("lanes have no thread", timeout=20_000)


@pytest.mark.parametrize("width", [320, 390])
def test_findings_fit_a_phone(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 780})
    open_page(page)
    page.get_by_role("navigation", name="Panes").get_by_role("button", name="Launch").click()
    field(page, "Block x").fill("100")
    expect(findings(page)).to_contain_text("lanes have no thread", timeout=20_000)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    button = findings(page).get_by_role("button", name="Fix: Use a block of 128").bounding_box()
    assert button is not None
    assert button["x"] + button["width"] <= width
    assert violations(page) == []
