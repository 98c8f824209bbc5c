"""The launch form follows the kernel, keeps what was typed and tells faults at their field."""

import json
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, Route, expect

from protocol.reading import read
from protocol.run import RunRequest
from tests.page.conftest import Watch
from tests.page.steps import field, launch, open_page, run, verdict, write

SIGNATURE = """struct Pair { int a; float b; };
__global__ void all(const float *in, float4 *out, int n, float4 v, Pair p) { out[0] = v; }
"""


def test_the_form_has_a_row_for_every_parameter(page: Page) -> None:
    open_page(page)
    write(page, SIGNATURE)
    expect(field(page, "in shape")).to_be_visible()
    expect(field(page, "in role")).to_have_value("in")
    expect(field(page, "out element type")).to_have_value("float32")
    expect(field(page, "out shape")).to_have_value("1024 × 4")
    expect(field(page, "out role")).to_have_value("inout")
    expect(field(page, "v.w, float4")).to_have_value("0")
    expect(field(page, "p, Pair: bytes in hexadecimal")).to_have_value("00" * 8)
    run(page)
    expect(verdict(page)).to_contain_text("Finished")


def test_values_survive_a_changed_signature(page: Page) -> None:
    open_page(page)
    write(page, "__global__ void k(float *a, int n) { a[0] = n; }")
    field(page, "n, int").fill("77")
    field(page, "a shape").fill("12 × 3")
    write(page, "__global__ void k(float *a) { a[0] = 1; }")
    expect(field(page, "n, int")).to_have_count(0)
    write(page, "__global__ void k(int n, float *a) { a[0] = n; }")
    expect(field(page, "n, int")).to_have_value("77")
    expect(field(page, "a shape")).to_have_value("12 × 3")


def test_a_buffer_of_an_older_source_cannot_be_pointed_to(page: Page) -> None:
    open_page(page)
    write(page, "__global__ void k(float *a, float *b, float *gone) { a[0] = b[0] + gone[0]; }")
    choices = field(page, "a points to").locator("option")
    expect(choices).to_have_text(["→ a", "→ b", "→ gone", "null pointer"])
    write(page, "__global__ void k(float *a, float *b) { a[0] = b[0]; }")
    expect(choices).to_have_text(["→ a", "→ b", "null pointer"])


def test_the_warp_strip_follows_the_block(page: Page) -> None:
    open_page(page)
    strip = launch(page).get_by_role("img", name="warp slots")
    expect(strip).to_have_accessible_name("64 of 64 warp slots of each SM filled")
    field(page, "Block x").fill("33")
    expect(strip).to_have_accessible_name("64 of 64 warp slots of each SM filled")
    field(page, "Block x").fill("16")
    expect(strip).to_have_accessible_name("32 of 64 warp slots of each SM filled")
    field(page, "Block x").fill("2000")
    expect(strip).to_have_accessible_name("0 of 64 warp slots of each SM filled")
    expect(launch(page)).to_contain_text("A block has at most 1,024 threads; this one has 2,000.")


def test_the_grid_covers_the_chosen_buffer(page: Page) -> None:
    open_page(page, "/#example=mandelbrot")
    expect(field(page, "Grid x")).to_have_value("32")
    field(page, "image shape").fill("100 × 70")
    expect(field(page, "Grid x")).to_have_value("5")
    expect(field(page, "Grid y")).to_have_value("7")
    page.get_by_role("button", name="32 × 8").click()
    expect(field(page, "Grid x")).to_have_value("3")
    launch(page).get_by_label("Size the grid to cover").uncheck()
    field(page, "Grid x").fill("9")
    expect(field(page, "Grid y")).to_have_value("13")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("c shape", "10 by x", "“by” in the shape is not a whole number"),
        ("n, int", "1.5", "“1.5” is not a whole number"),
        ("Block x", "many", "Block x must be a whole number"),
        ("Dynamic shared memory in bytes", "-1", "Dynamic shared memory must be at least 0"),
        ("value of b", "half", "“half” is not a number"),
    ],
)
def test_invalid_input_is_told_at_its_field_and_kept(page: Page, name: str, text: str, words: str) -> None:
    open_page(page)
    field(page, name).fill(text)
    expect(launch(page)).to_contain_text(words)
    expect(field(page, name)).to_have_attribute("aria-invalid", "true")
    page.get_by_test_id("run").click()
    expect(page.get_by_role("alert")).to_contain_text("Not sent")
    expect(field(page, name)).to_have_value(text)


def test_what_the_service_refuses_lands_at_its_field(page: Page, watch: Watch) -> None:
    watch.expect("422")
    open_page(page)
    errors = [{"field": "buffers.1.shape", "message": "too odd"}]
    refusal = {"title": "Unprocessable", "status": 422, "detail": "no", "errors": errors}

    def refuse(route: Route) -> None:
        route.fulfill(status=422, content_type="application/problem+json", body=json.dumps(refusal))

    page.route("**/api/runs", refuse)
    page.get_by_test_id("run").click()
    expect(launch(page)).to_contain_text("too odd")
    expect(field(page, "b shape")).to_have_attribute("aria-invalid", "true")
    field(page, "b shape").fill("500000")
    expect(launch(page)).not_to_contain_text("too odd")


def test_a_template_is_instantiated_by_name(page: Page) -> None:
    open_page(page)
    write(page, "template <typename T> __global__ void fill(T *a, T value) { a[threadIdx.x] = value; }")
    field(page, "Kernel to launch, or a template instantiation").fill("fill<double>")
    expect(field(page, "a element type")).to_have_value("float64")
    field(page, "value, double").fill("0.25")
    run(page)
    expect(verdict(page)).to_contain_text("Finished")


def test_one_of_several_kernels_is_chosen(page: Page) -> None:
    open_page(page)
    write(page, "__global__ void one(int *a) { a[0] = 1; }\n__global__ void two(float *b, float f) { b[0] = f; }")
    entry = field(page, "Kernel to launch, or a template instantiation")
    entry.fill("two")
    expect(field(page, "f, float")).to_be_visible()
    entry.fill("three")
    expect(launch(page)).to_contain_text("The source has no kernel called three.")


def test_steps_of_a_document_are_listed_and_run_unchanged(page: Page) -> None:
    open_page(page, "/#example=heat")
    steps = launch(page).get_by_role("region", name="Steps")
    expect(steps.get_by_label("Rounds of step 1")).to_have_value("400")
    expect(steps.get_by_label("First buffer of step 1.2")).to_have_value("u")
    expect(steps.get_by_label("Second buffer of step 1.2")).to_have_value("v")
    expect(steps.get_by_role("button", name="launch diffuse", exact=True)).to_have_attribute("aria-pressed", "true")
    with page.expect_request("**/api/runs") as sent:
        run(page)
    examples = page.request.get("/api/examples").json()
    heat = next(example for example in examples if example["id"] == "heat")["payload"]["request"]
    # As models: what has its default may be left out.
    assert read(RunRequest, sent.value.post_data or "") == read(RunRequest, json.dumps(heat))


def test_an_npy_file_fills_a_buffer(page: Page, tmp_path: Path) -> None:
    np.save(tmp_path / "values.npy", np.arange(12, dtype=np.float32).reshape(3, 4) / 8)
    open_page(page)
    write(page, "__global__ void k(const float *a, float *b) { b[threadIdx.x] = 2 * a[threadIdx.x]; }")
    expect(field(page, "n, int")).to_have_count(0)
    field(page, "a initial value").select_option("upload")
    with page.expect_file_chooser() as chooser:
        launch(page).locator("label", has_text="Choose a .npy file or a picture").click()
    chooser.value.set_files(tmp_path / "values.npy")
    expect(field(page, "a shape")).to_have_value("3 × 4")
    field(page, "b shape").fill("12")
    field(page, "Block x").fill("12")
    run(page)
    expect(page.get_by_role("grid")).to_contain_text("2.75")


def test_a_file_that_is_no_array_is_refused_at_its_buffer(page: Page, tmp_path: Path, watch: Watch) -> None:
    watch.expect("422")
    (tmp_path / "odd.npy").write_bytes(b"no array")
    open_page(page)
    field(page, "a initial value").select_option("upload")
    with page.expect_file_chooser() as chooser:
        launch(page).locator("label", has_text="Choose a .npy file or a picture").click()
    chooser.value.set_files(tmp_path / "odd.npy")
    expect(launch(page).get_by_role("alert")).to_contain_text(".npy")


def test_compiler_options_reach_the_compiler(page: Page) -> None:
    open_page(page)
    page.get_by_role("button", name="Compiler options").click()
    launch(page).get_by_label("fast math").check()
    page.get_by_role("button", name="Add a macro").click()
    field(page, "Macro 1 name").fill("FACTOR")
    field(page, "Macro 1 value").fill("3")
    write(page, "__global__ void k(int *a) { a[threadIdx.x] = FACTOR; }")
    expect(field(page, "a shape")).to_be_visible()
    expect(page.get_by_role("button", name="Compiler options: fast math, FACTOR=3")).to_be_visible()
    expect(page.locator(".status .state")).to_contain_text("compiled")


OTHER = """__global__ void first(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }
__global__ void second(float2 *z) { z[0].x = 1.0f; }
"""


@pytest.mark.parametrize("example", ["vector-add", "transpose"])
def test_another_source_takes_the_place_of_an_example(page: Page, example: str) -> None:
    open_page(page, f"/#example={example}")
    write(page, OTHER)
    kernel = page.get_by_label("Kernel to launch, or a template instantiation")
    expect(kernel).to_have_value("first")
    expect(page.get_by_label("Title")).to_have_value("first")
    expect(field(page, "y shape")).to_be_visible()
    kernel.fill("second")
    expect(field(page, "z shape")).to_have_value("1024 × 2")
    launch(page).get_by_label("Size the grid to cover").check()
    page.get_by_role("button", name="256", exact=True).click()
    expect(field(page, "Grid x")).to_have_value("4")
    run(page)
    expect(verdict(page)).to_contain_text("Finished")


LINE = """__global__ void twice(const float *A, float *C, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) C[i] = 2 * A[i];
}
"""


def test_an_unrelated_kernel_of_one_dimension_inherits_no_plane(page: Page) -> None:
    open_page(page, "/#example=matmul-naive")
    field(page, "n, int").fill("250")
    write(page, LINE)
    expect(page.get_by_label("Title")).to_have_value("twice")
    for name, value in (
        ("A shape", "1024"),
        ("C shape", "1024"),
        ("n, int", "1024"),
        ("Block x", "256"),
        ("Block y", ""),
    ):
        expect(field(page, name)).to_have_value(value)
    run(page)
    expect(verdict(page)).to_contain_text("Finished")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+z")
    for name, value in (("A shape", "256 × 256"), ("n, int", "250"), ("Block y", "16")):
        expect(field(page, name)).to_have_value(value)


def test_a_template_and_a_reference_of_another_source_do_not_stop_a_run(page: Page) -> None:
    open_page(page)
    write(page, "template <int N> __global__ void part(float *c) { c[threadIdx.x] = N; }\n")
    kernel = page.get_by_label("Kernel to launch, or a template instantiation")
    kernel.fill("part<7>")
    expect(field(page, "c shape")).to_be_visible()
    write(page, "__global__ void other(float *fresh) { fresh[threadIdx.x] = 1.0f; }\n")
    expect(field(page, "fresh shape")).to_be_visible()
    run(page)
    expect(verdict(page)).to_contain_text("Finished")


COOPERATIVE = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *a) {
  a[blockIdx.x] = cg::this_cluster().num_blocks();
  cg::this_grid().sync();
}
"""


def test_what_blocks_do_together_is_asked_where_the_kernel_needs_it(page: Page) -> None:
    open_page(page)
    write(page, "__global__ void k(int *a) { a[blockIdx.x] = 1; }")
    box = launch(page).get_by_label("Cooperative launch")
    expect(field(page, "a shape")).to_be_visible()
    expect(box).to_have_count(0)
    write(page, COOPERATIVE)
    expect(box).not_to_be_checked()
    expect(launch(page)).to_contain_text("this kernel uses grid.sync()")
    launch(page).get_by_label("Size the grid to cover").uncheck()
    field(page, "Grid x").fill("4")
    run(page)
    expect(page.get_by_role("main")).to_contain_text("make it cooperative")
    box.check()
    field(page, "Cluster x").fill("3")
    run(page)
    expect(launch(page)).to_contain_text("no multiple of the cluster's 3")
    field(page, "Cluster x").fill("2")
    run(page)
    expect(verdict(page)).to_contain_text("Finished")


def test_a_fault_of_a_run_ends_with_its_kernel(page: Page) -> None:
    open_page(page)
    write(page, "__global__ void __launch_bounds__(128) small(float *x) { x[threadIdx.x] = 1; }")
    expect(launch(page)).to_contain_text("__launch_bounds__ allows 128 threads")
    run(page)
    expect(launch(page)).to_contain_text("small is compiled for at most 128")
    write(page, "__global__ void wide(float *x) { x[threadIdx.x] = 1; }")
    expect(launch(page)).not_to_contain_text("at most 128")
    expect(field(page, "Block x")).not_to_have_attribute("aria-invalid", "true")


def test_bytes_that_a_kernel_reads_begin_with_values_that_they_hold(page: Page) -> None:
    open_page(page)
    write(
        page, "__global__ void widen(const unsigned char *bytes, int *sums) { sums[threadIdx.x] = bytes[threadIdx.x]; }"
    )
    expect(field(page, "bytes element type")).to_have_value("uint8")
    run(page)
    expect(verdict(page)).to_contain_text("Finished")


def test_a_run_that_waits_for_the_compiler_can_be_given_up(page: Page) -> None:
    open_page(page)
    run(page)
    held: list[Route] = []
    page.route("**/api/compile", lambda route: held.append(route))
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/api/runs") else None)
    write(page, "__global__ void slow(float *x) { x[threadIdx.x] = 1; }")
    page.get_by_test_id("run").click()
    expect(verdict(page)).to_contain_text("Checking the source")
    expect(verdict(page)).not_to_contain_text("Finished")
    page.get_by_test_id("cancel").click()
    expect(page.get_by_test_id("run")).to_be_enabled()
    assert held and sent == []
    for route in held:
        route.abort()


def test_a_kernel_template_is_told_by_its_own_name(page: Page) -> None:
    open_page(page)
    write(page, "template <typename T, int TILE>\n__global__ void gemm(T *c) { c[threadIdx.x] = TILE; }")
    expect(launch(page)).to_contain_text("such as gemm<float, 16>")
    launch(page).get_by_role("button", name="Use gemm<float, 16>").click()
    expect(field(page, "Kernel to launch, or a template instantiation")).to_have_value("gemm<float, 16>")
    expect(field(page, "c element type")).to_have_value("float32")
    run(page)
    expect(verdict(page)).to_contain_text("Finished")


def test_a_long_extent_shows_all_its_digits(page: Page) -> None:
    open_page(page)
    field(page, "c shape").fill("268435456")
    expect(field(page, "Grid x")).to_have_value("1048576")
    assert field(page, "Grid x").evaluate("input => input.scrollWidth <= input.clientWidth")
