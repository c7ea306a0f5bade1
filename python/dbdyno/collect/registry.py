"""The collectors there are: each module of `sources/`, found by itself."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from dbdyno.collect import sources
from dbdyno.collect.collector import Collector, Scope
from dbdyno.plugins import plugins


@cache
def all_collectors() -> tuple[Collector, ...]:
    """Every one, by the name of its source."""
    every = []
    for name, collector in plugins(sources, "COLLECTOR"):
        assert isinstance(collector, Collector)
        assert collector.source == name, "a source is called like its module"
        every.append(collector)
    return tuple(sorted(every, key=lambda collector: collector.source))


def collectors(scope: Scope, asked: Collection[str] = ()) -> tuple[Collector, ...]:
    """Those that read the machine, or those that read one run's parts; of the optional ones the
    sources that are `asked` for."""
    return tuple(
        collector
        for collector in all_collectors()
        if collector.scope == scope and (not collector.optional or collector.source in asked)
    )


def optional_sources() -> tuple[str, ...]:
    """Sources that a study may ask for."""
    return tuple(collector.source for collector in all_collectors() if collector.optional)
