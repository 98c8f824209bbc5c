"""The selected kernel and launch on every GPU of the table."""

import pytest
from playwright.sync_api import Page, expect

from tests.page.steps import field, open_page, write
from tests.page.test_shell import violations


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_launch_is_fitted_to_every_gpu(page: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    open_page(page)
    page.keyboard.press("Alt+7")
    table = page.get_by_role("region", name="This launch on every GPU")
    expect(page.get_by_text("This launch is possible on all 12 GPUs.")).to_be_visible(timeout=20_000)
    expect(table.get_by_role("row")).to_have_count(13)
    expect(table.get_by_role("row", name="T4")).to_contain_text("100 %")
    field(page, "Dynamic shared memory in bytes").fill("70000")
    expect(table.get_by_role("row", name="T4")).to_contain_text(
        "Not possible: a block needs 70,000 bytes", timeout=20_000
    )
    expect(page.get_by_text("This launch is not possible on T4.")).to_be_visible()
    table.get_by_role("button", name="L4", exact=True).press("Enter")
    card = page.get_by_role("region", name="L4", exact=True)
    expect(card).to_contain_text("58 at up to 2,040 MHz")
    expect(card).to_contain_text("AWS g6.xlarge, 1 GPU: one GPU for development and inference")
    expect(card).to_contain_text("Sources: NVIDIA L4 data sheet")
    assert violations(page) == []
    card.get_by_role("button", name="Compile for sm_89").click()
    expect(card.get_by_role("button", name="Compiled for sm_89")).to_be_disabled()


AMPERE = """__global__ void k(int *a)
{
#if __CUDA_ARCH__ < 800
#error "needs Ampere"
#endif
    a[threadIdx.x] = 1;
}
"""


def test_a_gpu_that_the_source_excludes_says_why(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 780})
    open_page(page)
    write(page, AMPERE)
    page.keyboard.press("Alt+7")
    row = page.get_by_role("region", name="This launch on every GPU").get_by_role("row", name="T4")
    expect(row).to_contain_text("it does not compile for sm_75", timeout=20_000)
    expect(row).to_contain_text("needs Ampere")
    assert violations(page) == []
