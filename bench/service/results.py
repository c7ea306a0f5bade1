"""results.json: the machine, and every round's figures of every cell."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench.service.cells import Cell
from bench.service.judge import Round
from dbdyno.errors import UsageError

_NAME = "results.json"
_SAME = ("environment", "engine", "server", "statements")
"""Facts that all rounds share."""


@dataclass(frozen=True, slots=True)
class Results:
    """Rounds of one machine; a cell has one figure each a round."""

    facts: Mapping[str, Any]
    """`host`, `environment`, `engine`, `server`, `statements`."""
    started: Sequence[str]
    """UTC, ISO 8601: each round's beginning."""
    rounds: Mapping[Cell, Sequence[Round]]

    def then(self, later: "Results") -> "Results":
        """The same with more rounds.

        # Errors
        `UsageError` where these were measured elsewhere.
        """
        strange = [name for name in _SAME if self.facts.get(name) != later.facts[name]]
        if strange:
            raise UsageError(
                f"the rounds so far have another {', '.join(strange)}",
                hint="measure anew: `python -m bench.service`",
            )
        rounds = {cell: [*self.rounds[cell], *more] for cell, more in later.rounds.items()}
        return replace(self, started=[*self.started, *later.started], rounds=rounds)


def read_results(folder: Path) -> Results:
    """What was measured.

    # Errors
    `UsageError` without a file.
    """
    path = folder / _NAME
    if not path.exists():
        raise UsageError(f"there is no {path}", hint="measure first: `python -m bench.service`")
    document = json.loads(path.read_text())
    rounds = {Cell(**one["cell"]): one["rounds"] for one in document["cells"]}
    return Results(document["facts"], document["started"], rounds)


def write_results(folder: Path, results: Results) -> None:
    """Writes the file."""
    cells = [
        {"cell": asdict(cell), "rounds": [_rounded(one) for one in rounds]}
        for cell, rounds in results.rounds.items()
    ]
    document = {"facts": results.facts, "started": results.started, "cells": cells}
    (folder / _NAME).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")


def _rounded(one: Round) -> Round:
    """To nanoseconds."""
    return {name: round(value, 3) for name, value in one.items()}
