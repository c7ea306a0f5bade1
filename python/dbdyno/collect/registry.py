"""The collectors there are: each module of `sources/`, found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection
from functools import cache

from dbdyno.collect import sources
from dbdyno.collect.collector import Collector, Scope


@cache
def all_collectors() -> tuple[Collector, ...]:
    """Every one, by the name of its source."""
    found = []
    for module in pkgutil.iter_modules(sources.__path__):
        collector = importlib.import_module(f"{sources.__name__}.{module.name}").COLLECTOR
        assert isinstance(collector, Collector)
        assert collector.source == module.name, "a source is called like its module"
        found.append(collector)
    return tuple(sorted(found, key=lambda collector: collector.source))


def collectors(scope: Scope, asked: Collection[str] = ()) -> tuple[Collector, ...]:
    """Those that read the machine, or those that read one run's parts; of the optional ones the
    sources that are `asked` for."""
    return tuple(
        each
        for each in all_collectors()
        if each.scope == scope and (not each.optional or each.source in asked)
    )


def optional_sources() -> tuple[str, ...]:
    """Sources that a study may ask for."""
    return tuple(each.source for each in all_collectors() if each.optional)
