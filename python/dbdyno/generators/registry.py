"""Finds the generators besides the engine: the modules of this room that have a `GENERATOR`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

import dbdyno.generators
from dbdyno.errors import unknown_name
from dbdyno.generators.generator import Generator
from dbdyno.model import ENGINE


@cache
def generators() -> Mapping[str, Generator]:
    """All, by the name that a study file uses."""
    found: dict[str, Generator] = {}
    for module in pkgutil.iter_modules(dbdyno.generators.__path__):
        name = f"{dbdyno.generators.__name__}.{module.name}"
        generator = getattr(importlib.import_module(name), "GENERATOR", None)
        if generator is not None:
            found[generator.name] = generator
    return found


def find_generator(name: str) -> Generator:
    """The generator a study names; raises `UsageError` with the nearest and all there are."""
    known = generators()
    if name not in known:
        raise unknown_name(f"there is no generator `{name}`", name, (ENGINE, *known))
    return known[name]
