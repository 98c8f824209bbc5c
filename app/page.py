"""The built page: its assets from memory, compressed once, and index.html with a nonce of its own each time."""

import gzip
import hashlib
import mimetypes
import secrets
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response

from app.errors import NotFound, Unavailable

_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'nonce-{nonce}'",
        "font-src 'self'",
        "img-src 'self' blob: data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types svelte-trusted-html default",
    ]
)
_TYPES = {
    ".woff2": "font/woff2",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".wasm": "application/wasm",
}
_TYPES |= {".webmanifest": "application/manifest+json", ".map": "application/json", ".svg": "image/svg+xml"}
_COMPRESSED = ("text/", "application/json", "application/manifest+json", "image/svg+xml", "application/wasm")
_FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    media_type: str
    etag: str
    encodings: dict[str, bytes]
    """Content-Encoding -> bytes; identity is always there."""


class Page:
    """Paths are looked up in a table made at start, so none can leave the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._index = ""
        self._assets: dict[str, Asset] = {}
        if (folder / "index.html").is_file():
            self._index = (folder / "index.html").read_text(encoding="utf-8")
            self._assets = dict(_load(folder))

    def index(self) -> Response:
        """Raises Unavailable where the page has not been built."""
        if not self._index:
            raise Unavailable(f"The page is not built: {self._folder} has no index.html.", kind="page")
        nonce = secrets.token_urlsafe(16)
        text = self._index.replace("<head>", f'<head>\n    <meta name="csp-nonce" content="{nonce}">', 1)
        headers = {"Content-Security-Policy": _POLICY.format(nonce=nonce), "Cache-Control": "no-cache"}
        return Response(text, headers=headers, media_type="text/html")

    def asset(self, path: str, headers: Headers) -> Response:
        """One file of the page; what lies under assets/ has its hash in its name. Raises NotFound."""
        asset = self._assets.get(path)
        if asset is None:
            raise NotFound("There is no such file.")
        answer = {
            "ETag": asset.etag,
            "Vary": "Accept-Encoding",
            "Cache-Control": _FOREVER if path.startswith("assets/") else "public, max-age=3600",
        }
        if headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=answer)
        accepted = {part.split(";")[0].strip() for part in headers.get("accept-encoding", "").split(",")}
        encoding = next((name for name in ("br", "gzip") if name in accepted and name in asset.encodings), "identity")
        if encoding != "identity":
            answer["Content-Encoding"] = encoding
        return Response(asset.encodings[encoding], headers=answer, media_type=asset.media_type)


def _load(folder: Path) -> list[tuple[str, Asset]]:
    assets = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.suffix in (".br", ".gz") or path.name == "index.html":
            continue
        data = path.read_bytes()
        kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        encodings = {"identity": data}
        brotli = path.with_name(f"{path.name}.br")
        if brotli.is_file():
            encodings["br"] = brotli.read_bytes()
        if kind.startswith(_COMPRESSED) and len(data) > 500:
            encodings["gzip"] = gzip.compress(data, 6, mtime=0)
        etag = f'"{hashlib.sha256(data).hexdigest()[:24]}"'
        assets.append((path.relative_to(folder).as_posix(), Asset(kind, etag, encodings)))
    return assets
