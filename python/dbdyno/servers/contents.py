"""What a table holds, in two figures that two servers can be compared by.

The checksum is the sum, modulo 2⁶⁴, of the first eight bytes of the MD5 of each row: the rows'
order does not matter, and a row that is there twice counts twice. A row is the text of all its
columns in the table's order, with U+001F between them, U+001E for NULL, and lower-case
hexadecimal digits for bytes. Whole numbers and text look the same in every server, so that a table
of them has one checksum wherever it is; dates, times and floating-point numbers look the same
within a kind.

`CHECKSUM TABLE` and `hashtextextended` would be faster. The former depends on the storage format
and hence on the version, the latter is PostgreSQL's own, from 11 on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

SEPARATOR = 0x1F
NULL = 0x1E

_DIGEST_BYTES = 8
_MODULUS = 2**64


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of one table."""

    rows: int
    checksum: str | None = None
    """16 hexadecimal digits; `None` if only the rows were counted."""


def checksum_of(total: int) -> str:
    """The checksum from the sum of the rows' digests, as signed or unsigned numbers."""
    return f"{total % _MODULUS:016x}"


def contents_of(rows: Iterable[Iterable[bytes | None]]) -> Contents:
    """The contents computed from rows of text columns, for a database that can't digest them
    itself."""
    count = total = 0
    separator, null = bytes([SEPARATOR]), bytes([NULL])
    for row in rows:
        text = separator.join(null if value is None else value for value in row)
        digest = hashlib.md5(text, usedforsecurity=False).digest()
        total += int.from_bytes(digest[:_DIGEST_BYTES], "big")
        count += 1
    return Contents(count, checksum_of(total))
