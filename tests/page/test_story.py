"""The main job, as a user does it: edit, mend, run, see, change the block, share, and run the link elsewhere."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.steps import field, launch, open_page, run, verdict, write


def downloaded(page: Page) -> bytes:
    """The buffer shown, as its download gives it."""
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("npy")).first.click()
    return download.value.path().read_bytes()


def open_example(page: Page, title: str) -> None:
    page.get_by_role("button", name="Examples").first.click()
    page.get_by_role("button", name=re.compile(title)).first.click()


def test_edit_mend_run_share(page: Page, browser: Browser, service: str) -> None:
    open_page(page)
    open_example(page, "Mandelbrot")
    editor = page.locator(".cm-content")
    expect(editor).to_contain_text("mandelbrot")
    source = "\n".join(editor.locator(".cm-line").all_text_contents())

    # A slip is told at its place while typing, and is gone once mended.
    write(page, source.replace("blockIdx", "blokIdx", 1))
    expect(page.locator(".cm-lintRange-error").first).to_have_text("blokIdx")
    run(page)
    expect(verdict(page)).to_contain_text("did not compile")
    expect(page.locator(".messages")).to_contain_text('identifier "blokIdx" is undefined')
    write(page, source)
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)

    run(page)
    expect(verdict(page)).to_contain_text("Finished in")
    expect(verdict(page)).to_contain_text("emulated on a CPU")
    image = downloaded(page)

    # Occupancy follows the block size at once: with one warp a block, 32 blocks an SM are the limit.
    page.get_by_role("tab", name="Occupancy").click()
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("100%")
    field(page, "Block y").fill("2")
    expect(panel).to_contain_text("50%")
    expect(panel).to_contain_text(re.compile("limited by.*blocks", re.IGNORECASE | re.DOTALL))
    page.get_by_role("tab", name="Output").click()
    run(page)
    expect(verdict(page)).to_contain_text("Finished in")
    assert downloaded(page) == image

    page.get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_label("Link")).to_have_value(re.compile(re.escape(service) + "/k/[1-9A-HJ-NP-Za-km-z]{8,11}$"))
    link = page.get_by_label("Link").input_value()

    stranger = browser.new_context().new_page()
    stranger.goto(link)
    expect(stranger.locator(".cm-content")).to_contain_text("mandelbrot")
    expect(field(stranger, "Block y")).to_have_value("2")
    run(stranger)
    expect(verdict(stranger)).to_contain_text("Finished in")
    assert downloaded(stranger) == image
    stranger.context.close()


SLOW = """#include <cstdio>
__device__ unsigned long long now() {
    unsigned long long ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}
__global__ void slow(int *out) {
    printf("begun\\n");
    for (unsigned long long start = now(); now() - start < 4000000000ull;) {}
    out[0] = 42;
    printf("done\\n");
}
"""


def test_a_reload_in_mid_run_catches_up(page: Page) -> None:
    open_page(page)
    write(page, SLOW)
    expect(launch(page)).not_to_contain_text("vector_add")
    launch(page).get_by_label("Size the grid to cover").uncheck()
    field(page, "Grid x").fill("1")
    field(page, "Block x").fill("1")
    page.get_by_test_id("run").click()
    expect(page.locator(".verdict")).to_contain_text("Running")
    page.reload()
    expect(verdict(page)).to_contain_text("Finished", timeout=20_000)
    expect(page.locator(".output")).to_contain_text("begun")
    expect(page.locator(".output")).to_contain_text("done")


HOSTILE = {
    "never ends": ("__global__ void k(int *a) { while (true) a[0] = a[0] + 1; }", "took too long.* 9 s"),
    "floods printf": (
        '#include <cstdio>\n__global__ void k(int *a) { for (int i = 0; ; ++i) printf("%d flood flood\\n", i); }',
        "printed more than|took too long",
    ),
    "writes out of bounds": ("__global__ void k(int *a) { a[(1 << 20) + 5] = 1; }", "past the end of a"),
    "bombs the compiler": (
        "template <int N> __device__ int f(int x) { return f<N - 1>(x) + f<N - 1>(x * N + 1); }\n"
        "template <> __device__ int f<0>(int x) { return x * x; }\n"
        "__global__ void k(int *a) { a[0] = f<40>(a[1]); }",
        "compiler .*(limit|stopped)|did not compile",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_kernel_ends_with_its_verdict_and_the_next_run_is_right(page: Page, kind: str) -> None:
    source, words = HOSTILE[kind]
    open_page(page)
    write(page, source)
    page.get_by_test_id("run").click()
    expect(page.locator(".verdict:not(.busy)")).to_contain_text(re.compile(words, re.IGNORECASE), timeout=45_000)
    page.get_by_role("button", name="Discard edits").click()
    run(page)
    expect(verdict(page)).to_contain_text("Finished in")
