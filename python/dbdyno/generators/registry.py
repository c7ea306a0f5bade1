"""Finds the generators besides the engine: the modules of this room that have a `GENERATOR`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import dbdyno.generators
from dbdyno.errors import unknown_name
from dbdyno.generators.generator import Generator
from dbdyno.model import ENGINE
from dbdyno.plugins import plugins


@cache
def generators() -> Mapping[str, Generator]:
    """All, by the name that a study file uses."""
    by_module = plugins(dbdyno.generators, "GENERATOR")
    return {generator.name: generator for _, generator in by_module}


def find_generator(name: str) -> Generator:
    """The generator a study names; raises `UsageError` with the nearest and all there are."""
    known = generators()
    if name not in known:
        raise unknown_name(f"there is no generator `{name}`", name, (ENGINE, *known))
    return known[name]
