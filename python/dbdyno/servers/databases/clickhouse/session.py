"""The lab's own session with ClickHouse, by its HTTP port: a request for each statement."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from dbdyno.errors import ConnectError, ServerError
from dbdyno.servers.nodes.address import Address

_LONGEST_BYTES = 1 << 30
_REFUSALS = ("192", "193", "194", "516")
"""Codes of exceptions that let nobody in: unknown user, wrong or missing password."""


@dataclass(frozen=True, slots=True)
class Place(Address):
    """Where a server's HTTP port is, and as whom to enter which database."""

    port: int = 8123
    database: str = "default"


class ClickhouseSession:
    """Each statement has a connection of its own: servers close idle ones after some seconds."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def connection(self) -> object:
        """Asks for nothing, to see whether the server lets us in.

        # Errors
        `ConnectError` with the system's or the server's words.
        """
        return self.rows("SELECT 1 AS one")

    def rows(self, statement: str, /) -> Sequence[Mapping[str, Any]]:
        """The result of a statement; none of a statement that has none.

        # Errors
        `ServerError` with the server's words; `ConnectError` when it can't be reached or refuses
        us.
        """
        text = self._ask(statement, "JSON")
        if not text.strip():
            return []
        try:
            data = json.loads(text)["data"]
        except (ValueError, TypeError, KeyError) as error:
            raise ServerError(f"{self.place} answers with no result of ClickHouse's") from error
        return [*data]

    def lines(self, statement: str) -> Iterator[Sequence[bytes]]:
        """Rows of a result as texts, tabs and line ends in them escaped.

        # Errors
        As `rows`.
        """
        text = self._ask(statement, "TabSeparated")
        return (line.split(b"\t") for line in text.splitlines())

    def _ask(self, statement: str, form: str) -> bytes:
        place = self.place
        query = {
            "database": place.database,
            "default_format": form,
            "output_format_json_quote_64bit_integers": "0",
        }
        headers = {"X-ClickHouse-User": place.user or "default"}
        if place.password:
            headers["X-ClickHouse-Key"] = place.password
        connection = self._opened()
        try:
            connection.request(
                "POST", f"/?{urlencode(query)}", body=statement.encode(), headers=headers
            )
            answer = connection.getresponse()
            text = answer.read(_LONGEST_BYTES)
        except (OSError, http.client.HTTPException) as error:
            why = str(error) or type(error).__name__
            raise ConnectError(f"cannot reach ClickHouse's HTTP port at {place}: {why}") from error
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise self._refusal(text.decode(errors="replace").strip())
        return text

    def _opened(self) -> http.client.HTTPConnection:
        place = self.place
        if place.tls is None:
            return http.client.HTTPConnection(place.host, place.port, timeout=place.limit_s)
        return http.client.HTTPSConnection(
            place.host, place.port, timeout=place.limit_s, context=place.tls
        )

    def _refusal(self, words: str) -> ServerError:
        code = words.removeprefix("Code: ").partition(",")[0].partition(".")[0]
        if code in _REFUSALS:
            return ConnectError(
                f"{self.place} refuses the connection: {words}", hint="check user and password"
            )
        return ServerError(words or f"{self.place} answers with an error and no words")

    def serving_thread(self) -> int | None:
        """`None`: any thread of a pool may serve a request."""
        return None

    def close(self) -> None:
        """Nothing is kept open."""
