"""What a user does on the page, in one call each."""

from playwright.sync_api import Locator, Page, expect


def open_page(page: Page, address: str = "/") -> None:
    """Opens the page and waits until the form stands and the source is compiled."""
    page.goto(address)
    page.locator(".cm-content").wait_for()
    expect(page.locator(".status .state")).to_contain_text("compiled", timeout=20_000)


def run(page: Page) -> None:
    """Presses Run and waits for the end of the run."""
    page.get_by_test_id("run").click()
    page.locator(".verdict:not(.busy)").wait_for(timeout=30_000)


def verdict(page: Page) -> Locator:
    return page.locator(".verdict .line")


def write(page: Page, source: str) -> None:
    """Replaces the source as if it were pasted."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)


def launch(page: Page) -> Locator:
    return page.get_by_role("region", name="Launch")


def field(page: Page, name: str) -> Locator:
    return launch(page).get_by_label(name, exact=True)
