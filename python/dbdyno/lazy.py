"""Public names of a room that are imported when somebody asks for them.

A verb that only lists or explains then pays for no driver, no Arrow and no statistics. A name that
is also the name of a file of its room can't be had so: Python puts the module in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def on_demand(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """A module's `__getattr__`: `places` maps each public name to the file it is in."""
    clash = places.keys() & set(places.values())
    assert not clash, f"names of files can't be found on demand: {clash}"

    def find(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return find
