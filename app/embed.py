"""A link as a small page for other sites: text and numbers made on the server, without a script."""

from __future__ import annotations

import datetime as dt
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from starlette.responses import Response

from protocol.launch import Launch, dim3, resolve_grid, walk
from protocol.result import RunResult
from protocol.run import SharePayload

_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that turn the direction of text around."""
_PIECES = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/|#[^\n]*(?=\n|$))"
    r"|(?P<string>\"(?:\\.|[^\"\\\n])*\")"
    r"|(?P<word>\b[A-Za-z_]\w*\b)",
    re.S,
)
_WORDS = frozenset((
    "__global__", "__device__", "__shared__", "__constant__", "__restrict__", "__syncthreads", "__launch_bounds__",
    "void", "int", "float", "double", "char", "short", "long", "unsigned", "signed", "bool", "const", "for", "while",
    "if", "else", "return", "template", "typename", "struct", "class", "static", "inline", "extern", "do", "switch",
    "case", "break", "continue", "def", "import", "from", "in", "and", "or", "not", "as", "with",
))  # fmt: skip
_BUILT_IN = frozenset((
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "cuda", "atomicAdd", "__shfl_down_sync", "printf",
))  # fmt: skip
_LINES = 400
_PRINTED = 2_000

_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1d1d1f;--muted:#666a70;--line:#d9dbe0;--word:#0a5cad;--built:#8a5a00;
--comment:#5f6670;--string:#116644;--accent:#8a5a00}
@media (prefers-color-scheme:dark){:root{--bg:#15181d;--fg:#e8eaed;--muted:#9aa1ab;--line:#2c3138;--word:#8ab8ff;
--built:#ffb020;--comment:#8b929c;--string:#8fd19e;--accent:#ffb020}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:14px/1.5 system-ui,sans-serif}
header,section,footer{padding:10px 14px;border-bottom:1px solid var(--line)}header{display:flex;gap:10px;flex-wrap:wrap;
align-items:baseline;justify-content:space-between}h1{font-size:15px;margin:0}h2{font-size:13px;margin:0 0 4px}
a{color:var(--accent)}pre{margin:0;padding:10px 14px;overflow:auto;max-height:60vh;font:12.5px/1.55 ui-monospace,
monospace;border-bottom:1px solid var(--line);tab-size:4}.w{color:var(--word)}.b{color:var(--built)}
.c{color:var(--comment)}.s{color:var(--string)}.muted{color:var(--muted);font-size:12.5px}table{border-collapse:collapse;
font:12.5px ui-monospace,monospace}th,td{text-align:left;font-weight:400;padding:2px 14px 2px 0;vertical-align:top}
"""


@dataclass(frozen=True)
class Shown:
    """A run's results as the page shows them."""

    result: RunResult
    at: dt.datetime
    first: dict[str, str]
    """The first elements of buffers, by name."""


def embedded(share_id: str, payload: SharePayload, shown: Shown | None, ancestors: Sequence[str]) -> Response:
    """The page. `ancestors` are the sites that may frame it, as in the policy's frame-ancestors."""
    nonce = secrets.token_urlsafe(16)
    title = payload.title or "CUDA kernel"
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width,initial-scale=1'>",
        f"<title>{_text(title)}</title><style nonce='{nonce}'>{_STYLE}</style></head><body><main>",
        f"<header><h1>{_text(title)}</h1>",
        f"<a href='/k/{share_id}' target='_blank' rel='noopener'>Edit and run</a></header>",
        f"<pre tabindex=0 aria-label='Source'><code>{highlighted(payload.request.source.text)}</code></pre>",
        f"<section aria-label='Launch'><h2>Launch</h2>{_launches(payload)}</section>",
        _results(shown) if shown is not None else "",
        "<footer class=muted>Made with Warpyard, a playground for CUDA kernels.</footer></main></body></html>",
    ]
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; "
        f"frame-ancestors {' '.join(ancestors)}"
    )
    headers = {
        "Content-Security-Policy": policy,
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Cache-Control": "public, max-age=300",
    }
    return Response("\n".join(part for part in parts if part), headers=headers, media_type="text/html")


def highlighted(source: str) -> str:
    """The source as HTML, of a few hundred lines at most."""
    lines = source.split("\n")
    rest = f"\n… {len(lines) - _LINES} more lines" if len(lines) > _LINES else ""
    text = "\n".join(lines[:_LINES])
    made: list[str] = []
    at = 0
    for piece in _PIECES.finditer(text):
        made.append(_text(text[at : piece.start()]))
        made.append(_marked(piece))
        at = piece.end()
    return "".join(made) + _text(text[at:]) + rest


def _marked(piece: re.Match[str]) -> str:
    kind, text = piece.lastgroup, _text(piece[0])
    if kind == "word":
        name = "w" if piece[0] in _WORDS else "b" if piece[0] in _BUILT_IN else ""
        return f"<span class={name}>{text}</span>" if name else text
    return f"<span class={'c' if kind == 'comment' else 's'}>{text}</span>"


def _launches(payload: SharePayload) -> str:
    rows = []
    for _, step in walk(payload.request.steps):
        if isinstance(step, Launch):
            grid, block = resolve_grid(step.config, payload.request.buffers), dim3(step.config.block)
            rows.append((step.entry or "the kernel", f"grid {_extents(grid)}", f"block {_extents(block)}"))
    buffers = ", ".join(
        f"{buffer.name}: {buffer.dtype}[{' × '.join(map(str, buffer.shape))}]" for buffer in payload.request.buffers
    )
    return f"{_table(rows)}<p class=muted>{_text(buffers)}</p>"


def _results(shown: Shown) -> str:
    result = shown.result
    launch = result.launches[0] if result.launches else None
    device = launch.device_name if launch else result.device
    emulated = launch is not None and launch.device == "emulator"
    head = f"{result.verdict or ''}: run on {shown.at:%Y-%m-%d} on {device}"
    if emulated:
        head += ", emulated on a CPU"
    rows = [
        (read.name, f"{read.dtype}[{' × '.join(map(str, read.shape))}]", shown.first.get(read.name, ""))
        for read in result.buffers
    ]
    printed = _text(result.printed[:_PRINTED]) + ("…" if len(result.printed) > _PRINTED else "")
    found = "".join(f"<p>{_text(item.message)}</p>" for item in result.findings[:3])
    return (
        f"<section aria-label='Results'><h2>Results</h2><p class=muted>{_text(head)}</p>{found}{_table(rows)}</section>"
        + (f"<pre tabindex=0 aria-label='Printed'>{printed}</pre>" if printed else "")
    )


def _table(rows: Iterable[Sequence[str]]) -> str:
    made = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{made}</table>" if made else ""


def _extents(extents: Sequence[int]) -> str:
    used = max((axis + 1 for axis, extent in enumerate(extents) if extent != 1), default=1)
    return " × ".join(f"{extent:,}" for extent in extents[:used])


def _text(text: str) -> str:
    """Text as HTML; nothing of it can be markup, or turn what stands beside it around."""
    return escape(_HIDDEN.sub("\ufffd", text))
