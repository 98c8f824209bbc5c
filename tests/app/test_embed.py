"""Links on other sites: text only, framed only where allowed, whatever a source or its output holds."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from app.embed import highlighted
from store.settings import Settings
from tests.app.test_runs import finish_with_buffer
from tests.service.harness import Served, run_body

EVIL = '</code></pre><script>alert(1)</script> "\u202e" \x1b[31m'


def embedded(served: Served, request: dict[str, Any], title: str = "", **more: Any) -> Any:
    made = served.http.post("/api/shares", json={"payload": {"title": title, "request": request}, **more})
    assert made.status_code == 201, made.text
    return served.http.get(f"/embed/{made.json()['id']}")


def test_a_link_is_shown_without_a_script(served: Served) -> None:
    answer = embedded(served, run_body(), "My kernel")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "My kernel" in answer.text
    assert "Edit and run" in answer.text
    assert "<script" not in answer.text
    assert len(answer.content) < 20_000
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'nonce-")
    assert policy.endswith("frame-ancestors *")
    assert "x-frame-options" not in answer.headers
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"


def test_nothing_else_may_be_framed(served: Served) -> None:
    for path in ("/", "/embed/none", "/api/devices"):
        answer = served.http.get(path)
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert served.http.get("/embed/none").status_code == 404


def test_sources_and_titles_are_text(served: Served) -> None:
    body = run_body()
    answer = embedded(
        served, body | {"source": {"text": body["source"]["text"] + f"// {EVIL}\n"}}, EVIL.replace("\x1b", "")
    )
    assert "<script>" not in answer.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert not re.search("[\x1b\u202e]", answer.text)


def test_the_results_that_the_link_carries(served: Served) -> None:
    run_id = finish_with_buffer(served, "int32", (12,), np.arange(12, dtype="int32").tobytes())
    request = served.http.get(f"/api/runs/{run_id}").json()["request"]
    text = embedded(served, request, run=run_id).text
    assert "[0, 1, 2, 3, 4, 5, 6, 7, …]" in text
    assert "int32[12]" in text


def test_sites_that_may_frame_are_the_operators_choice(served: Served) -> None:
    settings = served.app.state.service.settings
    served.app.state.service.settings = settings.model_copy(update={"embed_ancestors": ("https://blog.example",)})
    policy = embedded(served, run_body()).headers["content-security-policy"]
    assert policy.endswith("frame-ancestors https://blog.example")


@pytest.mark.parametrize("site", ["blog.example", "https://a b", "https://x/path", "'self'; script-src *"])
def test_a_site_is_a_site(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPYARD_EMBED_ANCESTORS", site)
    with pytest.raises(ValueError, match="is no site"):
        Settings()


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("int x;", "<span class=w>int</span> x;"),
        ("// <b>\nthreadIdx.x", "<span class=c>// &lt;b&gt;</span>\n<span class=b>threadIdx</span>.x"),
        ('printf("%d\\n", 1)', "<span class=b>printf</span>(<span class=s>&quot;%d\\n&quot;</span>, 1)"),
        ("a\n" * 500, "a\n" * 399 + "a\n… 101 more lines"),
    ],
)
def test_highlighting(source: str, html: str) -> None:
    assert highlighted(source) == html
