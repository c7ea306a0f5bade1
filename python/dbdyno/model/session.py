"""A session of the lab with a database: what collectors, generators and servers mean by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from dbdyno.errors import ServerError

_Row = TypeVar("_Row", bound=Mapping[str, Any])


class Session(Protocol):
    """Open until it is closed."""

    def rows(self, statement: str, /) -> Sequence[Mapping[str, Any]]:
        """The result of a statement; raises `ServerError` if refused or the server has gone."""

    def close(self) -> None:
        """Ends the session."""


class SampledSession(Session, Protocol):
    """The same for whoever samples the server, and looks at what that costs it."""

    def serving_thread(self) -> int | None:
        """The thread of this machine that serves this session and no other; `None`: nobody can
        tell, or the server is elsewhere."""


def only_row(rows: Sequence[_Row], statement: str) -> _Row:
    """The row of an answer that has one.

    # Errors
    `ServerError` for another number: whoever answers is not the server it seems to be.
    """
    if len(rows) != 1:
        asked = " ".join(statement.split())
        raise ServerError(
            f"the server answered `{asked}` with {len(rows)} rows; one was expected",
            hint="is there something between dbdyno and the server that answers in its place?",
        )
    return rows[0]
