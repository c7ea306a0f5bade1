"""Two studies of a store side by side: what differs between them first, then their figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dbdyno.serve.inside import Inside
from dbdyno.serve.stored import Mean, StoredAnswer, made_of, stored_answer

MOST_DIFFERENCES = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that the two have not in common; empty: it has none."""

    place: str
    base: str
    new: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A cell at a load in both."""

    base: Mean
    new: Mean
    ratio: float
    """The figure of the new study over that of the base."""
    word: str
    """Whether their 95 % intervals lie apart."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Both studies, as the page shows them."""

    base: StoredAnswer
    new: StoredAnswer
    differences: tuple[Difference, ...]
    more_differences: int
    """Those beyond `MOST_DIFFERENCES`."""
    pairs: tuple[Pair, ...]
    unpaired: tuple[str, ...]
    """Cells of one of the two only."""


def compared(inside: Inside, base: str, new: str) -> Compared:
    """Two studies by their names."""
    ours, theirs = stored_answer(inside, new), stored_answer(inside, base)
    before, after = made_of(inside, base), made_of(inside, new)
    places = dict.fromkeys((*before, *after))
    differences = [
        Difference(place, before.get(place, ""), after.get(place, ""))
        for place in places
        if before.get(place) != after.get(place)
    ]
    pairs = tuple(_pairs(theirs, ours)) if theirs.figure == ours.figure else ()
    both = {(pair.base.cell, pair.base.clients) for pair in pairs}
    alone = [
        f"{side}: {mean.cell}, {mean.clients} clients"
        for side, answer in (("base", theirs), ("new", ours))
        for mean in answer.means
        if (mean.cell, mean.clients) not in both
    ]
    return Compared(
        base=theirs,
        new=ours,
        differences=tuple(differences[:MOST_DIFFERENCES]),
        more_differences=max(len(differences) - MOST_DIFFERENCES, 0),
        pairs=pairs,
        unpaired=tuple(alone),
    )


def _pairs(base: StoredAnswer, new: StoredAnswer) -> Iterator[Pair]:
    means = {(mean.cell, mean.clients): mean for mean in base.means}
    for mean in new.means:
        other = means.get((mean.cell, mean.clients))
        if other is None or not other.value or not mean.value:
            continue
        ratio = mean.value / other.value
        if ratio > 0 and math.isfinite(ratio):
            yield Pair(other, mean, ratio, word_of(other, mean))


def word_of(base: Mean, new: Mean) -> str:
    """What the 95 % intervals say of each other. Two that lie apart differ by more than their
    noise; two that overlap may differ or not."""
    if base.interval is None or new.interval is None:
        return "no interval: one block"
    if new.interval[0] > base.interval[1]:
        return "higher"
    if new.interval[1] < base.interval[0]:
        return "lower"
    return "can't tell: the intervals overlap"
