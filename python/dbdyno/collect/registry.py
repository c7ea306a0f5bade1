"""The collectors there are: each module of `sources/`, found by itself."""

from __future__ import annotations

import importlib
import pkgutil
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


def collectors(scope: Scope) -> tuple[Collector, ...]:
    """Those that read the machine, or those that read one run's parts."""
    return tuple(collector for collector in all_collectors() if collector.scope == scope)
