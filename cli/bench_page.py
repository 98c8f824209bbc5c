"""Times of the page in Chromium, each visit with a fresh profile, from its first paint to the result of a first run."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.bench import percentile
from cli.served import served
from cli.usage import Refused

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGE = Path(__file__).resolve().parent.parent / "frontend" / "dist"
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
SIDE = 2048
IMAGE = f"""__global__ void fill(float *image)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < {SIDE} * {SIDE}) image[i] = i % {SIDE} + 1.0f;
}}
"""
LINES = 100_000
PRINTF = """#include <cstdio>
__global__ void talk(int *told)
{
    printf("%d\\n", blockIdx.x * blockDim.x + threadIdx.x);
}
"""
# From the key to the text beside the strip, which changes with the strip.
STRIP = """input => new Promise(resolve => {
    const told = document.querySelector('.launch .strip .num');
    const before = told.textContent;
    const seen = new MutationObserver(() => {
        if (told.textContent === before) return;
        seen.disconnect();
        resolve(performance.now() - begin);
    });
    seen.observe(told, {subtree: true, childList: true, characterData: true});
    input.value = '32';
    const begin = performance.now();
    input.dispatchEvent(new Event('input', {bubbles: true}));
})"""
# Until a pixel in the middle of the picture has a colour, looked at in every frame.
PICTURE = """() => new Promise(resolve => {
    const begin = performance.now();
    document.querySelector('#tab-output').click();
    const look = () => {
        const canvas = document.querySelector('#panel canvas');
        const middle = canvas?.getContext('2d')?.getImageData(canvas.width >> 1, canvas.height >> 1, 1, 1).data[3];
        if (middle) resolve(performance.now() - begin);
        else requestAnimationFrame(look);
    };
    look();
})"""
WATCH_TASKS = """() => {
    window.longest = 0;
    new PerformanceObserver(list => list.getEntries().forEach(({duration}) => longest = Math.max(longest, duration)))
        .observe({type: 'longtask'});
}"""


@dataclass
class Figure:
    """Values of one thing in `unit`, and the most that the design allows, where it says."""

    name: str
    unit: str
    bar: float | None
    values: list[float] = field(default_factory=list)

    def row(self) -> tuple[str, ...]:
        """Name, p50, p95, number, bar and whether the median keeps it."""
        if not self.values:
            return self.name, "–", "–", "0", self._text(self.bar), ""
        middle, high = (percentile(self.values, share) for share in (0.5, 0.95))
        kept = "" if self.bar is None else "kept" if middle <= self.bar else "over"
        return self.name, self._text(middle), self._text(high), str(len(self.values)), self._text(self.bar), kept

    def _text(self, value: float | None) -> str:
        return "" if value is None else f"{value:.2f} {self.unit}"


def measure(rounds: int) -> list[Figure]:
    """All figures. Raises Refused where the page is not built, there is no Chromium, or a run fails."""
    sizes = measure_sizes(PAGE)
    names: dict[str, tuple[str, float | None]] = {
        "start to page, empty folder": ("s", 10),
        "first contentful paint": ("ms", 350),
        "editor ready": ("ms", 600),
        "first result beyond page load, first visit": ("ms", 1500),
        "first result beyond page load, again": ("ms", 1500),
        "Run to result, warm": ("ms", None),
        "launch edit to warp strip": ("ms", 16),
        "16 MiB array shown": ("ms", 200),
        f"longest task, {LINES:,} printf lines": ("ms", 50),
    }
    times = {name: Figure(name, unit, bar) for name, (unit, bar) in names.items()}

    def note(name: str, value: float) -> None:
        times[name].values.append(value)

    with (
        tempfile.TemporaryDirectory(prefix="warpyard-bench-") as folder,
        browser() as chromium,
        served(Path(folder)) as (port, seconds),
    ):
        note("start to page, empty folder", seconds)
        address = f"http://127.0.0.1:{port}"
        visit(chromium, address, note, "first visit")
        for _ in range(rounds):
            visit(chromium, address, note, "again")
        for _ in range(rounds):
            look(chromium, address, note)
    return [*sizes, *times.values()]


def measure_sizes(page: Path) -> list[Figure]:
    """What the built page sends at first, and the largest view that comes later; kB of 1,000 bytes, brotli."""
    index = page / "index.html"
    if not index.is_file():
        raise Refused("frontend/dist holds no page: build it (frontend/README.md)", code=1)
    text = index.read_text(encoding="utf-8")
    assets = [path for path in (page / "assets").iterdir() if path.suffix != ".br"]
    first = [path for path in assets if path.name in text]
    later = [path for path in assets if path not in first and path.suffix == ".js"]

    def sent(paths: list[Path]) -> float:
        packed = [path.with_name(f"{path.name}.br") for path in paths]
        return sum((br if br.exists() else path).stat().st_size for br, path in zip(packed, paths, strict=True)) / 1000

    def of(suffix: str) -> list[float]:
        return [sent([path for path in first if path.suffix == suffix])]

    return [
        Figure("initial script", "kB", 190, of(".js")),
        Figure("initial style sheet", "kB", 10, of(".css")),
        Figure("fonts", "kB", 55, of(".woff2")),
        Figure("largest script that comes later", "kB", None, [max((sent([path]) for path in later), default=0.0)]),
    ]


@contextmanager
def browser() -> Iterator["Browser"]:
    """The system's Chromium where there is one, else the one that Playwright installed. Raises Refused."""
    from playwright.sync_api import Error, sync_playwright

    system = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=system, args=list(FLAGS))
        except Error as error:
            raise Refused(f"no Chromium starts: {error.message.splitlines()[0]}", code=1) from None
        yield chromium
        chromium.close()


@contextmanager
def fresh(chromium: "Browser") -> Iterator["Page"]:
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


Note = Callable[[str, float], None]


def visit(chromium: "Browser", address: str, note: Note, which: str) -> None:
    """Opens the page and presses Run as soon as the editor stands."""
    with fresh(chromium) as page:
        page.goto(address)
        page.locator(".cm-content").wait_for()
        page.get_by_test_id("run").click()
        finish(page)
        done = now(page)
        marks: dict[str, Any] = page.evaluate(
            """() => ({paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
                ready: performance.getEntriesByName('editor-ready')[0].startTime,
                load: performance.getEntriesByType('navigation')[0].loadEventEnd})"""
        )
        note(f"first result beyond page load, {which}", done - marks["load"])
        if which == "first visit":
            return
        note("first contentful paint", marks["paint"])
        note("editor ready", marks["ready"])
        begin = now(page)
        page.keyboard.press("Control+Enter")
        finish(page)
        note("Run to result, warm", now(page) - begin)


def look(chromium: "Browser", address: str, note: Note) -> None:
    """An edit of the launch, a large array, a talkative kernel."""
    with fresh(chromium) as page:
        page.goto(address)
        compiled(page)
        launch = page.get_by_role("region", name="Launch")
        note("launch edit to warp strip", float(launch.get_by_label("Block x", exact=True).evaluate(STRIP)))
        write(page, IMAGE, "image")
        launch.get_by_label("image shape", exact=True).fill(f"{SIDE} × {SIDE}")
        launch.get_by_label("Size the grid to cover").uncheck()
        launch.get_by_label("Grid x", exact=True).fill(str(SIDE * SIDE // 256))
        launch.get_by_label("Grid y", exact=True).fill("1")
        launch.get_by_label("Block x", exact=True).fill("256")
        page.get_by_test_id("run").click()
        page.get_by_role("tab", name="Occupancy").click()
        finish(page)
        note("16 MiB array shown", float(page.evaluate(PICTURE)))
        write(page, PRINTF, "told")
        launch.get_by_label("Grid x", exact=True).fill("100")
        launch.get_by_label("Block x", exact=True).fill(str(LINES // 100))
        page.evaluate(WATCH_TASKS)
        page.get_by_test_id("run").click()
        finish(page)
        page.wait_for_timeout(300)
        note(f"longest task, {LINES:,} printf lines", float(page.evaluate("longest")))


def write(page: "Page", source: str, parameter: str) -> None:
    """Replaces the source, and waits until the form has its parameter."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)
    page.get_by_label(f"{parameter} shape", exact=True).wait_for()


def compiled(page: "Page") -> None:
    page.locator(".status .state", has_text="compiled").wait_for()


def finish(page: "Page") -> None:
    """Waits for the end of the run. Raises Refused where it is no good one."""
    page.locator('#panel[aria-busy="false"]').wait_for()
    page.locator(".verdict:not(.busy)").wait_for()
    said = page.locator(".verdict .line").inner_text()
    if "Finished" not in said:
        raise Refused(f"a run ended with: {said}", code=1)


def now(page: "Page") -> float:
    return float(page.evaluate("performance.now()"))


def as_data(figures: list[Figure]) -> dict[str, Any]:
    """For a file: every value, and what the machine was busy with."""
    return {"load": os.getloadavg(), "processors": os.cpu_count(), "figures": [asdict(figure) for figure in figures]}


def table(figures: list[Figure]) -> list[tuple[str, ...]]:
    """Rows with a head that tells how busy the machine is: on a busy one times say little."""
    load = f"page (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors)"
    return [(load, "p50", "p95", "n", "bar", ""), *(figure.row() for figure in figures)]
