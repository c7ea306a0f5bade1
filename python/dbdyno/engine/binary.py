"""Finds the engine's binary and checks its version."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from dbdyno import __version__
from dbdyno.errors import EngineError
from dbdyno.formats.record_schema import SCHEMA

NAME = "dbdyno-engine"
VARIABLE = "DBDYNO_ENGINE"

_VERSION_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Engine:
    """A binary with the same version as the lab."""

    path: Path
    version: str
    embedded: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Kinds of databases that are part of it, with their versions."""


def find_engine() -> Engine:
    """The first engine of the places below, its version checked.

    `$DBDYNO_ENGINE`; the folders of this Python's scripts; a source checkout's `target/release`,
    then `target/debug`; the `PATH`. Raises `EngineError` listing every place tried.
    """
    tried: list[str] = []
    for place, path in _places():
        tried.append(f"{path} ({place})")
        if path.is_file() and os.access(path, os.X_OK):
            return _checked(path, path.stat().st_mtime_ns)
        if place == f"${VARIABLE}":
            break
    listing = "\n".join(f"  {line}" for line in tried)
    raise EngineError(
        f"there is no {NAME}; tried\n{listing}",
        hint=f"`make setup` builds it in a checkout; or set {VARIABLE} to its path",
    )


def _places() -> Iterator[tuple[str, Path]]:
    named = os.environ.get(VARIABLE)
    if named:
        yield f"${VARIABLE}", Path(named)
    scripts = (Path(sys.executable).parent, Path(sysconfig.get_path("scripts")))
    for folder in dict.fromkeys(scripts):
        yield "beside this Python", folder / NAME
    for folder in Path(__file__).resolve().parents:
        if (folder / "Cargo.toml").is_file():
            target = Path(os.environ.get("CARGO_TARGET_DIR", folder / "target"))
            yield "built in the checkout", target / "release" / NAME
            yield "built in the checkout, unoptimised", target / "debug" / NAME
            break
    on_path = shutil.which(NAME)
    yield "on the PATH", Path(on_path) if on_path else Path(NAME)


@cache
def _checked(path: Path, _modified_ns: int) -> Engine:
    """Asked once, until the file changes."""
    try:
        answer = subprocess.run(
            [path, "version"], capture_output=True, timeout=_VERSION_TIMEOUT_S, check=True
        )
        document = json.loads(answer.stdout)
        version, schema = str(document["engine_version"]), document["schema"]
        embedded = dict(document.get("embedded", {}))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise EngineError(f"{path} does not report its version: {error}") from error
    if (version, schema) != (__version__, SCHEMA):
        raise EngineError(
            f"{path} is version {version} with record schema {schema}; "
            f"this lab is version {__version__} with schema {SCHEMA}",
            hint="`make setup` builds the matching one in a checkout",
        )
    return Engine(path, version, embedded)
