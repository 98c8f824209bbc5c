"""Two runs side by side, links that carry results, and links in other sites' frames."""

from playwright.sync_api import BrowserContext, Page, expect

from tests.page.conftest import Watch
from tests.page.steps import field, open_page, run, verdict, write
from tests.page.test_shell import violations

FIRST = "__global__ void k(float *a) { a[threadIdx.x] = threadIdx.x; }"
SECOND = "__global__ void k(float *a) { a[threadIdx.x] = threadIdx.x + (threadIdx.x == 7 ? 0.5f : 0); }"


def test_two_runs_of_the_history_stand_side_by_side(page: Page) -> None:
    open_page(page)
    write(page, FIRST)
    expect(field(page, "a shape")).to_be_visible()
    field(page, "a shape").fill("256")
    run(page)
    write(page, SECOND)
    run(page)
    page.get_by_role("button", name="History").click()
    boxes = page.get_by_role("checkbox", name="Compare")
    expect(boxes).to_have_count(2)
    # The list begins with the newest.
    boxes.nth(1).check()
    boxes.nth(0).check()
    page.get_by_role("button", name="Compare source, launch and results").click()
    dialog = page.get_by_role("dialog", name="Comparison")
    expect(dialog).to_contain_text("differs in 1 of 256 elements, first at [7]:")
    expect(dialog).to_contain_text("Largest difference 0.5")
    expect(dialog).to_contain_text("Times do not compare: both were emulated on a processor")
    expect(dialog.get_by_role("region", name="Lines that differ")).to_contain_text("0.5f")
    expect(dialog.get_by_role("row", name="Registers")).to_be_visible()
    assert violations(page) == []
    address = dialog.get_by_role("link").get_attribute("href") or ""
    page.goto(address)
    page.reload()
    expect(page.get_by_role("dialog", name="Comparison")).to_contain_text("first at [7]")


def test_a_link_carries_the_result_and_another_run_is_compared_with_it(
    page: Page, context: BrowserContext, watch: Watch
) -> None:
    open_page(page)
    write(page, FIRST)
    expect(field(page, "a shape")).to_be_visible()
    field(page, "a shape").fill("256")
    run(page)
    page.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("With the results of the last run")).to_be_checked()
    link = dialog.get_by_label("Link", exact=True).input_value()
    html = dialog.get_by_label("HTML to embed").input_value()
    assert f'src="{link.replace("/k/", "/embed/")}"' in html
    assert violations(page) == []
    other = context.new_page()
    watch.follow(other)
    open_page(other, link)
    expect(other.get_by_text("This result came with the link of")).to_be_visible(timeout=15_000)
    expect(verdict(other)).to_contain_text("Finished")
    run(other)
    other.get_by_role("button", name="Compare with the result that came with the link").click()
    expect(other.get_by_role("dialog", name="Comparison")).to_contain_text("is the same in both, to the bit.")
    framed = context.new_page()
    watch.follow(framed)
    framed.goto(link.replace("/k/", "/embed/"))
    expect(framed.get_by_role("heading", name="Results")).to_be_visible()
    expect(framed.get_by_text("[0.0, 1.0, 2.0")).to_be_visible()
    for theme in ("light", "dark"):
        framed.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        assert violations(framed) == []


def test_twins_need_a_gpu(page: Page, watch: Watch) -> None:
    watch.expect("503")
    open_page(page)
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill("emulator, and compare")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("gpu", ignore_case=True)
