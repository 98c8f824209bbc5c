"""The editor: diagnostics while typing, help, files, drafts and the way out by keyboard."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.page.steps import field, open_page, run, write


def test_an_error_is_marked_at_its_place_while_typing(page: Page) -> None:
    open_page(page)
    write(page, "__global__ void k(int *x)\n{\n    /* 🙂 */ x[0] = missing;\n}\n")
    expect(page.locator(".cm-lintRange-error")).to_have_text("missing")
    expect(page.get_by_role("button", name="1 error")).to_be_visible()
    page.get_by_role("button", name="1 error").click()
    expect(page.locator(".cm-activeLine")).to_contain_text("missing")


def test_the_mark_goes_when_the_error_is_mended(page: Page) -> None:
    open_page(page)
    write(page, "__global__ void k(int *x) { x[0] = missing; }")
    expect(page.locator(".cm-lintRange-error")).to_have_count(1)
    write(page, "__global__ void k(int *x) { x[0] = 1; }")
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)


def test_names_are_explained_and_completed(page: Page) -> None:
    open_page(page)
    page.locator(".cm-line", has_text="int i").get_by_text("blockDim").hover()
    expect(page.locator(".cm-tooltip")).to_contain_text("Threads of a block in each dimension")
    write(page, "__global__ void k(int *x) { __reduce_add")
    option = page.locator(".cm-tooltip-autocomplete li", has_text="__reduce_add_sync")
    expect(option).to_be_visible()
    expect(page.locator(".cm-completionInfo")).to_contain_text("sm_80 and later")


def test_escape_then_tab_leaves_the_editor(page: Page) -> None:
    open_page(page)
    page.locator(".cm-content").click()
    page.keyboard.press("Tab")
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator(".cm-content")).not_to_be_focused()


def test_find_opens_and_finds(page: Page) -> None:
    open_page(page)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+f")
    page.locator(".cm-search [name=search]").press_sequentially("vector_add")
    expect(page.locator(".cm-searchMatch")).to_have_count(1)


def test_a_draft_survives_a_reload_and_can_be_discarded(page: Page) -> None:
    open_page(page)
    original = page.locator(".cm-content").inner_text()
    write(page, "__global__ void mine(int *x) { x[0] = 1; }")
    field(page, "Block x").fill("64")
    page.wait_for_timeout(500)
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text("mine")
    expect(field(page, "Block x")).to_have_value("64")
    page.get_by_role("button", name="Discard edits").click()
    expect(page.locator(".cm-content")).to_contain_text("vector_add")
    assert page.locator(".cm-content").inner_text() == original


def test_drafts_belong_to_their_document(page: Page) -> None:
    open_page(page, "/#example=saxpy")
    field(page, "Block x").fill("96")
    page.get_by_role("button", name="Examples", exact=True).click()
    page.get_by_role("button", name=re.compile("^Vector addition One")).click()
    expect(field(page, "Block x")).to_have_value("256")
    page.get_by_role("complementary", name="Examples").get_by_role(
        "button", name=re.compile("^SAXPY with a grid-stride loop y")
    ).click()
    expect(field(page, "Block x")).to_have_value("96")


def test_a_file_is_opened_and_saved(page: Page, tmp_path: Path) -> None:
    open_page(page)
    source = "__global__ void twice(float *values) { values[threadIdx.x] *= 2; }\n"
    (tmp_path / "twice.cu").write_text(source)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open", exact=True).click()
    chooser.value.set_files(tmp_path / "twice.cu")
    expect(page.locator(".cm-content")).to_contain_text("twice")
    expect(field(page, "values shape")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save", exact=True).click()
    assert download.value.suggested_filename == "twice.cu"
    assert Path(download.value.path()).read_text() == source


def test_a_dropped_file_is_opened(page: Page) -> None:
    open_page(page)
    page.locator(".cm-content").evaluate(
        """target => {
            const transfer = new DataTransfer();
            transfer.items.add(new File(['__global__ void dropped(int *a) { a[0] = 1; }'], 'dropped.cu'));
            target.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }"""
    )
    expect(page.locator(".file .name")).to_have_text("dropped.cu")
    expect(page.locator(".cm-content")).to_have_text("__global__ void dropped(int *a) { a[0] = 1; }")


def test_a_file_that_is_no_text_is_refused_in_words(page: Page, tmp_path: Path) -> None:
    open_page(page)
    (tmp_path / "kernel.cu").write_bytes(b"\xff\xfe\x00k")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open", exact=True).click()
    chooser.value.set_files(tmp_path / "kernel.cu")
    expect(page.get_by_role("alert")).to_contain_text("kernel.cu is not text in UTF-8")


def test_a_finding_leads_to_its_line(page: Page) -> None:
    open_page(page, "/#example=out-of-bounds")
    run(page)
    expect(page.locator(".cm-faulty")).to_contain_text("doubled[i] = 2.0f * values[i]")
    page.get_by_role("list", name="Defects found").get_by_role("button").first.click()
    expect(page.locator(".cm-activeLine")).to_contain_text("values[i]")
