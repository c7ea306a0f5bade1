"""The front page of a gallery: a card a study, and a search that needs no server.

One HTML file with its style and script inside; pictures and pages lie beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.report.page.paper import environment, template_text

_LEFT, _RIGHT = 4.0, 116.0
"""Ends of the axis of an effect's picture, which is 120 wide."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A study as it was measured at one time; texts are plain and may be published."""

    day: str
    """`2026-11-28`; empty: not known."""
    answer: str
    measured: str
    """On what, in words."""
    page: str = ""
    """Link to its report; empty: there is none."""
    effect: tuple[float, float, float] | None = None
    """The ratio that the card follows through time: low end of its 95 % interval, ratio, high."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A card: a study, with its answers."""

    name: str
    question: str
    measures: tuple[Measure, ...]
    """The newest first; none: not measured yet."""
    source: str = ""
    """Which published benchmark it repeats."""
    then_and_now: str = ""
    """How what was published compares with what was measured."""
    picture: str = ""
    """Link to the picture of the newest answer; empty: there is none."""
    followed: str = ""
    """What `effect` is a ratio of, in words."""
    command: str = ""
    """What repeats it."""

    @property
    def day(self) -> str:
        """When it was last measured."""
        return self.measures[0].day if self.measures else ""


def gallery_page(entries: Sequence[Entry], *, title: str, about: str = "") -> str:
    """The page's text: cards in order of their days, the newest first."""
    ordered = sorted(entries, key=lambda entry: entry.name)
    ordered.sort(key=lambda entry: entry.day, reverse=True)
    return (
        environment()
        .get_template("gallery.html.j2")
        .render(
            entries=ordered,
            title=title,
            about=about,
            place=place_of,
            style=template_text("style.css") + template_text("gallery.css"),
            script=template_text("gallery.js"),
        )
    )


def place_of(ratio: float, entry: Entry) -> float:
    """A ratio's x in the pictures of a card's effects, which share one axis of logarithms with the
    baseline (1) in the middle."""
    ends = [abs(math.log(end)) for measure in entry.measures for end in measure.effect or ()]
    reach = max([*ends, math.log(1.1)])
    middle = (_LEFT + _RIGHT) / 2
    return round(middle + (_RIGHT - middle) * math.log(ratio) / reach, 1)
