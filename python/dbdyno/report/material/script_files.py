"""The files that scripts were read from; earlier versions did not note them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dbdyno.model import ScriptFile
from dbdyno.report.material.material import RunMaterial

_SHOWN = 8
"""Characters of a digest."""


def script_files(runs: Iterable[RunMaterial]) -> Mapping[str, tuple[ScriptFile, ...]]:
    """Name of a script → the different files that runs of it had, in the order of the runs."""
    files: dict[str, dict[ScriptFile, None]] = {}
    for run in runs:
        if run.manifest.script_file is not None:
            files.setdefault(run.manifest.script, {})[run.manifest.script_file] = None
    return {script: tuple(named) for script, named in files.items()}


def brief_file(file: ScriptFile) -> str:
    """Its origin and the beginning of its digest."""
    return f"{file.origin} {file.sha256[:_SHOWN]}"
