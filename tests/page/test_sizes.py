"""Block sizes tried in one job, and what the emulator's instruments find and count."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Watch
from tests.page.steps import field, launch, open_page, run, verdict, write
from tests.page.test_shell import violations

BLOCK_DEPENDENT = "__global__ void k(int *a) { if (blockIdx.x == 0 && threadIdx.x == 0) a[0] = blockDim.x; }"
RACE = """__global__ void k(int *a)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    a[threadIdx.x] = s[(threadIdx.x + 33) % 64];
}
"""
WIDE = "__global__ void k(float *a) { a[threadIdx.x] = 1.0f; }"


def try_own(page: Page, shapes: str) -> None:
    page.keyboard.press("Alt+5")
    page.get_by_role("button", name="Own list").click()
    page.get_by_label("Block shapes, separated by commas").fill(shapes)
    page.keyboard.press("Control+Shift+Enter")
    page.locator(".verdict:not(.busy)").wait_for(timeout=30_000)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_list_of_shapes_is_tried_and_one_is_used(page: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    open_page(page)
    with page.expect_request("**/api/runs") as sent:
        try_own(page, "32, 64, 16x16, 2048")
    request = json.loads(sent.value.post_data or "")
    assert request["sweep"] == {"blocks": [[32], [64], [16, 16], [2048]], "step": "steps.0"}
    assert request["estimate"] == "auto"
    table = page.get_by_role("region", name="Sizes as a table")
    row = table.get_by_role("row", name="64 15,625")
    expect(row).to_contain_text("100 %")
    expect(row).to_contain_text(" µs")
    expect(table.locator("tr.best")).to_have_count(1)
    expect(table.get_by_role("row", name="32 31,250")).to_contain_text("50 %")
    expect(table.get_by_role("row", name="2,048")).to_contain_text("not possible")
    expect(page.get_by_role("status").filter(has_text="tried")).to_contain_text(re.compile(r"Fastest, [\d.]+ µs: "))
    expect(page.locator("#panel")).to_contain_text("Estimated for the H200 SXM — not measured.")
    expect(page.locator(".conclusion")).to_contain_text("Best of 3: 64 at")
    expect(page.get_by_role("region", name="Map of times")).to_contain_text("16")
    assert violations(page) == []
    row.get_by_role("button", name="use this").click()
    expect(field(page, "Block x")).to_have_value("64")
    run(page)
    page.keyboard.press("Alt+5")
    expect(row).to_contain_text("in use")


def test_results_that_depend_on_the_shape_are_flagged(page: Page) -> None:
    open_page(page)
    write(page, BLOCK_DEPENDENT)
    expect(field(page, "a shape")).to_be_visible()
    try_own(page, "32, 64")
    expect(page.get_by_role("alert")).to_contain_text("1 shape gave other results than the first")
    expect(page.get_by_role("region", name="Sizes as a table")).to_contain_text("first at a[0]")


def test_no_column_of_many_sizes_is_cut(page: Page) -> None:
    open_page(page)
    page.keyboard.press("Alt+5")
    page.keyboard.press("Control+Shift+Enter")
    page.locator(".verdict:not(.busy)").wait_for(timeout=60_000)
    expect(page.locator(".conclusion")).to_contain_text("not measured")
    table = page.get_by_role("region", name="Sizes as a table")
    assert table.evaluate("({scrollWidth, clientWidth}) => scrollWidth <= clientWidth")


MACROS = """__global__ void k(float *a)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * PER;
    for (int j = 0; j < PER && i + j < 4096; ++j)
        a[i + j] = i + j;
}
"""


def test_macros_and_restrictions_are_tried_kept_in_a_link_and_used(page: Page, watch: Watch) -> None:
    watch.expect("422")
    open_page(page)
    write(page, "#ifndef PER\n#define PER 1\n#endif\n" + MACROS)
    field(page, "a shape").fill("4096")
    page.keyboard.press("Alt+5")
    page.get_by_role("button", name="Own list").click()
    page.get_by_label("Block shapes, separated by commas").fill("64, 128")
    page.get_by_text("Macros, restrictions, grid").click()
    page.get_by_label("Macros and their values, one a line").fill("PER")
    expect(page.locator("#panel")).to_contain_text("“PER” gives no macro")
    page.get_by_label("Macros and their values, one a line").fill("PER = 1, 2, 4")
    page.get_by_label("Only cells where these hold, one a line").fill("threads * PER != 256")
    page.get_by_label("Blocks along x, y, z, one expression a line").fill("ceil_div(len(a), threads * QER)")
    page.keyboard.press("Control+Shift+Enter")
    expect(page.locator("#panel")).to_contain_text("QER is not known; there are")
    page.get_by_label("Blocks along x, y, z, one expression a line").fill("ceil_div(len(a), threads * PER)")
    page.keyboard.press("Control+Shift+Enter")
    page.locator(".verdict:not(.busy)").wait_for(timeout=60_000)
    table = page.get_by_role("region", name="Sizes as a table")
    expect(table.get_by_role("row", name="128, PER=4")).to_contain_text("8")
    expect(page.get_by_role("status").filter(has_text="tried")).to_contain_text("2 cells left out by the restrictions.")
    expect(page.get_by_role("region", name="Map of times")).to_contain_text("PER=4")
    assert violations(page) == []
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a Kernel Tuner script").click()
    assert "kernel_tuner.tune_kernel" in saved.value.path().read_text()
    table.get_by_role("row", name="128, PER=4").get_by_role("button", name="use this").click()
    expect(field(page, "Grid x")).to_have_value("8")
    expect(page.get_by_text("The block is 128, with PER=4.")).to_be_visible()
    with page.expect_request("**/api/shares") as shared:
        page.get_by_role("button", name="Share").click()
    sweep = json.loads(shared.value.post_data or "")["payload"]["request"]["sweep"]
    assert sweep["macros"] == [{"name": "PER", "values": ["1", "2", "4"]}]


def test_a_list_with_a_fault_is_not_sent(page: Page) -> None:
    open_page(page)
    page.keyboard.press("Alt+5")
    page.get_by_role("button", name="Own list").click()
    page.get_by_label("Block shapes, separated by commas").fill("64, 64")
    expect(page.locator("#panel")).to_contain_text("64 is there twice.")
    page.keyboard.press("Control+Shift+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Not sent: 64 is there twice.")


def test_the_sizes_fit_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/#example=saxpy")
    page.locator(".cm-content").wait_for()
    try_own(page, "64, 128")
    expect(page.get_by_role("region", name="Sizes as a table")).to_contain_text("100 %")
    button = page.get_by_role("button", name="use this").first.bounding_box()
    assert button is not None and button["x"] + button["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []


def ask_instruments(page: Page, source: str, *names: str) -> None:
    open_page(page)
    write(page, source)
    expect(field(page, "a shape")).to_be_visible()
    field(page, "a shape").fill("64")
    field(page, "Block x").fill("64")
    launch(page).get_by_label("Size the grid to cover").uncheck()
    field(page, "Grid x").fill("1")
    page.get_by_role("button", name="Compiler options").click()
    for name in names:
        launch(page).get_by_label(name).check()


def test_a_race_is_found_at_its_line(page: Page) -> None:
    ask_instruments(page, RACE, "Check for races, uninitialised reads and barriers")
    run(page)
    expect(verdict(page)).to_contain_text("defect")
    finding = page.get_by_role("list", name="Defects found").get_by_role("button").filter(has_text="Data race").first
    finding.click()
    expect(page.locator(".cm-activeLine")).to_contain_text("s[(threadIdx.x + 33) % 64]")


def test_requests_and_sectors_are_counted(page: Page) -> None:
    ask_instruments(page, WIDE, "Count memory requests and sectors")
    run(page)
    page.keyboard.press("Alt+4")
    row = page.get_by_role("row", name="global writes")
    expect(row).to_contain_text("8 sectors")
    expect(row).to_contain_text("4.00 sectors")
    assert violations(page) == []
