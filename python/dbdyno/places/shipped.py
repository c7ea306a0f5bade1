"""What is shipped to load hosts: the engine, scripts, and what starts programs there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import dbdyno
from dbdyno.errors import UsageError

ENGINE = "bin/dbdyno-engine"
"""Below the shipped folder, as everything here."""

_MODULES = ("__init__.py", "errors.py", "lazy.py")
_ROOMS = ("guard", "places")
_FILES = "files"
_SCRIPT = ".lua"
_DEPTH = 3
_MOST_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class Shipped:
    """A folder that Ray copies to every host."""

    folder: Path
    places: dict[str, str]
    """Path on this machine → below the shipped folder."""

    def below(self, root: str, path: str) -> str:
        """Where a path of this machine lies on a host that has the folder as `root`; the same path
        if it was not shipped."""
        for place in (Path(path), *Path(path).parents):
            if (shipped := self.places.get(str(place))) is not None:
                return str(Path(root, shipped, Path(path).relative_to(place)))
        return path


def ship(folder: Path, engine: Path, scripts: Iterable[Path], folders: Iterable[Path]) -> Shipped:
    """Copies the engine, each script, and of each folder the scripts in it and three levels below.

    Raises `UsageError` if that is more than 50 MB.
    """
    places: dict[str, str] = {}
    copy(engine, folder / ENGINE)
    package = Path(dbdyno.__file__).parent
    for name in _MODULES:
        copy(package / name, folder / "dbdyno" / name)
    for room in _ROOMS:
        for module in (package / room).glob("*.py"):
            copy(module, folder / "dbdyno" / room / module.name)
    size = 0
    for number, source in enumerate(dict.fromkeys(folders)):
        places[str(source)] = f"{_FILES}/{number}"
        (folder / _FILES / str(number)).mkdir(parents=True, exist_ok=True)
        for script in _scripts(source):
            size += script.stat().st_size
            if size > _MOST_BYTES:
                raise UsageError(
                    f"the scripts in {source} and below are more than {_MOST_BYTES:,} bytes: too "
                    "many to be copied to every load host",
                    hint="move the study and its scripts to a folder of their own",
                )
            copy(script, folder / _FILES / str(number) / script.relative_to(source))
    for number, script in enumerate(dict.fromkeys(scripts)):
        shipped = f"{_FILES}/single-{number}/{script.name}"
        copy(script, folder / shipped)
        places[str(script)] = shipped
    return Shipped(folder, places)


def copy(source: Path, to: Path) -> None:
    """With its rights; its folder is made."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, to)


def _scripts(folder: Path) -> Iterable[Path]:
    for place, folders, files in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if depth < _DEPTH and name[0] != ".")
        yield from (Path(place, name) for name in sorted(files) if name.endswith(_SCRIPT))
