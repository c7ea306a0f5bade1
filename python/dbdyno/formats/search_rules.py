"""Rules for studies that search for a rate."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.formats.load_schema import FindMaxTable, LoadTable
from dbdyno.formats.quantities import format_fraction
from dbdyno.formats.study_schema import StudyDocument
from dbdyno.model import abilities

MAX_RATE = "max_rate"
"""The figure of such a study."""

Complaint = tuple[tuple[str, ...], str, str | None]
"""Path of the key, message, hint."""


def metric_of(document: StudyDocument) -> str:
    """The primary metric: that of a search unless the file names one."""
    named = "metric" in document.primary.model_fields_set
    searched = document.load.find_max is not None
    return MAX_RATE if searched and not named else document.primary.metric


def search_complaints(document: StudyDocument) -> Iterator[Complaint]:
    """All errors of `load.find_max` and the keys beside it."""
    load, metric = document.load, document.primary.metric
    if load.find_max is None:
        if metric == MAX_RATE:
            message = f"`{MAX_RATE}` is what a search finds, and there is none"
            yield ("primary", "metric"), message, 'such as load.find_max = { p99 = "10 ms" }'
        return
    if metric_of(document) != MAX_RATE:
        message = (
            f"`{metric}` follows from the objective in a search; what it finds is `{MAX_RATE}`"
        )
        yield ("primary", "metric"), message, "leave `metric` out"
    yield from _beside(document, load)
    yield from _itself(load.find_max, load)


def _beside(document: StudyDocument, load: LoadTable) -> Iterator[Complaint]:
    """Keys that contradict the search."""
    here = ("load",)
    if len(load.clients) > 1:
        message = "`find_max` searches with one number of clients, which carry every rate"
        yield (*here, "clients"), message, "clients = 64; several numbers can be several studies"
    if load.arrival.kind != "closed":
        message = "`find_max` draws independent arrivals at rates of its own; leave `arrival` out"
        yield (*here, "arrival"), message, "its bounds are `find_max.from` and `find_max.to`"
    if load.think_time:
        message = "`think_time` is a pause of a closed loop; the loads of `find_max` are open"
        yield (*here, "think_time"), message, None
    if load.measure is None or load.events is not None:
        key = "events" if load.events is not None else "measure"
        message = "`find_max` needs windows of one length: `measure`, and no `events`"
        yield (*here, key), message, 'such as measure = "10 s"'
    for name, group in load.group.items():
        if not group.idle:
            message = (
                "`find_max` has only idle groups beside it: events of others would be measured"
            )
            yield (*here, "group", name), message, None
    others: dict[tuple[str, ...], str | None] = {
        ("workload", "generator"): document.workload.generator,
        **{
            ("factor", factor, name, "generator"): level.generator
            for factor, levels in document.factor.items()
            for name, level in levels.items()
        },
    }
    for path, generator in others.items():
        if generator is not None and not abilities(generator).takes_rates:
            yield path, f"`find_max` drives the engine; `{generator}` has a pace of its own", None


def _itself(asked: FindMaxTable, load: LoadTable) -> Iterator[Complaint]:
    """The objective and its bounds."""
    here = ("load", "find_max")
    objectives = asked.objectives()
    if len(objectives) != 1:
        given = " and ".join(f"`{name}`" for name in objectives) or "none"
        message = f"`find_max` has one objective of p50, p95, p99, p99.9 and max; found {given}"
        yield here, message, 'such as { p99 = "10 ms" }'
        return
    ((name, limit_s),) = objectives.items()
    if limit_s <= 0:
        yield (*here, name), f"`find_max.{name}` must be longer than nothing", None
    if not 0.01 <= asked.precision <= 0.5:
        message = (
            f"`find_max.precision` is {format_fraction(asked.precision)}; expected 1 % to 50 %"
        )
        yield (*here, "precision"), message, None
    if load.measure is None:
        return
    least = asked.least_rate(name, load.measure)
    first = least if asked.from_ is None else asked.from_
    if first < least:
        message = (
            f"`find_max.from` of {first:g}/s begins {first * load.measure:,.0f} events in a window "
            f"of {load.measure:g} s; {name} needs {least * load.measure:,.0f}"
        )
        yield (*here, "from"), message, f"from {least:g}/s on, or a longer `measure`"
    if first >= asked.to:
        message = f"`find_max.to` is {asked.to:g}/s; expected more than the first rate, {first:g}/s"
        yield (*here, "to"), message, None
