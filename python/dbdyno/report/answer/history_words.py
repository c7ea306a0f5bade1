"""Formats a history for people: sentences, notes, tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dbdyno.model import Figure
from dbdyno.report.analysis.history import where
from dbdyno.report.analysis.history_series import Histories, Place, Series
from dbdyno.report.terms.table import Column, Table, Value
from dbdyno.report.terms.wording import count, number, ratio
from dbdyno.stats import Change


def names(series: Series, by: str) -> tuple[str, ...]:
    """A name a point, each its own: what several points share is told apart by date or study."""
    places = [where(place.entry, by) for place in series.places]
    days = [f"{name}, {place.entry.day}" for name, place in zip(places, series.places, strict=True)]
    if by == "version":
        places = [
            day if places.count(name) > 1 else name for name, day in zip(places, days, strict=True)
        ]
    homes = [place.entry.side.name for place in series.places]
    return tuple(
        f"{name}, {home}" if places.count(name) > 1 else name
        for name, home in zip(places, homes, strict=True)
    )


def title(series: Series) -> str:
    """The cell and its load."""
    clients = f"{series.clients} client{'' if series.clients == 1 else 's'}"
    return ", ".join(part for part in (series.name, clients) if part)


def headline(computed: Histories) -> str:
    """What was found, in a sentence or two."""
    changes = sum(len(series.found.changes) for series in computed.series)
    searched = sum(series.not_searched is None for series in computed.series)
    figure = computed.figure.title
    if not searched:
        return f"{figure}: there are too few points to look for changes."
    of = f"in {searched} series" if searched > 1 else "in the series"
    found = "no change" if not changes else f"{changes} change{'' if changes == 1 else 's'}"
    return f"{figure} by {computed.by}: {found} {of} of {_extent(computed)} points."


def _extent(computed: Histories) -> str:
    sizes = sorted(
        {len(series.places) for series in computed.series if series.not_searched is None}
    )
    return str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"


def direction(change: Change, figure: Figure) -> str:
    """`slower`, `faster`; `worse`, `better` of what is no rate."""
    good = (change.after > change.before) == figure.higher_is_better
    if figure.rate:
        return "faster" if good else "slower"
    return "better" if good else "worse"


def change_text(series: Series, change: Change, computed: Histories) -> str:
    """Where it is, how large, and what else changed there."""
    every = names(series, computed.by)
    before, after = every[change.index - 1], every[change.index]
    place = series.places[change.index]
    text = (
        f"between {before} and {after}: {direction(change, computed.figure)}, "
        f"{ratio(change.after / change.before)} (p = {number(change.p, 2)})"
    )
    return text + "".join(f"; {also} here too" for also in besides(place))


def besides(place: Place) -> tuple[str, ...]:
    """What else than the server changed at a point, by what it is."""
    changed: dict[str, list[str]] = {}
    for difference in place.besides:
        changed.setdefault(difference.group, []).append(difference.what)
    return tuple(f"{group} changed ({', '.join(parts)})" for group, parts in changed.items())


def notes(series: Series, computed: Histories) -> Iterator[str]:
    """How the points are to be read, and what is no part of them."""
    if series.anchor is not None:
        yield (
            f"relative to `{series.anchor}`, measured in the same blocks of each study: what the "
            "host changed cancels out"
        )
    elif len({place.entry.folder for place in series.places}) > 1:
        yield (
            f"as measured ({series.raw_because}): host drift is not cancelled; a change must also "
            "exceed what autocorrelated noise would show"
        )
    else:
        yield "as measured; all points are of one study, in the same blocks"
    if series.not_searched is not None:
        yield series.not_searched
    else:
        yield (
            f"of such series without any change, at most {100 * computed.level:.2g} % show one; "
            f"changes below {100 * computed.asked.smallest_effect:.2g} % are not told"
        )
    for why, studies in series.left_out.items():
        yield f"left out: {', '.join(studies)}: {why}"


def segments(series: Series) -> tuple[float, ...]:
    """The level that each point's segment has; outliers are no part of it."""
    changes = series.found.changes
    if not changes:
        return ()
    edges = [0, *(change.index for change in changes), len(series.places)]
    levels = [changes[0].before, *(change.after for change in changes)]
    return tuple(
        level
        for level, (start, end) in zip(levels, pairwise(edges), strict=True)
        for _ in range(start, end)
    )


def table(series: Series, computed: Histories) -> Table:
    """A row for each point of the series."""
    relative = series.anchor is not None
    show = ratio if relative else number
    changes = {change.index: change for change in series.found.changes}
    rows: list[tuple[Value, ...]] = []
    for index, (name, place) in enumerate(
        zip(names(series, computed.by), series.places, strict=True)
    ):
        told_of = [*besides(place)]
        if index in changes:
            change = changes[index]
            told_of.insert(0, f"{direction(change, computed.figure)}, {ratio(1 + change.relative)}")
        if index in series.found.outliers:
            told_of.insert(0, "outlier")
        sure = None if place.low is None or place.high is None else (place.low, place.high)
        entry = place.entry
        other = entry.day if computed.by == "version" else f"{entry.kind} {entry.version}".strip()
        rows.append(
            (
                name,
                other,
                entry.side.name,
                place.value,
                sure,
                place.blocks,
                "; ".join(told_of),
            )
        )
    columns = (
        Column("Version" if computed.by == "version" else "Date (UTC)", "point"),
        Column("Date (UTC)" if computed.by == "version" else "Server", "other"),
        Column("Study", "study"),
        Column("Against the anchor" if relative else computed.figure.label, "value", show),
        Column("95 % interval", "interval", show, pair=True),
        Column("Blocks", "blocks", count),
        Column("Change", "change"),
    )
    return Table("history", title(series), columns, tuple(rows))
