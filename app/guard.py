"""Refuses foreign host names and foreign pages, and sets the headers that every answer has."""

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import BadHost, Forbidden, Problem

_SAFE = ("GET", "HEAD", "OPTIONS")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
FRAMED = "/embed/"
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Guard:
    """A name that resolves to this machine is not yet a reason to answer it: that is how DNS rebinding works.

    IP addresses and localhost cannot be rebound, so they are always allowed; other names are `allowed`.
    """

    def __init__(self, app: ASGIApp, allowed: frozenset[str]) -> None:
        self.app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith(FRAMED) and message["status"] == 200:
                    # The page's own policy says who may put it into a frame.
                    del headers["X-Frame-Options"]
            await send(message)

        try:
            self._check(scope["method"], Headers(scope=scope))
        except Problem as problem:
            return await problem.response()(scope, receive, send_with_headers)
        return await self.app(scope, receive, send_with_headers)

    def _check(self, method: str, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1:
            raise BadHost("Exactly one Host header is needed.")
        host, port = _split(f"//{hosts[0]}")
        if not self._knows(host):
            raise BadHost(
                "This service does not answer to the name in the Host header. "
                "Its operator can allow it with WARPYARD_ALLOWED_HOSTS."
            )
        if method in _SAFE:
            return
        origin = headers.get("origin")
        if origin is not None:
            scheme = origin.split(":", 1)[0]
            theirs, their_port = _split(origin)
            default = _DEFAULT_PORTS.get(scheme)
            if theirs != host or (their_port or default) not in (port, port or default):
                raise Forbidden("Requests that change something are taken from this service's own page only.")
        elif headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Forbidden("Requests that change something are taken from this service's own page only.")

    def _knows(self, host: str) -> bool:
        if host == "localhost" or host.endswith(".localhost") or host in self._allowed:
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return True


def _split(url: str) -> tuple[str, int | None]:
    """Host name and port; an empty name where there is none."""
    try:
        parts = urlsplit(url)
        if parts.username is not None or parts.path or parts.query or parts.fragment:
            return "", None
        return (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return "", None
