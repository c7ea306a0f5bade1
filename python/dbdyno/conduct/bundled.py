"""The bundled studies: their files, and what each asks."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

SUFFIX = ".toml"
BUNDLED = (Path(__file__).resolve().parent.parent / "studies").resolve()
"""The folder they are in."""


def bundled_studies() -> Mapping[str, Path]:
    """Name → file of the bundled studies."""
    files = {file.stem: file for file in BUNDLED.glob(f"*{SUFFIX}")}
    return dict(sorted(files.items()))


def bundled_questions() -> Mapping[str, str]:
    """Name → question, without reading the rest: the bundled files are checked by tests."""
    return {name: _question(file) for name, file in bundled_studies().items()}


def _question(file: Path) -> str:
    return str(tomllib.loads(file.read_text("utf-8")).get("question", ""))
