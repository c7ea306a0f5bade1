"""The collectors there are: each module of `sources/`, found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from dbdyno.collect import sources
from dbdyno.collect.collector import Collector


@cache
def collectors() -> Mapping[str, Collector]:
    """Source → collector, by name."""
    found = {}
    for module in pkgutil.iter_modules(sources.__path__):
        collector = importlib.import_module(f"{sources.__name__}.{module.name}").COLLECTOR
        assert isinstance(collector, Collector)
        found[collector.source] = collector
    return dict(sorted(found.items()))
