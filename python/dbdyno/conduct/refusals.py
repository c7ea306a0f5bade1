"""Cells that are refused again and again with the same words: they are not tried a third time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.conduct.ending import error_of
from dbdyno.design.cells import LevelsKey, levels_key
from dbdyno.errors import LabError, ScriptError, StatementError
from dbdyno.model import PlannedRun, RunManifest

_OFTEN = 2
"""Refusals after which a cell is given up until it is asked for again (`dbdyno resume`)."""
_OF_A_RUN = re.compile(r"(?:/[^\s/:`'\"]+)+|\d+")
"""What differs between two tellings of the same: paths and numbers."""
_NOT_TRIED = "not tried again"
_ANSWERS = (ScriptError.__name__, StatementError.__name__)


class Refusals:
    """What the runs of this call were refused with."""

    def __init__(self) -> None:
        self._met: dict[LevelsKey, list[RunManifest]] = {}

    def see(self, manifests: Iterable[RunManifest]) -> None:
        """Takes note of how runs ended that were tried."""
        for manifest in manifests:
            if manifest.error is not None and manifest.error.message.startswith(_NOT_TRIED):
                continue
            self._met.setdefault(levels_key(manifest.cell), []).append(manifest)

    def hopeless(self, runs: Sequence[PlannedRun]) -> Mapping[str, LabError]:
        """Run → why it is not worth trying: its cell was refused twice, in the same words."""
        found = {run.id: self._why_not(run) for run in runs}
        return {name: error for name, error in found.items() if error is not None}

    def _why_not(self, run: PlannedRun) -> LabError | None:
        last = self._met.get(levels_key(run.cell.levels), [])[-_OFTEN:]
        if len(last) < _OFTEN or not all(map(_is_refused, last)):
            return None
        failure = last[0].error
        assert failure is not None, "a refused run has an error"
        if len({_words(run) for run in last}) > 1:
            return None
        named = " and ".join(run.id for run in last)
        message = f"{_NOT_TRIED}: {named} were refused in the same words: {failure.message}"
        return error_of(failure, message=message)


def _is_refused(manifest: RunManifest) -> bool:
    """Whether it failed as it would again: before any load, or by an answer to a script. A server
    that dies under load may stay alive the next time."""
    failure = manifest.error
    if failure is None or manifest.status != "failed" or failure.exit_code == LabError.exit_code:
        return False
    loaded = any(phase.name.startswith("step") for phase in manifest.phases)
    return failure.kind in _ANSWERS or not loaded


def _words(manifest: RunManifest) -> str:
    assert manifest.error is not None, "a refused run has an error"
    return _OF_A_RUN.sub("#", manifest.error.message)
