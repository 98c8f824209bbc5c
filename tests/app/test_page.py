"""The page: a nonce of its own each time, assets from memory, nothing from elsewhere."""

import gzip
import re
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from app.errors import NotFound, Unavailable
from app.page import Page
from tests.app.test_runs import problem
from tests.service.harness import Served

INDEX = "<!doctype html><html><head><title>t</title></head><body></body></html>"
SCRIPT = "console.log(1);\n" * 100


@pytest.fixture
def built(tmp_path: Path) -> Page:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(INDEX)
    (folder / "assets" / "app-1a2b.js").write_text(SCRIPT)
    (folder / "assets" / "app-1a2b.js.br").write_bytes(b"brotli")
    (folder / "assets" / "font.woff2").write_bytes(b"font")
    (folder / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret").write_text("secret")
    return Page(folder)


def test_the_nonce_is_new_each_time(built: Page) -> None:
    nonces = set()
    for _ in range(3):
        answer = built.index()
        policy = answer.headers["content-security-policy"]
        (nonce,) = re.findall(r"'nonce-([\w-]+)'", policy)
        assert f'<meta name="csp-nonce" content="{nonce}">' in bytes(answer.body).decode()
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-cache"
        nonces.add(nonce)
    assert len(nonces) == 3


@pytest.mark.parametrize(
    ("path", "accepted", "encoding", "media"),
    [
        ("assets/app-1a2b.js", "", None, "text/javascript; charset=utf-8"),
        ("assets/app-1a2b.js", "gzip, deflate", "gzip", "text/javascript; charset=utf-8"),
        ("assets/app-1a2b.js", "gzip, br;q=0.9", "br", "text/javascript; charset=utf-8"),
        ("assets/font.woff2", "gzip, br", None, "font/woff2"),
        ("favicon.svg", "gzip", None, "image/svg+xml"),
    ],
)
def test_assets(built: Page, path: str, accepted: str, encoding: str | None, media: str) -> None:
    answer = built.asset(path, Headers({"accept-encoding": accepted}))
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["content-type"] == media
    assert answer.headers["vary"] == "Accept-Encoding"
    forever = answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert forever is path.startswith("assets/")
    if encoding == "gzip":
        assert gzip.decompress(bytes(answer.body)).decode() == SCRIPT
    again = built.asset(path, Headers({"if-none-match": answer.headers["etag"]}))
    assert (again.status_code, bytes(again.body)) == (304, b"")


@pytest.mark.parametrize(
    "path", ["", "index.html", "../secret", "assets/../../secret", "assets", "assets/app-1a2b.js.br", "/"]
)
def test_nothing_else_is_served(built: Page, path: str) -> None:
    with pytest.raises(NotFound):
        built.asset(path, Headers({}))


def test_a_page_that_is_not_built(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"has no index\.html"):
        Page(tmp_path / "none").index()


def test_the_routes(served: Served, built: Page) -> None:
    problem(served.http.get("/"), 503)
    served.app.state.service.page = built
    for path in ("/", "/k/11111111111"):
        answer = served.http.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "nonce" in answer.headers["content-security-policy"]
        assert answer.headers["cross-origin-embedder-policy"] == "require-corp"
    assert served.http.get("/assets/app-1a2b.js").text == SCRIPT
    problem(served.http.get("/assets/none.js"), 404)


@pytest.mark.parametrize("path", ["/", "/k/11111111111"])
def test_a_head_request(served: Served, built: Page, path: str) -> None:
    served.app.state.service.page = built
    answer = served.http.head(path)
    assert (answer.status_code, answer.content) == (200, b"")
