"""Who asks, for limits: a session in a signed cookie, never an address, as a class behind one router is not one client.

Whoever throws the cookie away gets a new session, so each address may begin only so many; beyond that its requests
without a cookie count together.
"""

from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Request
from itsdangerous import BadSignature, TimestampSigner
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from store.identifiers import is_id, new_id

if TYPE_CHECKING:
    from app.service import Service

COOKIE = "warpyard_session"
COOKIE_SECONDS = 365 * 24 * 3600
_READING = ("GET", "HEAD", "OPTIONS")
_LINKS = ("/k/", "/embed/")


@dataclass(frozen=True)
class Caller:
    """`id` is what limits count; `network` is an address, which only bounds what many sessions of it may hold."""

    id: str
    network: str


def network_of(scope: Scope) -> str:
    """The address; of IPv6 the /64 that one customer has."""
    client = scope.get("client")
    host = str(client[0]) if client else "local"
    return ":".join(host.split(":")[:4]) if host.count(":") > 3 else host


class Sessions:
    """Reads the session of every request, and begins one where a page is opened or something is asked for."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        network = network_of(scope)
        service: Service | None = getattr(scope["app"].state, "service", None)
        signer = None if service is None else TimestampSigner(service.secret, salt="session")
        session = None if signer is None else _read(signer, Headers(scope=scope))
        begun = False
        if service is not None and session is None and _begins(scope):
            begun = await service.queue.may_begin_session(network)
            session = new_id() if begun else None
        scope.setdefault("state", {})["caller"] = Caller(session or f"at {network}", network)
        if not begun or signer is None:
            return await self.app(scope, receive, send)
        cookie = _cookie(signer, str(session), secure=scope["scheme"] == "https")

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("Set-Cookie", cookie)
            await send(message)

        return await self.app(scope, receive, send_with_cookie)


def _read(signer: TimestampSigner, headers: Headers) -> str | None:
    cookies: SimpleCookie = SimpleCookie()
    try:
        for line in headers.getlist("cookie"):
            cookies.load(line)
        session = signer.unsign(cookies[COOKIE].value, max_age=COOKIE_SECONDS).decode()
    except (KeyError, CookieError, BadSignature, UnicodeError):
        return None
    return session if is_id(session) else None


def _cookie(signer: TimestampSigner, session: str, secure: bool) -> str:
    cookie: SimpleCookie = SimpleCookie()
    cookie[COOKIE] = signer.sign(session).decode()
    cookie[COOKIE].update({"path": "/", "max-age": str(COOKIE_SECONDS), "httponly": "yes", "samesite": "Lax"})
    if secure:
        cookie[COOKIE]["secure"] = "yes"
    return cookie[COOKIE].OutputString()


def _begins(scope: Scope) -> bool:
    if scope["method"] not in _READING:
        return True
    path = str(scope["path"])
    return scope["method"] == "GET" and (path == "/" or path.startswith(_LINKS))


def _caller(request: Request) -> Caller:
    return cast(Caller, request.state.caller)


Client = Annotated[Caller, Depends(_caller)]
