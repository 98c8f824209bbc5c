"""The film of repeated steps: asked for in the form, played, stepped, scrubbed and saved."""

import io
import json
import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.page.conftest import Watch
from tests.page.steps import launch, open_page, run, verdict, write
from tests.page.test_shell import violations

WAVE = """__global__ void shift(const float *now, float *next)
{
    int i = threadIdx.x;
    next[i] = now[(i + 63) % 64];
}
"""


@pytest.fixture
def context(browser: Browser, service: str) -> Any:
    """As everywhere, but nothing moves by itself."""
    context = browser.new_context(
        base_url=service, viewport={"width": 1440, "height": 900}, color_scheme="dark", reduced_motion="reduce"
    )
    context.set_default_timeout(15_000)
    yield context
    context.close()


def film(page: Page) -> Locator:
    return page.get_by_role("group", name=re.compile("^Film of (?!the)"))


def told(page: Page) -> Locator:
    return film(page).locator(".told")


def colours(page: Page) -> list[int]:
    """Of the picture's middle row, its red component, once the first frame is painted: until then nothing is opaque."""
    script = """async canvas => {
      const row = () => canvas.getContext('2d').getImageData(0, canvas.height / 2, canvas.width, 1).data;
      for (let tries = 0; tries < 300 && !row()[3]; tries++) await new Promise(requestAnimationFrame);
      const at = row();
      return Array.from({length: at.length / 4}, (_, x) => at[4 * x]);
    }"""
    found: list[int] = film(page).locator(".box canvas").evaluate(script)
    return found


def test_a_film_is_stepped_scrubbed_and_saved_by_keyboard(page: Page, watch: Watch) -> None:
    watch.expect("willReadFrequently")
    open_page(page, "/#example=heat")
    run(page)
    expect(told(page)).to_have_text("frame 1 of 41 round 0 of 400")
    expect(film(page).get_by_role("application")).to_be_visible()
    first = colours(page)
    film(page).get_by_label("Frame", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(told(page)).to_have_text("frame 2 of 41 round 10 of 400")
    page.keyboard.press("End")
    expect(told(page)).to_have_text("frame 41 of 41 round 400 of 400")
    expect(film(page).get_by_label("Frame", exact=True)).to_have_attribute(
        "aria-valuetext", "frame 41 of 41, round 400 of 400"
    )
    expect(film(page).get_by_role("button", name="Next frame")).to_be_disabled()
    page.keyboard.press(",")
    expect(told(page)).to_have_text("frame 40 of 41 round 390 of 400")
    # One range of colours over all frames: the heat of the last is paler than that of the first.
    assert max(first) > max(colours(page)) > 0
    expect(film(page).locator(".legend")).to_contain_text("100")
    with page.expect_download() as download:
        page.get_by_role("link", name="Save film as .npy").click()
    frames = np.load(download.value.path())
    assert download.value.suggested_filename == "u-film.npy"
    assert (frames.shape, frames.dtype) == ((41, 256, 256), np.float32)


def test_a_film_is_played_paused_and_looped(page: Page) -> None:
    open_page(page, "/#example=life")
    run(page)
    expect(told(page)).to_contain_text("frame 1 of 101")
    film(page).get_by_label("Speed").select_option("60")
    film(page).get_by_role("button", name="Play", exact=True).click()
    expect(film(page).get_by_role("button", name="Pause")).to_be_visible()
    expect(told(page)).to_contain_text("frame 101 of 101")
    expect(film(page).get_by_role("button", name="Play", exact=True)).to_be_visible()
    film(page).get_by_label("loop").check()
    film(page).get_by_label("Frame", exact=True).focus()
    page.keyboard.press("Space")
    expect(film(page).get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Space")
    expect(film(page).get_by_role("button", name="Play", exact=True)).to_be_visible()
    page.get_by_role("button", name="Image", exact=True).click()
    expect(film(page)).to_have_count(0)
    page.get_by_role("button", name="Film", exact=True).click()
    expect(film(page)).to_be_visible()


def test_where_motion_is_welcome_a_film_begins_by_itself_once(browser: Browser, service: str, watch: Watch) -> None:
    context = browser.new_context(base_url=service, reduced_motion="no-preference")
    page = context.new_page()
    watch.follow(page)
    open_page(page, "/#example=life")
    run(page)
    expect(told(page)).not_to_contain_text("frame 1 of")
    film(page).get_by_role("button", name="Pause").click()
    page.keyboard.press("Alt+4")
    page.keyboard.press("Alt+1")
    expect(told(page)).to_contain_text("frame 1 of")
    context.close()
    assert watch.unexpected() == []


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("width", [1440, 320])
def test_a_film_is_accessible_and_fits(page: Page, scheme: Any, width: int) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    open_page(page, "/#example=life")
    run(page)
    expect(told(page)).to_contain_text("frame 1 of 101")
    page.set_viewport_size({"width": width, "height": 900})
    expect(film(page).get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_form_asks_for_a_film(page: Page) -> None:
    open_page(page, "/#example=heat")
    choice = launch(page).get_by_role("group", name="Film of the repeat")
    choice.get_by_label("film", exact=True).uncheck()
    expect(choice.get_by_label("Buffer to film")).to_have_count(0)
    choice.get_by_label("film", exact=True).check()
    expect(choice.get_by_label("Buffer to film")).to_have_value("u")
    choice.get_by_label("Buffer to film").select_option("v")
    choice.get_by_label("Rounds between two frames").fill("100")
    with page.expect_request(lambda request: request.method == "POST" and request.url.endswith("/api/runs")) as sent:
        run(page)
    assert json.loads(sent.value.post_data or "")["film"] == {"buffer": "v", "every": 100}


def test_too_many_frames_are_told_at_their_field(page: Page, watch: Watch) -> None:
    watch.expect("422")
    open_page(page, "/#example=heat")
    every = launch(page).get_by_label("Rounds between two frames")
    every.fill("1")
    page.get_by_test_id("run").click()
    alert = launch(page).get_by_role("alert")
    expect(alert).to_contain_text("400 rounds make 401 frames, and at most 240 are kept: film every 2 rounds or more")
    expect(every).to_have_attribute("aria-invalid", "true")
    every.fill("x")
    expect(alert).to_contain_text("must be a whole number")


def line_request(text: str, steps: Any, **film: Any) -> dict[str, Any]:
    values = [1.0 if i < 8 else 0.0 for i in range(64)]
    init = {"kind": "literals", "values": values}
    return {
        "source": {"text": text},
        "buffers": [
            {"name": "now", "dtype": "float32", "shape": [64], "init": init},
            {"name": "next", "dtype": "float32", "shape": [64]},
        ],
        "steps": [{"kind": "repeat", "count": 20, "steps": steps}],
        "film": {"buffer": "now", **film},
    }


def step(**config: Any) -> dict[str, Any]:
    arguments = [{"kind": "buffer", "name": name, "buffer": name} for name in ("now", "next")]
    return {"kind": "launch", "config": {"grid": [1], "block": [64]} | config, "arguments": arguments}


SWAP = {"kind": "swap", "first": "now", "second": "next"}


def shared(page: Page, request: dict[str, Any]) -> str:
    answer = page.request.post("/api/shares", data={"payload": {"request": request}})
    assert answer.status == 201, answer.text()
    return str(answer.json()["url"])


def test_a_line_moves_under_axes_that_stand_still_and_a_link_holds_its_film(page: Page) -> None:
    open_page(page, shared(page, line_request(WAVE, [step(), SWAP])))
    run(page)
    expect(told(page)).to_have_text("frame 1 of 21 round 0 of 20")
    plot = film(page).locator("svg[width]")
    # The plot loads after the player.
    expect(plot.locator("path").last).to_have_attribute("d", re.compile("[ML]"))
    expect(plot.locator("text").first).not_to_be_empty()
    axis, line = plot.locator("text").all_text_contents(), plot.locator("path").last.get_attribute("d")
    film(page).get_by_label("Frame", exact=True).focus()
    page.keyboard.press("End")
    expect(told(page)).to_have_text("frame 21 of 21 round 20 of 20")
    expect(plot.locator("path").last).not_to_have_attribute("d", line or "")
    assert plot.locator("text").all_text_contents() == axis


def test_what_there_is_of_a_film_is_shown_after_a_limit(page: Page) -> None:
    text = "__global__ void k(volatile float *now, float *next) { now[1] += 1; while (now[1] > 3) ; }"
    request = line_request(text, [step(block=[1])])
    request["buffers"][0]["init"] = {"kind": "zeros"}
    open_page(page, shared(page, request))
    run(page)
    expect(verdict(page)).to_contain_text(re.compile("stopped|limit|time", re.IGNORECASE))
    expect(told(page)).to_have_text("frame 1 of 4 round 0 of 20")


def test_a_wrong_source_after_a_film_leaves_no_film(page: Page) -> None:
    open_page(page, "/#example=life")
    run(page)
    expect(film(page)).to_be_visible()
    write(page, "__global__ void generation(int size, const unsigned char *now, unsigned char *next) { next[0] = no; }")
    run(page)
    expect(film(page)).to_have_count(0)


def test_the_service_gives_what_the_page_shows(page: Page, context: BrowserContext) -> None:
    open_page(page, "/#example=life")
    run(page)
    expect(film(page)).to_be_visible()
    number = re.search(r"run=(\w+)", page.url)
    assert number
    answer = page.request.get(f"/api/runs/{number[1]}/film.npy?slice=100")
    last = page.request.get(f"/api/runs/{number[1]}/buffers/cells.npy")
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.body())), np.load(io.BytesIO(last.body())))
