"""A table whose rows are all known, filled into and read back from any database.

Rows follow from a seed. A read is right if the database returns exactly these, each once, in any
order; texts are compared by MD5 or hexadecimal form as computed by the database, so that no client
decodes damaged text.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from random import Random

from dbdyno.generators.generator import Served

NAME = "known_rows"
_INDEX = f"{NAME}_k"
_BATCH = 250
_COLUMNS = "id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c VARCHAR(128) NOT NULL"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between databases."""

    digest: str
    """Of column `c`, as an expression."""
    expected: Callable[[str], str]
    """The same of a text."""
    before_index: Sequence[str] = ()
    """Statements that make the reads by index be just that."""
    by_key: str = ""
    by_index: str = ""
    """What follows the table's name to name the index."""


def _hex(text: str) -> str:
    return text.encode().hex().upper()


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


_MYSQL = Dialect(
    "HEX(c)", _hex, by_key=" FORCE INDEX (PRIMARY)", by_index=f" FORCE INDEX ({_INDEX})"
)
DIALECTS: Mapping[str, Dialect] = {
    "postgresql": Dialect(
        "md5(c)", _md5, ("SET enable_seqscan = off", "SET enable_bitmapscan = off")
    ),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "duckdb": Dialect("md5(c)", _md5),
    "sqlite": Dialect("hex(c)", _hex, by_index=f" INDEXED BY {_INDEX}"),
}
"""By kind of server."""

Row = tuple[int, int, str]


@dataclass(frozen=True)
class Table:
    """So many rows of a seed, in a kind of server."""

    kind: str
    rows: int
    seed: int

    @cached_property
    def _rows(self) -> Sequence[Row]:
        """Number, key without repetition, 128 hexadecimal digits."""
        random = Random(self.seed)
        keys = random.sample(range(10 * self.rows), self.rows)
        return [
            (number, key, random.randbytes(64).hex()) for number, key in enumerate(keys, start=1)
        ]

    @cached_property
    def _expected(self) -> Counter[Row]:
        digest = DIALECTS[self.kind].expected
        return Counter((number, key, digest(text)) for number, key, text in self._rows)

    def texts(self) -> Sequence[str]:
        """The text of every row."""
        return [text for *_, text in self._rows]

    def fill(self, server: Served) -> None:
        """Makes the table anew.

        # Errors
        `ServerError` when the server refuses.
        """
        session = server.database.inside()
        try:
            session.rows(f"DROP TABLE IF EXISTS {NAME}")
            session.rows(f"CREATE TABLE {NAME} ({_COLUMNS})")
            for start in range(0, self.rows, _BATCH):
                batch = self._rows[start : start + _BATCH]
                values = ", ".join(f"({number}, {key}, '{text}')" for number, key, text in batch)
                session.rows(f"INSERT INTO {NAME} VALUES {values}")
            session.rows(f"CREATE INDEX {_INDEX} ON {NAME} (k)")
        finally:
            session.close()

    def reads(self) -> Iterator[Callable[[Served], bool]]:
        """All rows, in three ways; each says whether they are right.

        # Errors
        `ServerError` when a statement is refused, `LostError` when the session ends.
        """
        dialect = DIALECTS[self.kind]
        columns = f"SELECT id, k, {dialect.digest} AS c FROM {NAME}"
        for before, statement in (
            ((), columns),
            (dialect.before_index, f"{columns}{dialect.by_key} WHERE id >= 0 ORDER BY id"),
            (dialect.before_index, f"{columns}{dialect.by_index} WHERE k >= 0 ORDER BY k"),
        ):
            yield partial(self._is_right, statements=(*before, statement))

    def _is_right(self, server: Served, statements: Sequence[str]) -> bool:
        session = server.database.inside()
        try:
            for statement in statements:
                found = session.rows(statement)
        finally:
            session.close()
        return Counter((row["id"], row["k"], row["c"]) for row in found) == self._expected
