"""Takes the pictures of the README from a running service: python docs/screenshots.py [ADDRESS]."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parent / "images"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--force-color-profile=srgb"]
DESKTOP, PHONE = (1440, 900), (390, 844)


def opened(page: Page, title: str) -> None:
    page.get_by_role("button", name="Examples").first.click()
    page.get_by_role("button", name=re.compile(f"^{title}")).first.click()
    close = page.get_by_role("button", name="Close")
    if close.count():
        close.first.click()


def ran(page: Page) -> None:
    page.keyboard.press("Control+Enter")
    page.locator(".verdict:not(.busy)").wait_for(timeout=30_000)
    page.wait_for_timeout(600)


def mandelbrot(page: Page) -> None:
    opened(page, "Mandelbrot")
    ran(page)
    page.locator("canvas").first.hover(position={"x": 240, "y": 180})


def occupancy(page: Page) -> None:
    opened(page, "Matrix product with shared")
    ran(page)
    page.get_by_role("tab", name="Occupancy").click()


def sizes(page: Page) -> None:
    opened(page, "Matrix product, the plain way")
    page.get_by_role("tab", name="Sizes").click()
    page.keyboard.press("Control+Shift+Enter")
    page.locator(".verdict:not(.busy)").wait_for(timeout=60_000)
    page.wait_for_timeout(600)


def finding(page: Page) -> None:
    opened(page, "A deliberate fault")
    ran(page)


def phone(page: Page) -> None:
    page.get_by_role("button", name="Run").first.click()
    page.locator(".verdict:not(.busy)").wait_for(timeout=30_000)
    page.wait_for_timeout(600)


PICTURES: tuple[tuple[str, tuple[int, int], str, Callable[[Page], None]], ...] = (
    ("mandelbrot-dark", DESKTOP, "dark", mandelbrot),
    ("occupancy-light", DESKTOP, "light", occupancy),
    ("sizes-dark", DESKTOP, "dark", sizes),
    ("finding-light", DESKTOP, "light", finding),
    ("phone-dark", PHONE, "dark", phone),
)


def main(address: str) -> None:
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        for name, (width, height), scheme, prepare in PICTURES:
            colours = "dark" if scheme == "dark" else "light"
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=colours)
            page = context.new_page()
            page.goto(address)
            page.locator(".cm-content").wait_for()
            page.wait_for_timeout(1500)
            prepare(page)
            page.screenshot(path=FOLDER / f"{name}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000")
