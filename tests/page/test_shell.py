"""Sharing, commands, themes, keyboard, narrow screens, accessibility, policy and weight."""

import re
from importlib.resources import files

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.page.conftest import Watch
from tests.page.steps import field, open_page, run, verdict, write

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Page) -> list[str]:
    page.evaluate(AXE)
    found = page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)["violations"]
    return [f"{item['id']}: {item['nodes'][0]['html'][:160]}" for item in found]


def test_a_link_opens_the_document_and_remembers_its_parent(page: Page, context: BrowserContext, watch: Watch) -> None:
    open_page(page, "/#example=heat")
    field(page, "Block x").fill("16")
    page.get_by_role("button", name="Share").click()
    link = page.get_by_role("dialog").get_by_label("Link").input_value()
    expect(page.get_by_text("The link is on your clipboard.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == link
    other = context.new_page()
    watch.follow(other)
    open_page(other, link)
    expect(field(other, "Block x")).to_have_value("16")
    expect(other.get_by_label("Title")).to_have_value("Heat on a plate")
    write(other, "__global__ void fork(float *a) { a[0] = 1; }")
    with other.expect_request("**/api/shares") as sent:
        other.get_by_role("button", name="Share").click()
    assert sent.value.post_data_json["parent"] == link.rsplit("/", 1)[1]


def test_the_address_of_a_run_shows_its_results(page: Page, context: BrowserContext, watch: Watch) -> None:
    open_page(page, "/#example=mandelbrot")
    run(page)
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Copy address").click()
    address = page.evaluate("navigator.clipboard.readText()")
    assert "/#run=" in address
    other = context.new_page()
    watch.follow(other)
    other.goto(address)
    expect(verdict(other)).to_contain_text("Finished in")
    expect(other.locator(".cm-content")).to_contain_text("mandelbrot")


def test_without_the_clipboard_the_link_waits_for_a_click(page: Page) -> None:
    page.add_init_script("navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))")
    open_page(page)
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("alert")).to_contain_text("select the link and copy it")


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_no_line_of_an_example_is_cut(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/#example=matmul-tiled")
    page.locator(".cm-content").wait_for()
    expect(page.locator(".cm-content")).to_contain_text("matmul_tiled")
    room = page.evaluate(
        "(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])(document.querySelector('.cm-scroller'))"
    )
    assert room[0] <= room[1]


def test_a_wrong_link_is_told(page: Page, watch: Watch) -> None:
    watch.expect("404")
    page.goto("/k/111111111Az")
    expect(page.get_by_role("alert")).to_contain_text("There is no kernel behind this link")
    expect(page.locator(".cm-content")).to_contain_text("__global__")


def test_commands_run_by_name(page: Page) -> None:
    open_page(page)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Command").fill("occup")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Occupancy")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Command")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_ctrl_enter_runs_from_the_editor(page: Page) -> None:
    open_page(page)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".verdict")).to_contain_text("Finished")


def test_f6_goes_round_the_panes(page: Page) -> None:
    open_page(page)
    seen = set()
    for _ in range(4):
        page.keyboard.press("F6")
        seen.add(page.evaluate("document.activeElement.closest('[data-pane]').className.split(' ')[0]"))
    assert seen == {"code", "launch-box", "right"}


def test_everything_is_reached_by_tab(page: Page) -> None:
    open_page(page)
    run(page)
    page.locator("body").press("Tab")
    reached = set()
    for _ in range(90):
        if page.evaluate("document.activeElement.classList.contains('cm-content')"):
            page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("(e => e.getAttribute('aria-label') || e.textContent.trim())(document.activeElement)")
        )
    splitters = {"Resize code and launch", "Resize code and results"}
    wanted = {"Title", "Block x", "c shape", "n, int", "Examples", "Keys"} | splitters
    assert wanted <= reached, wanted - reached


def test_the_theme_follows_the_system_until_it_is_chosen(browser: Browser, service: str) -> None:
    context = browser.new_context(base_url=service, color_scheme="light")
    page = context.new_page()
    open_page(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Switch to light theme").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    context.close()


@pytest.mark.parametrize("width", [320, 390, 768, 1024])
def test_nothing_overflows_sideways(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    page.goto("/#example=heat")
    page.locator(".cm-content").wait_for()
    for pane in ("Code", "Launch", "Results", "Examples"):
        button = page.get_by_role("navigation", name="Panes").get_by_role("button", name=pane)
        if button.is_visible():
            button.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_no_accessibility_violation(page: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    found: dict[str, list[str]] = {}

    def look(state: str) -> None:
        page.wait_for_timeout(150)
        found[state] = violations(page)

    open_page(page, "/#example=mandelbrot")
    look("empty")
    run(page)
    look("image")
    for way in ("Table", "Plot"):
        page.get_by_role("button", name=way, exact=True).click()
        look(way)
    for tab in (2, 3, 4):
        page.keyboard.press(f"Alt+{tab}")
        look(f"tab {tab}")
    page.get_by_role("button", name="Examples", exact=True).click()
    look("examples")
    page.get_by_role("button", name="Compiler options").click()
    look("options")
    for key in ("Control+k", "?"):
        page.locator("h1").evaluate("() => document.activeElement.blur()")
        page.keyboard.press(key)
        page.get_by_role("dialog").wait_for()
        look(key)
        page.keyboard.press("Escape")
    field(page, "Block x").fill("2000")
    field(page, "image shape").fill("?")
    write(page, "__global__ void k(int *x) { x[0] = missing; }")
    page.locator(".cm-lintRange-error").wait_for()
    look("faults")
    assert {state: faults for state, faults in found.items() if faults} == {}


def test_a_defect_and_a_phone_have_no_accessibility_violation(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/#example=out-of-bounds")
    page.locator(".cm-content").wait_for()
    run(page)
    assert violations(page) == []
    page.get_by_role("navigation", name="Panes").get_by_role("button", name="Launch").click()
    assert violations(page) == []


def test_the_policy_is_strict_and_holds(page: Page) -> None:
    answer = page.goto("/")
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
    page.locator(".cm-content").wait_for()
    assert page.locator("[style]").evaluate_all("all => all.filter(e => e.outerHTML.includes('url('))") == []


def test_the_page_is_light(page: Page) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    kinds: dict[str, str] = {}
    weights: dict[str, int] = {}
    session.on("Network.responseReceived", lambda event: kinds.__setitem__(event["requestId"], event["type"]))

    def finished(event: dict[str, int | str]) -> None:
        kind = kinds.get(str(event["requestId"]), "Other")
        weights[kind] = weights.get(kind, 0) + int(event["encodedDataLength"])

    session.on("Network.loadingFinished", finished)
    open_page(page)
    # Over plain HTTP to the loopback address browsers accept Brotli as well.
    assert weights["Script"] <= 195_000, weights
    assert weights["Stylesheet"] <= 10_000, weights
    assert weights["Font"] <= 56_000, weights


def test_no_name_of_a_machine_or_registry_is_in_the_build(page: Page) -> None:
    text = page.request.get("/").text()
    for script in re.findall(r'(?:src|href)="(/assets/[^"]+\.(?:js|css))"', text):
        body = page.request.get(script).text()
        assert not re.search(r"registry\.|/root/|/home/|/tmp/", body), script
