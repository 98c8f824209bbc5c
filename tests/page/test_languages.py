"""Sources in Numba and PTX on the page: chosen, recognised, typed, run, shared; kernels of CuPy taken out of Python."""

import io
import re
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.page.steps import field, launch, open_page, run, verdict
from tests.page.test_shell import violations

NUMBA = """from numba import cuda


@cuda.jit
def triple(values, out, factor):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = values[i] * factor
"""
HOST = """
values = np.arange(50, dtype=np.float32)
out = np.zeros(50, dtype=np.float32)
triple[2, 32](values, out, 3)
"""
PTX = """.version 8.0
.target sm_75
.address_size 64
.visible .entry mark(.param .u64 .ptr .global .align 4 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
"""
CUPY = """import cupy as cp

add = cp.RawKernel(r'''
extern "C" __global__ void add(const float *a, float *b, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) b[i] += a[i];
}
''', 'add')
square = cp.ElementwiseKernel('float32 x', 'float32 y', 'y = x * x', 'square')
add((4,), (256,), (a, b, 1024))
"""


def language(page: Page) -> Locator:
    return page.get_by_label("Language", exact=True)


def notice(page: Page) -> Locator:
    return page.locator(".code [role=status]")


def paste(page: Page, text: str) -> None:
    """The text from the clipboard, in place of the source."""
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+v")


def compiled(page: Page) -> None:
    expect(page.locator(".status .state")).to_contain_text("compiled", timeout=20_000)


def array(page: Page) -> np.ndarray:
    """The buffer shown, as its download gives it."""
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("npy")).first.click()
    loaded: np.ndarray = np.load(io.BytesIO(download.value.path().read_bytes()))
    return loaded


@pytest.mark.parametrize(
    ("wanted", "file", "token"),
    [("numba", "kernel.py", "@cuda.jit"), ("ptx", "kernel.ptx", ".visible .entry saxpy")],
)
def test_an_untouched_example_opens_in_another_language_and_runs(
    page: Page, wanted: str, file: str, token: str
) -> None:
    open_page(page, "/#example=saxpy")
    language(page).select_option(wanted)
    expect(page.locator(".cm-content")).to_contain_text(token.split()[0])
    expect(page.locator(".file .name")).to_have_text(file)
    expect(notice(page)).to_contain_text("the same example")
    compiled(page)
    run(page)
    expect(verdict(page)).to_contain_text("Finished in")
    x, y = (np.random.default_rng(seed).random(1 << 20, dtype=np.float32) for seed in (1, 2))
    np.testing.assert_allclose(array(page), 2.5 * x + y, rtol=1e-6)
    notice(page).get_by_role("button", name="Back to CUDA C++").click()
    expect(language(page)).to_have_value("cuda-c++")
    expect(page.locator(".cm-content")).to_contain_text("__global__")


def test_the_picker_keeps_an_edited_text_and_is_undone(page: Page) -> None:
    open_page(page, "/#example=saxpy")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("// mine\n")
    language(page).focus()
    page.keyboard.press("P")
    expect(language(page)).to_have_value("ptx")
    expect(notice(page)).to_contain_text("The text is as it was")
    expect(page.locator(".cm-content")).to_contain_text("// mine")
    expect(page.locator(".file .name")).to_have_text("kernel.ptx")
    expect(page.get_by_role("button", name=re.compile("error"))).to_be_visible()
    notice(page).get_by_role("button", name="Undo").click()
    expect(language(page)).to_have_value("cuda-c++")
    expect(page.locator(".file .name")).to_have_text("kernel.cu")
    compiled(page)
    expect(page.locator(".cm-content")).to_contain_text("// mine")


def test_pasted_numba_is_recognised_its_arguments_are_typed_and_it_runs(page: Page) -> None:
    open_page(page)
    paste(page, NUMBA)
    expect(language(page)).to_have_value("numba")
    expect(notice(page)).to_contain_text("This is Python with numba.cuda")
    # What the text indexes is an array, and what it only reads starts with numbers; the rest is a number.
    expect(field(page, "values shape")).to_be_visible()
    expect(field(page, "out role")).to_have_value("inout")
    field(page, "values shape").fill("6")
    field(page, "out shape").fill("6")
    expect(field(page, "values initial value")).to_have_value("arange")
    launch(page).get_by_label(re.compile("^factor, ")).fill("2.5")
    expect(field(page, "factor type").locator("option:checked")).to_have_text(re.compile("float64"))
    compiled(page)
    run(page)
    expect(verdict(page)).to_contain_text("Finished in")
    np.testing.assert_array_equal(array(page), np.float32(2.5) * np.arange(6, dtype=np.float32))

    field(page, "factor type").select_option("int32")
    expect(launch(page).locator(".fault")).to_have_text("“2.5” is not a whole number.")
    field(page, "factor type").select_option("float32")
    expect(launch(page).locator(".fault")).to_have_count(0)


def test_a_typing_error_of_numba_is_marked_at_its_line_until_the_form_mends_it(page: Page) -> None:
    open_page(page)
    paste(page, NUMBA)
    compiled(page)
    field(page, "values is").select_option("")
    expect(page.locator(".cm-faulty")).to_contain_text("out[i] = values[i] * factor")
    page.get_by_role("button", name="1 error").click()
    expect(page.locator(".cm-activeLine")).to_contain_text("values[i]")
    field(page, "values type").select_option("array")
    expect(page.locator(".cm-faulty")).to_have_count(0)
    compiled(page)


def test_a_renamed_parameter_of_python_is_followed(page: Page) -> None:
    open_page(page)
    paste(page, NUMBA)
    expect(field(page, "values shape")).to_be_visible()
    paste(page, NUMBA.replace("values", "inputs"))
    expect(field(page, "inputs shape")).to_be_visible()
    expect(field(page, "values shape")).to_have_count(0)
    compiled(page)


def test_undo_of_a_paste_brings_its_language_back(page: Page) -> None:
    open_page(page)
    for key in ("Control+z", ""):
        paste(page, PTX)
        expect(language(page)).to_have_value("ptx")
        expect(field(page, "out shape")).to_be_visible()
        if key:
            page.keyboard.press(key)
        else:
            notice(page).get_by_role("button", name="Undo").click()
        expect(language(page)).to_have_value("cuda-c++")
        expect(page.locator(".cm-content")).to_contain_text("vector_add")
        expect(page.locator(".file .name")).to_have_text("kernel.cu")
        compiled(page)


def test_a_snippet_of_another_language_changes_nothing(page: Page) -> None:
    open_page(page)
    page.evaluate("text => navigator.clipboard.writeText(text)", NUMBA)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.press("Control+v")
    expect(page.locator(".cm-content")).to_contain_text("triple")
    expect(language(page)).to_have_value("cuda-c++")
    expect(notice(page)).to_be_empty()


def test_kernels_of_cupy_are_taken_out_of_pasted_python(page: Page) -> None:
    open_page(page)
    paste(page, CUPY)
    expect(notice(page)).to_contain_text("This is Python that uses CuPy: take one of its kernels")
    notice(page).get_by_role("button", name="Take add").click()
    expect(language(page)).to_have_value("cuda-c++")
    expect(page.locator(".cm-content")).to_contain_text("__global__ void add")
    expect(page.locator(".cm-content")).not_to_contain_text("import cupy")
    expect(field(page, "Grid x")).to_have_value("4")
    expect(field(page, "a shape")).to_be_visible()
    notice(page).get_by_role("button", name="Undo").click()
    expect(page.locator(".cm-content")).to_contain_text("import cupy")
    notice(page).get_by_role("button", name="Take square").click()
    compiled(page)
    run(page)
    expect(verdict(page)).to_contain_text("Finished in")
    np.testing.assert_array_equal(array(page), np.arange(1024, dtype=np.float32) ** 2)


def test_the_launch_that_a_numba_script_makes_is_taken_over_and_given_back(page: Page) -> None:
    open_page(page)
    paste(page, "import numpy as np\n" + NUMBA + HOST)
    expect(language(page)).to_have_value("numba")
    notice(page).get_by_role("button", name="Launch triple as written").click()
    expect(field(page, "Grid x")).to_have_value("2")
    expect(field(page, "Block x")).to_have_value("32")
    expect(field(page, "values shape")).to_have_value("50")
    expect(launch(page).get_by_label(re.compile("^factor, "))).to_have_value("3")
    run(page)
    expect(verdict(page)).to_contain_text("Finished in")
    np.testing.assert_array_equal(array(page), 3 * np.arange(50, dtype=np.float32))
    notice(page).get_by_role("button", name="Undo").click()
    expect(field(page, "Block x")).to_have_value("256")
    expect(language(page)).to_have_value("numba")


def test_a_link_and_a_run_keep_the_language(page: Page, browser: Browser) -> None:
    open_page(page, "/#new=numba")
    field(page, "output shape").fill("64")
    compiled(page)
    run(page)
    expect(verdict(page)).to_contain_text("Finished in")
    ran = page.url[page.url.index("#") :]
    page.get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_role("button", name="CuPy script")).to_be_disabled()
    expect(page.get_by_role("dialog")).to_contain_text("CUDA C++ only")
    expect(page.get_by_label("Link", exact=True)).to_have_value(re.compile("/k/"))
    link = page.get_by_label("Link", exact=True).input_value()
    for address in (link, f"{link.split('/k/')[0]}/{ran[:1]}{ran[ran.index('run=') :]}"):
        stranger = browser.new_context().new_page()
        open_page(stranger, address)
        expect(language(stranger)).to_have_value("numba")
        expect(field(stranger, "output shape")).to_have_value("64")
        expect(field(stranger, "factor type")).to_have_value("float32")
        run(stranger)
        expect(verdict(stranger)).to_contain_text("Finished in")
        stranger.context.close()


def test_new_kernels_in_each_language_and_their_files(page: Page, tmp_path: Path) -> None:
    open_page(page)
    for name, value, ending in (("PTX", "ptx", "ptx"), ("Numba", "numba", "py"), ("CUDA C++", "cuda-c++", "cu")):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Command").fill(f"new {name}")
        page.keyboard.press("Enter")
        expect(language(page)).to_have_value(value)
        compiled(page)
        run(page)
        np.testing.assert_array_equal(array(page), 2 * np.arange(1024, dtype=np.float32))
        with page.expect_download() as download:
            page.get_by_role("button", name="Save", exact=True).click()
        assert download.value.suggested_filename == f"kernel.{ending}"
    (tmp_path / "mark.ptx").write_text(PTX)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open", exact=True).click()
    chooser.value.set_files(tmp_path / "mark.ptx")
    expect(language(page)).to_have_value("ptx")
    expect(notice(page)).to_contain_text("This is PTX")


@pytest.mark.parametrize(
    ("address", "token", "there", "absent"),
    [
        ("/#new=numba", "# ", "fast math", "standard"),
        ("/#new=ptx", "// ", "Registers a thread, at most", "fast math"),
    ],
)
def test_comments_and_options_are_of_the_language(
    page: Page, address: str, token: str, there: str, absent: str
) -> None:
    open_page(page, address)
    # Its mode loads after the page, and knows the comments of the language.
    expect(page.locator(".cm-line span").first).to_be_visible()
    page.locator(".cm-line").nth(1).click()
    text = page.locator(".cm-line").nth(1).inner_text()
    page.keyboard.press("Control+/")
    expect(page.locator(".cm-line").nth(1)).to_have_text(re.compile("^" + re.escape(token) + re.escape(text)))
    launch(page).get_by_role("button", name="Compiler options").click()
    expect(launch(page).get_by_label(there)).to_be_visible()
    expect(launch(page).get_by_label(absent)).to_have_count(0)
    expect(launch(page).get_by_role("button", name="Add a macro")).to_have_count(0)


def test_the_examples_are_found_by_language(page: Page) -> None:
    open_page(page)
    page.get_by_role("button", name="Examples", exact=True).click()
    library = page.get_by_role("complementary", name="Examples")
    library.get_by_role("button", name="PTX", exact=True).click()
    expect(library.get_by_role("listitem")).to_have_count(1)
    library.get_by_role("button", name="All", exact=True).click()
    library.get_by_label("Filter examples").fill("numba python saxpy")
    expect(library.get_by_role("listitem")).to_have_count(1)


@pytest.mark.parametrize(("theme", "width"), [("dark", 1440), ("light", 1440), ("dark", 390)])
def test_notices_and_typed_arguments_are_accessible(page: Page, theme: Literal["dark", "light"], width: int) -> None:
    page.emulate_media(color_scheme=theme)
    open_page(page)
    paste(page, CUPY)
    expect(notice(page).get_by_role("button", name="Take add")).to_be_visible()
    assert violations(page) == []
    # What was said of the text that is gone goes with it.
    paste(page, NUMBA)
    expect(notice(page)).to_be_empty()
    page.set_viewport_size({"width": width, "height": 900})
    if width < 760:
        page.get_by_role("navigation", name="Panes").get_by_role("button", name="Launch").click()
    expect(field(page, "factor type")).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
