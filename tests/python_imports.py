"""Which module of a Python package imports which other: a package's own page is a module, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def imports(package: Path) -> dict[str, set[str]]:
    """Module → the other modules of `package` it imports, wherever in it the import stands.

    A name from a package that is no module in it stands for the package's own page (`__init__.py`).
    """
    root = package.parent
    paths = {name_of(path.relative_to(root)): path for path in package.rglob("*.py")}
    return {
        name: {found for named in named_by(name, path) if (found := home(named, paths))} - {name}
        for name, path in paths.items()
    }


def name_of(path: Path) -> str:
    """The module in a file."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def named_by(name: str, path: Path) -> Iterator[str]:
    """Full names of all that the module imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            before = []
            if node.level:
                own = name.split(".") + ["__init__"] * (path.name == "__init__.py")
                before = own[: -node.level]
            place = ".".join([*before, *filter(None, [node.module])])
            yield from (f"{place}.{alias.name}" for alias in node.names)


def home(named: str, modules: dict[str, Path]) -> str | None:
    """The module that a full name is or belongs to; `None`: it is of another package."""
    return next((one for one in (named, named.rpartition(".")[0]) if one in modules), None)
