"""Steps are made on the page: launches, repeats, swaps and fills added, moved, repeated, removed and brought back."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.steps import field, launch, open_page, run, verdict, write
from tests.page.test_film import film, told
from tests.page.test_shell import violations

HEAT = """__global__ void spread(const float *now, float *next)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= 32 || y >= 32) return;
    int i = y * 32 + x;
    bool edge = x == 0 || y == 0 || x == 31 || y == 31;
    next[i] = edge ? now[i] : now[i] + 0.2f * (now[i - 1] + now[i + 1] + now[i - 32] + now[i + 32] - 4 * now[i]);
}
"""
TWO = """__global__ void square(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x]; }
__global__ void less(const float *y, float *z) { z[threadIdx.x] = y[threadIdx.x] - 1; }
"""


def steps(page: Page) -> Locator:
    return launch(page).get_by_role("region", name="Steps")


def add(page: Page, what: str) -> None:
    """Opens the menu where it is closed, by keyboard."""
    menu = launch(page).locator("details", has=page.locator("summary", has_text="Add step"))
    if menu.get_attribute("open") is None:
        menu.locator("summary").focus()
        page.keyboard.press("Enter")
    menu.get_by_role("button", name=what, exact=True).focus()
    page.keyboard.press("Enter")


def change(page: Page, step: str, what: str) -> None:
    button = steps(page).get_by_role("button", name=re.compile(f"^Change step {re.escape(step)},"))
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    steps(page).get_by_role("group", name=f"Commands of step {step}", exact=True).get_by_role(
        "button", name=what, exact=True
    ).click()


def listed(page: Page) -> list[str]:
    """What each row does, by the names of their commands."""
    names = [
        button.get_attribute("aria-label") or ""
        for button in steps(page).get_by_role("button", name=re.compile("^Change step")).all()
    ]
    return [name.removeprefix("Change step ") for name in names]


def sent(page: Page) -> Any:
    with page.expect_request(lambda request: request.method == "POST" and request.url.endswith("/api/runs")) as asked:
        run(page)
    return json.loads(asked.value.post_data or "")


def own_heat(page: Page) -> None:
    """A pasted kernel becomes fifty rounds of a launch and a swap."""
    open_page(page)
    write(page, HEAT)
    for name in ("now", "next"):
        field(page, f"{name} shape").fill("32 × 32")
    field(page, "now initial value").select_option("formula")
    field(page, "formula of i, x, y, nx, ny of now").fill("100 * (abs(x - 16) < 4) * (abs(y - 16) < 4)")
    field(page, "Block x").fill("16")
    field(page, "Block y").fill("16")
    add(page, "Repeat this")
    expect(steps(page).get_by_label("Rounds of step 1")).to_be_focused()
    page.keyboard.type("50")
    add(page, "Swap two buffers")
    expect(steps(page).get_by_label("First buffer of step 1.2")).to_be_focused()


def test_an_own_heat_equation_is_built_run_and_filmed(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    own_heat(page)
    assert listed(page) == ["1, repeat 50 times", "1.1, launch spread", "1.2, swap now and next"]
    choice = steps(page).get_by_role("group", name="Film of the repeat")
    choice.get_by_label("film", exact=True).check()
    choice.get_by_label("Buffer to film").select_option("now")
    request = sent(page)
    assert [step["kind"] for step in request["steps"][0]["steps"]] == ["launch", "swap"]
    assert (request["steps"][0]["count"], request["film"]) == (50, {"buffer": "now", "every": 1})
    # What was only read holds, once swapped, what was written: it is read back.
    assert {buffer["name"]: buffer["role"] for buffer in request["buffers"]} == {"now": "inout", "next": "inout"}
    expect(verdict(page)).to_contain_text("Finished")
    expect(told(page)).to_have_text("frame 1 of 51 round 0 of 50")
    film(page).get_by_label("Frame", exact=True).focus()
    page.keyboard.press("End")
    expect(told(page)).to_have_text("frame 51 of 51 round 50 of 50")


def test_two_kernels_run_in_sequence_and_share_a_buffer(page: Page) -> None:
    open_page(page)
    write(page, TWO)
    kernel = field(page, "Kernel to launch, or a template instantiation")
    expect(kernel).to_have_value("square")
    for name in ("x", "y"):
        field(page, f"{name} shape").fill("8")
    field(page, "Block x").fill("8")
    field(page, "x initial value").select_option("arange")
    add(page, "Then launch less")
    expect(steps(page).get_by_role("button", name="launch less", exact=True)).to_be_focused()
    expect(kernel).to_have_value("less")
    expect(field(page, "Block x")).to_have_value("8")
    expect(field(page, "y shape")).to_have_value("8")
    request = sent(page)
    assert [(step["entry"], [item["buffer"] for item in step["arguments"]]) for step in request["steps"]] == [
        ("square", ["x", "y"]),
        ("less", ["y", "z"]),
    ]
    # z = 7² − 1
    page.get_by_role("button", name="z", exact=True).click()
    page.get_by_role("button", name="Table", exact=True).click()
    expect(page.get_by_role("grid")).to_contain_text("48")


def test_steps_are_moved_copied_removed_and_brought_back(page: Page) -> None:
    own_heat(page)
    change(page, "1.2", "Move down out of the repeat")
    assert listed(page) == ["1, repeat 50 times", "1.1, launch spread", "2, swap now and next"]
    expect(steps(page).get_by_role("button", name="Move up into the repeat")).to_be_visible()
    change(page, "2", "Move up into the repeat")
    change(page, "1.2", "Duplicate")
    expect(steps(page).get_by_role("button", name="Change step 1.3, swap now and next")).to_be_focused()
    change(page, "1.3", "Remove")
    expect(steps(page).get_by_role("status")).to_have_text("Step 1.3 is removed: swap now and next.")
    expect(steps(page).get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    assert listed(page)[-1] == "1.3, swap now and next"
    change(page, "1.3", "Remove")
    steps(page).get_by_role("button", name="Close this notice").click()
    steps(page).get_by_label("First buffer of step 1.2").focus()
    add(page, "Fill a buffer")
    steps(page).get_by_label("Value of step 1.3").fill("half")
    expect(steps(page).get_by_role("alert")).to_have_text("“half” is not a number.")
    expect(steps(page).get_by_label("Value of step 1.3")).to_have_attribute("aria-invalid", "true")
    change(page, "1.3", "Remove")
    expect(steps(page).get_by_role("alert")).to_have_count(0)


def test_what_a_run_may_not_amount_to_is_told_where_it_is_asked_for(page: Page) -> None:
    own_heat(page)
    rounds = steps(page).get_by_label("Rounds of step 1")
    for text, words in (
        ("many", "The number of rounds must be a whole number."),
        ("0", "The number of rounds must be at least 1."),
        ("10001", "A repeat has at most 10,000 rounds."),
    ):
        rounds.fill(text)
        expect(steps(page).get_by_role("alert")).to_have_text(words)
        expect(rounds).to_have_attribute("aria-invalid", "true")
    rounds.fill("50")
    expect(steps(page).get_by_role("alert")).to_have_count(0)
    change(page, "1.1", "Remove")
    expect(steps(page).get_by_role("alert")).to_contain_text("the only launch")
    for step in ("1.1", "1.1.1"):
        change(page, step, "Repeat")
    change(page, "1.1.1.1", "Repeat")
    expect(steps(page).get_by_role("alert")).to_have_text("Repeats are nested at most 3 deep.")
    steps(page).get_by_label("Second buffer of step 1.2").select_option("now")
    expect(steps(page).get_by_text("Choose two different buffers.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_steps_are_accessible_and_fit(page: Page, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    own_heat(page)
    steps(page).get_by_role("button", name="Change step 1.1, launch spread").click()
    expect(steps(page).get_by_label("Last step to repeat")).to_be_visible()
    assert violations(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Launch", exact=True).click()
    expect(steps(page).get_by_label("Rounds of step 1")).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert steps(page).evaluate("box => box.scrollWidth <= box.clientWidth")
