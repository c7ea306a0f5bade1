"""Finds the parts of a room by its modules: a new file is a new part, and no list names it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any


def plugins(package: ModuleType, name: str, *, within: str = "") -> Iterator[tuple[str, Any]]:
    """Module name and value of each module of `package` that has a global called `name`, such as
    `SETTER`. If parts are folders, it is in their module `within`."""
    for module in pkgutil.iter_modules(package.__path__):
        path = ".".join(filter(None, (package.__name__, module.name, within)))
        plugin = getattr(importlib.import_module(path), name, None)
        if plugin is not None:
            yield module.name, plugin
