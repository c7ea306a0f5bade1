"""Remembers what provision texts mean: each look-up reads installations and the cache, and hundreds
of levels name the same server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dbdyno.servers.protocol import Provision

_PARSED: ContextVar[dict[str, Provision] | None] = ContextVar("provisions", default=None)


def remembered(text: str, parse: Callable[[], Provision]) -> Provision:
    """What `parse` returns for this text, or has returned for it in the same block."""
    parsed = _PARSED.get()
    if parsed is None:
        return parse()
    if text not in parsed:
        parsed[text] = parse()
    return parsed[text]


@contextmanager
def provisions_remembered() -> Iterator[None]:
    """A text means the same throughout the block, until `forget_provisions`."""
    token = _PARSED.set({})
    try:
        yield
    finally:
        _PARSED.reset(token)


def forget_provisions() -> None:
    """For when the list of a suite has been refreshed."""
    parsed = _PARSED.get()
    if parsed is not None:
        parsed.clear()
