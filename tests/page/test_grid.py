"""Blocks on SMs, warps of a block, and one warp's accesses as sectors and banks."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.page.steps import field, launch, open_page, write
from tests.page.test_shell import violations

STRIDED = """__global__ void k(const float *x, float *y)
{
    __shared__ float s[1024];
    s[threadIdx.x * 32 % 1024] = x[threadIdx.x * 2];
    __syncthreads();
    if (threadIdx.x % 2 == 0)
        y[threadIdx.x] = s[threadIdx.x];
}
"""


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_waves_warps_and_the_accesses_of_one(page: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    open_page(page)
    page.keyboard.press("Alt+8")
    panel = page.locator("#panel")
    expect(panel.get_by_role("img", name="Wave 1 of 4 on H200: 1,056 blocks, 0 places empty")).to_be_visible()
    panel.get_by_role("slider", name="Wave").fill("4")
    expect(panel.get_by_role("img", name="Wave 4 of 4 on H200: 739 blocks, 317 places empty")).to_be_visible()
    expect(panel.get_by_role("img", name="256 threads in 8 warps, all lanes of which are used")).to_be_visible()
    write(page, STRIDED)
    expect(field(page, "y shape")).to_be_visible()
    launch(page).get_by_label("Size the grid to cover").uncheck()
    for name, value in (("Block x", "40"), ("Grid x", "1")):
        field(page, name).fill(value)
    expect(panel.get_by_role("img", name="40 threads in 2 warps; 24 lanes of the last one are idle")).to_be_visible()
    with page.expect_request("**/api/runs") as sent:
        panel.get_by_role("button", name="Run and trace it").click()
    assert json.loads(sent.value.post_data or "")["trace"] == {"step": "steps.0", "block": [0, 0, 0], "warp": 0}
    accesses = panel.get_by_role("group", name="Accesses").get_by_role("button")
    expect(accesses).to_have_count(4, timeout=20_000)
    expect(panel).to_contain_text(
        "32 lanes of 4 bytes each touch 8 sectors in 2 lines: 50 % of the 256 bytes that move are used."
    )
    accesses.filter(has_text="write shared").click()
    expect(panel).to_contain_text("a 32-way bank conflict")
    expect(panel.get_by_role("img", name="Words that each of the 32 banks gives: 32 wavefronts")).to_be_visible()
    expect(panel.get_by_role("img", name="of the lanes' places are used, over 1 block")).to_be_visible()
    assert violations(page) == []
    panel.get_by_role("button", name="Show line 4").click()
    expect(page.locator(".cm-activeLine")).to_contain_text("s[threadIdx.x * 32 % 1024]")


def test_a_warp_that_is_not_there_is_told_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page)
    page.keyboard.press("Alt+8")
    panel = page.locator("#panel")
    panel.get_by_label("warp", exact=True).fill("9")
    panel.get_by_role("button", name="Run and trace it").click()
    expect(panel.get_by_role("alert")).to_contain_text("there is no such warp: the grid is 3907", timeout=20_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []
