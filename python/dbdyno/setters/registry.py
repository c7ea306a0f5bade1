"""Finds the setters: the modules of this room that have a `SETTER`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import dbdyno.setters
from dbdyno.errors import unknown_name
from dbdyno.plugins import plugins
from dbdyno.setters.setter import Setter


@cache
def setters() -> Mapping[str, Setter]:
    """All setters, by their names in study files."""
    by_name: dict[str, Setter] = {}
    for _, setter in plugins(dbdyno.setters, "SETTER"):
        assert setter.name not in by_name, f"two setters are called `{setter.name}`"
        by_name[setter.name] = setter
    return by_name


def find_setter(name: str) -> Setter:
    """The setter that a study names.

    # Errors
    `UsageError` names the nearest and all others.
    """
    known = setters()
    if name not in known:
        raise unknown_name(f"there is no setter `{name}` for `host`", name, known)
    return known[name]
