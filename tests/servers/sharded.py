"""What tests of servers made of a coordinator and nodes ask of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from dbdyno.servers import Server


def rows(server: Server, *statements: str) -> list[Mapping[str, Any]]:
    """The rows of all statements, by a session of the lab's."""
    with closing(server.database.inside()) as session:
        return [row for statement in statements for row in session.rows(statement)]
