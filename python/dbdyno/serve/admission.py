"""Who may read: a browser on this machine, or a client with the token.

A page of another site can make a browser send requests here, under a name that the site points at
this address (DNS rebinding). So `Host` must be one of our names, and the origin ours. Other
machines need the token as well.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = frozenset(("127.0.0.1", "localhost", "[::1]"))
COOKIE = "dbdyno-token"
MOST_WRONG = 20
"""Wrong tokens a minute, from all addresses together; beyond it even the right token is refused."""
_WINDOW_S = 60.0


@dataclass(slots=True)
class Admission:
    """An ASGI application around another one."""

    app: ASGIApp
    hosts: Collection[str]
    """Names that requests may have in `Host`, without a port, in lower case."""
    token: str = ""
    """Empty: requests need none."""
    _wrong_s: list[float] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers, or passes the request on."""
        if scope["type"] == "http":
            refusal = self.refusal(scope["method"], Headers(scope=scope), scope)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        elif scope["type"] != "lifespan":
            return
        await self.app(scope, receive, send)

    def refusal(self, method: str, headers: Headers, scope: Scope) -> Response | None:
        """The answer to a request that is refused; `None`: it is allowed."""
        if method not in ("GET", "HEAD"):
            return _plain("this server only shows what is stored: GET and HEAD", 405)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _name(hosts[0]) not in self.hosts:
            return _plain(
                "this server has another name: open the address that `dbdyno serve` has printed, "
                "or name the host with --host-name",
                403,
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in _origins(hosts[0]):
            return _plain("another site may not read this one", 403)
        elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if elsewhere and headers.get("sec-fetch-mode") != "navigate":
            return _plain("another site may not read this one", 403)
        return self._asked_for_token(headers, scope) if self.token else None

    def _asked_for_token(self, headers: Headers, scope: Scope) -> Response | None:
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        given = query.pop("token", None)
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        candidate = given or (bearer if kind.lower() == "bearer" else _cookie(headers))
        now_s = time.monotonic()
        self._wrong_s = [at for at in self._wrong_s if now_s - at < _WINDOW_S]
        if len(self._wrong_s) >= MOST_WRONG:
            return _plain("too many wrong tokens: wait a minute", 429)
        if not candidate:
            return _plain("a token is needed: open the address that `dbdyno serve` printed", 401)
        if not hmac.compare_digest(candidate.encode(), self.token.encode()):
            self._wrong_s.append(now_s)
            return _plain("wrong token", 401)
        if given is None:
            return None
        # The token leaves the address, which is shown, kept in histories and passed on.
        rest = f"?{urlencode(query)}" if query else ""
        answer = RedirectResponse(f"{scope['path']}{rest}", 303)
        answer.set_cookie(COOKIE, self.token, httponly=True, samesite="lax", path="/")
        return answer


def _name(host: str) -> str:
    """The host without its port."""
    name, colon, port = host.lower().rpartition(":")
    is_port = bool(colon) and port.isdecimal() and (not name.startswith("[") or name.endswith("]"))
    return name if is_port else host.lower()


def _origins(host: str) -> Collection[str]:
    return (f"http://{host.lower()}", f"https://{host.lower()}")


def _cookie(headers: Mapping[str, str]) -> str:
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""


def _plain(text: str, status: int) -> Response:
    return PlainTextResponse(f"{text}\n", status)
