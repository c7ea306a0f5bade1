"""Where and how to damage files: places, draws, the damage. Pure except for `apply`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Literal, get_args

Place = Literal["rows", "table", "anywhere"]
"""Within the text of a row; in the table's files; in any file of the data folder."""
Damage = Literal["bit", "byte", "sector"]
"""One bit flipped; one byte changed; 512 bytes zeroed, like a lost write."""
PLACES: tuple[Place, ...] = get_args(Place)
DAMAGES: tuple[Damage, ...] = get_args(Damage)

BLOCK = 4096
"""Blocks of zeros hold nothing and are not damaged."""
SECTOR = 512
_DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a file in which damage may be done."""

    file: str
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Flip:
    """One damage: the bytes before and after."""

    file: str
    offset: int
    before: bytes
    after: bytes

    def apply(self, folder: Path) -> None:
        """Writes it into the file below `folder`."""
        with (folder / self.file).open("r+b") as file:
            file.seek(self.offset)
            file.write(self.after)


def filled_spans(file: str, content: bytes) -> Iterator[Span]:
    """The blocks of a file that aren't all zeros."""
    for start in range(0, len(content), BLOCK):
        block = content[start : start + BLOCK]
        if block.count(0) < len(block):
            yield Span(file, start, len(block))


def text_spans(file: str, content: bytes, texts: Collection[bytes]) -> Iterator[Span]:
    """Where texts stand in a file: all of one length, of lower-case hexadecimal digits."""
    length = len(next(iter(texts)))
    for found in re.finditer(rb"(?=([0-9a-f]{%d}))" % length, content):
        if found[1] in texts:
            yield Span(file, found.start(1), length)


def draw(
    random: Random, spans: Sequence[Span], contents: Mapping[str, bytes], damage: Damage
) -> Flip:
    """A random damage, each byte of `spans` equally likely. Raises `ValueError` if there is
    nothing to damage."""
    ends = list(accumulate(span.length for span in spans))
    for _ in range(_DRAWS if ends else 0):
        at = random.randrange(ends[-1])
        place = bisect_right(ends, at)
        span = spans[place]
        offset = span.start + at - (ends[place] - span.length)
        flip = _flip(random, span.file, offset, contents[span.file], damage)
        if flip.before != flip.after:
            return flip
    raise ValueError("there is nothing to damage")


def _flip(random: Random, file: str, offset: int, content: bytes, damage: Damage) -> Flip:
    if damage == "sector":
        offset -= offset % SECTOR
        before = content[offset : offset + SECTOR]
        return Flip(file, offset, before, bytes(len(before)))
    before = content[offset : offset + 1]
    turned = 1 << random.randrange(8) if damage == "bit" else random.randrange(1, 256)
    return Flip(file, offset, before, bytes([before[0] ^ turned]))
