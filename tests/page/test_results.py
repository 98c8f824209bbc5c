"""What is shown of a run: verdicts, arrays, images, console, occupancy, times; reload, cancel and failures in words."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.page.conftest import Watch
from tests.page.steps import field, launch, open_page, run, verdict, write
from tests.page.test_shell import violations

SPIN = "__global__ void spin(volatile int *a) { while (a[0] == 0) { a[1] = a[0]; } }"
FLOOD = """#include <cstdio>
__global__ void flood(int *a)
{
    for (int i = 0; i < 100; ++i)
        printf("line %d of thread %d\\n", i, threadIdx.x);
    a[0] = 1;
}
"""


def test_a_run_shows_its_output_and_honest_times(page: Page) -> None:
    open_page(page)
    run(page)
    expect(verdict(page)).to_contain_text("Finished in")
    expect(verdict(page)).to_contain_text("emulated on a CPU")
    times = page.locator("dl.strip")
    expect(times).to_contain_text("Run, emulated")
    page.keyboard.press("Alt+4")
    expect(page.locator("#panel")).to_contain_text("Emulated on a CPU — not GPU time.")
    expect(page.get_by_role("row", name=re.compile("^Run"))).to_contain_text("wall clock")


def test_a_run_that_waits_tells_its_place_in_the_line(page: Page) -> None:
    open_page(page)
    spin = {
        "source": {"text": SPIN},
        "buffers": [{"name": "a", "dtype": "int32", "shape": [2]}],
        "steps": [
            {
                "kind": "launch",
                "config": {"grid": [1], "block": [1]},
                "arguments": [{"kind": "buffer", "buffer": "a"}],
            }
        ],
    }
    ahead = [page.request.post("/api/runs", data=spin).json()["id"] for _ in range(3)]
    page.get_by_test_id("run").click()
    try:
        expect(verdict(page)).to_contain_text(re.compile(r"In the queue\s*2 before this one(, about \d+ s)?"))
    finally:
        for run_id in reversed(ahead):
            page.request.delete(f"/api/runs/{run_id}")
    expect(verdict(page)).to_contain_text("Finished in", timeout=30_000)


def test_a_pixel_tells_its_value_and_thread(page: Page) -> None:
    open_page(page, "/#example=mandelbrot")
    run(page)
    picture = page.get_by_role("application", name="image as an image")
    picture.focus()
    page.keyboard.press("ArrowRight")
    reading = page.locator(".image .reading")
    expect(reading).to_contain_text("x 257 y 256")
    expect(reading).to_contain_text("block (16, 16, 0)")
    expect(reading).to_contain_text("thread (1, 0, 0)")
    expect(reading).to_contain_text("warp 0 · lane 1")
    expect(reading).to_contain_text("256")


def test_the_table_pages_through_the_array(page: Page) -> None:
    open_page(page)
    run(page)
    page.get_by_role("button", name="Table").click()
    grid = page.get_by_role("grid")
    expect(grid).to_have_accessible_name("c: 125,000 rows, 8 columns. Arrow keys move between cells.")
    grid.focus()
    with page.expect_response(lambda response: "slice=" in response.url and response.ok):
        page.keyboard.press("Control+End")
    expect(page.locator(".place")).to_have_text("c[999999] = 999999.5")


def test_the_array_is_saved_as_npy(page: Page) -> None:
    open_page(page)
    run(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Save .npy").click()
    assert download.value.suggested_filename == "c.npy"
    data = Path(download.value.path()).read_bytes()
    assert data[:6] == b"\x93NUMPY" and len(data) > 4_000_000


def test_compile_errors_stand_in_the_output_with_their_line(page: Page) -> None:
    open_page(page)
    write(page, "__global__ void k(int *x)\n{\n    x[0] = missing;\n}\n")
    run(page)
    expect(verdict(page)).to_contain_text("1 error: the kernel did not compile")
    message = page.get_by_role("list", name="Messages of the compiler").get_by_role("button")
    expect(message).to_contain_text("kernel.cu:3:12")
    expect(message).to_contain_text("^^^^^^^")


def test_a_long_console_scrolls_without_drawing_every_line(page: Page) -> None:
    open_page(page)
    write(page, FLOOD)
    expect(field(page, "a shape")).to_be_visible()
    field(page, "Block x").fill("32")
    launch(page).get_by_label("Size the grid to cover").uncheck()
    field(page, "Grid x").fill("1")
    run(page)
    console = page.get_by_role("region", name="Console")
    expect(console).to_contain_text("3,200 lines")
    log = console.get_by_role("log")
    log.evaluate("element => element.scrollTo(0, element.scrollHeight)")
    expect(log).to_contain_text("3,200")
    assert log.locator(".line").count() < 60


def test_a_running_kernel_is_cancelled(page: Page) -> None:
    open_page(page)
    write(page, SPIN)
    expect(field(page, "a shape")).to_be_visible()
    page.get_by_test_id("run").click()
    expect(page.get_by_role("list", name="Phases")).to_contain_text("running")
    page.get_by_test_id("cancel").click()
    expect(verdict(page)).to_contain_text("Cancelled")
    expect(page.get_by_test_id("run")).to_be_visible()


def test_a_finished_run_is_opened_by_its_address(page: Page, context: BrowserContext, watch: Watch) -> None:
    open_page(page, "/#example=saxpy")
    field(page, "Block x").fill("64")
    run(page)
    address = page.url
    other = context.new_page()
    watch.follow(other)
    open_page(other, address)
    expect(other.locator(".cm-content")).to_contain_text("saxpy")
    expect(field(other, "Block x")).to_have_value("64")
    expect(verdict(other)).to_contain_text("Finished")


@pytest.mark.parametrize(
    ("status", "headers", "detail", "words"),
    [
        (429, {"retry-after": "7"}, "Too many runs", "Too many runs. Try again in 7 s."),
        (503, {}, "no worker offers gpu:h200", "no worker offers gpu:h200."),
    ],
)
def test_refusals_are_told_in_words(
    page: Page, watch: Watch, status: int, headers: dict[str, str], detail: str, words: str
) -> None:
    watch.expect(str(status))
    open_page(page)
    body = json.dumps({"status": status, "title": "refused", "detail": detail})

    def refuse(route: Route) -> None:
        route.fulfill(status=status, headers=headers, content_type="application/problem+json", body=body)

    page.route("**/api/runs", refuse)
    page.get_by_test_id("run").click()
    expect(verdict(page)).to_contain_text("Not run")
    expect(verdict(page)).to_contain_text(words)


def test_offline_is_told_and_nothing_is_lost(page: Page, context: BrowserContext, watch: Watch) -> None:
    watch.expect("ERR_INTERNET_DISCONNECTED")
    open_page(page)
    context.set_offline(True)
    field(page, "Block x").fill("128")
    page.get_by_test_id("run").click()
    expect(verdict(page)).to_contain_text("This browser is offline")
    context.set_offline(False)
    run(page)
    expect(verdict(page)).to_contain_text("Finished")
    expect(field(page, "Block x")).to_have_value("128")


def test_occupancy_is_what_the_service_answers(page: Page) -> None:
    open_page(page, "/#example=matmul-tiled")
    page.keyboard.press("Alt+2")
    shown = page.locator(".pane .lead").inner_text()
    with page.expect_response(lambda response: response.url.endswith("/api/runs")) as posted:
        run(page)
    result = page.request.get(f"/api/runs/{posted.value.json()['id']}").json()["result"]
    told = result["launches"][-1]["occupancy"]
    assert f"{told['warps_per_sm']} of {told['max_warps_per_sm']} warp slots" in shown
    assert f"{told['blocks_per_sm']} block" in shown


def test_the_curve_is_walked_by_keyboard_and_sets_the_block(page: Page) -> None:
    open_page(page)
    page.keyboard.press("Alt+2")
    chart = page.get_by_role("application", name="Occupancy by block size")
    chart.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(field(page, "Block x")).to_have_value("288")


def test_ptx_shares_its_hue_with_the_source(page: Page) -> None:
    open_page(page)
    page.keyboard.press("Alt+3")
    expect(page.locator("#panel .cm-content")).to_contain_text(".entry")
    page.locator("[data-testid=editor] .cm-line", has_text="c[i] = a[i] + b[i];").hover()
    expect(page.locator("#panel")).to_contain_text(re.compile(r"Line \d+ became \d+ instructions"))
    expect(page.locator("#panel .cm-hot").first).to_be_visible()


def test_a_run_is_estimated_for_a_gpu_on_demand(page: Page) -> None:
    open_page(page)
    run(page)
    page.keyboard.press("Alt+4")
    page.get_by_role("button", name="Estimate the time on a GPU").click()
    box = page.get_by_role("region", name="Estimate of GPU time")
    expect(box).to_contain_text("on the H200 SXM, limited by", timeout=20_000)
    expect(box).to_contain_text("Not a measurement:")
    expect(box.get_by_role("row").first).to_contain_text("µs")
    assert violations(page) == []
