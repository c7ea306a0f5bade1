"""What requests ask for, and answers, each with the policy that its contents need."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
REPORT = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox allow-scripts allow-downloads allow-popups allow-top-navigation-by-user-activation"
)
"""A report may come from somebody else: the sandbox gives it an origin of its own, from which it
can read nothing of the store."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def study_of(asked: Request) -> str:
    """The study that a path names."""
    return str(asked.path_params["study"])


def missing(name: str) -> Response:
    """The answer that nothing of this name is here: status 404."""
    return PlainTextResponse(f"there is no `{name[:200]}` here\n", 404, headers=HEADERS)


def as_json(document: Mapping[str, object]) -> Response:
    """A JSON object, under the policy of our own pages."""
    return JSONResponse(document, headers={**HEADERS, "Content-Security-Policy": OWN})


def answer(content: bytes, kind: str, policy: str) -> Response:
    """Content of a media type, under a content security policy."""
    headers = {**HEADERS, "Content-Security-Policy": policy}
    return Response(content, media_type=kind, headers=headers)
