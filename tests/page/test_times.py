"""Times of a GPU on the page. The runs are emulated; their times are those that an H200 gave for the examples."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.steps import field, open_page, run, write
from tests.page.test_shell import violations

TIMES: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "times" / "h200.json").read_text())
PEAKS = {"bytes_per_second": 4.2e12, "flops_per_second": 5.1e13}
KERNEL = "__global__ void k(float *a) { a[threadIdx.x] = threadIdx.x; }"


def timed(route: Route) -> None:
    """The stored run with a GPU's time in the place of the emulator's."""
    answer = route.fetch()
    stored = answer.json()
    result = stored["result"]
    time = json.loads(json.dumps(TIMES["saxpy"]))
    time["measured"] |= {"peaks": PEAKS, "work": {"bytes": 12 << 20, "flops": None, "origin": "declared"}}
    result["timings"] = [item for item in result["timings"] if item["stage"] != "run"] + [time]
    route.fulfill(response=answer, json=stored)


def test_a_comparison_shows_each_launch_and_the_medians(page: Page) -> None:
    open_page(page)
    write(page, KERNEL)
    expect(field(page, "a shape")).to_be_visible()
    field(page, "a shape").fill("256")
    run(page)
    run(page)
    page.route("**/api/runs/*", timed)
    page.get_by_role("button", name="History").click()
    boxes = page.get_by_role("checkbox", name="Compare")
    boxes.nth(1).check()
    boxes.nth(0).check()
    page.get_by_role("button", name="Compare source, launch and results").click()
    times = page.get_by_role("dialog", name="Comparison").get_by_role("region", name="Distribution of the times")
    expect(times.get_by_role("img", name="Each launch’s time")).to_be_visible()
    expect(times.get_by_role("row")).to_have_count(5)
    series = TIMES["saxpy"]["measured"]["series"]
    for index, (name, item) in enumerate(zip(("warm L2", "cold L2"), series, strict=True)):
        row = times.get_by_role("row").nth(index + 1)
        expect(row).to_contain_text(name)
        expect(row).to_contain_text(f"{len(item['samples'])} launches")
        expect(row).to_contain_text(f"{item['median'] * 1e6:.2f} µs")
    moved = (12 << 20) / series[1]["median"]
    expect(times).to_contain_text(f"As declared, with a cold L2: {moved / 1e9:,.0f} GB/s, {moved / 4.2e10:.0f} %")
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        assert violations(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    expect(times).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_runs_own_times_stand_in_its_tab(page: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    open_page(page)
    write(page, KERNEL)
    run(page)
    page.route("**/api/runs/*", timed)
    # What was told while it ran has the emulator's time; without it the page takes the stored result.
    page.route("**/api/runs/*/events*", lambda route: route.fulfill(status=204))
    page.get_by_role("button", name="History").click()
    page.get_by_role("listitem").filter(has_text="Finished").get_by_role("button").click()
    page.get_by_role("tab", name="Timing").click()
    times = page.get_by_role("region", name="Distribution of the times")
    expect(times.get_by_role("row")).to_have_count(3)
    expect(times).to_contain_text("An empty kernel takes 2.66 µs, timed the same way.")
    expect(page.get_by_text("The source has no kernel called")).to_have_count(0)
    assert violations(page) == []
