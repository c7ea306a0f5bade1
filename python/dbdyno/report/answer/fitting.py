"""Sentences within a number of words: which of them, and in which of their wordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

Wordings = str | Sequence[str]
"""A sentence, or several wordings of one, the fullest first."""


def words_in(text: str) -> int:
    """Words; a number with its groups is one."""
    return len(text.split(" ")) if text else 0


def fitted(sentences: Iterable[Wordings], room: int) -> str:
    """The sentences that fit into `room` words.

    Neighbours that have several wordings are shortened alike: none is said briefly so that another
    is said in full, as long as there is room for all of them. The first sentence is always there,
    shortened where it is too long.
    """
    kept: list[str] = []
    for several, group in groupby(filter(None, sentences), lambda item: not isinstance(item, str)):
        items = [(item,) if isinstance(item, str) else tuple(item) for item in group]
        left = room - words_in(" ".join(kept))
        chosen = _alike(items, left) if several else ()
        kept += chosen or _one_by_one(items, left)
        if not kept:
            kept.append(_shortened(items[0][-1], room))
    return " ".join(kept)


def _alike(items: Sequence[tuple[str, ...]], room: int) -> Sequence[str]:
    """A wording of every item, none briefer than it must be; empty if they don't fit at all."""
    for briefest in range(max(map(len, items))):
        allowed = [wordings[: briefest + 1] for wordings in items]
        least = [min(map(words_in, wordings)) for wordings in allowed]
        left = room - sum(least)
        if left < 0:
            continue
        chosen: list[str] = []
        for wordings, shortest in zip(allowed, least, strict=True):
            wording = next(w for w in wordings if words_in(w) - shortest <= left)
            left -= words_in(wording) - shortest
            chosen.append(wording)
        return chosen
    return ()


def _one_by_one(items: Sequence[tuple[str, ...]], room: int) -> Iterator[str]:
    """Of each item the first wording that still fits."""
    for wordings in items:
        wording = next((w for w in wordings if words_in(w) <= room), None)
        if wording is not None:
            room -= words_in(wording)
            yield wording


def _shortened(sentence: str, room: int) -> str:
    """Without its last words, which the answer in full has."""
    return " ".join(sentence.split(" ")[: max(room - 1, 8)]).rstrip(",:;") + " …"
