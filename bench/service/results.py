"""results.json: the machine, and every round's figures of every cell that the page prints."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench.compact import Wanted, document_text, part_of, rounded
from bench.service.cells import Cell
from bench.service.judge import Round
from dbdyno.errors import UsageError

_NAME = "results.json"
_SAME = ("environment", "engine", "server", "statements")
"""Facts that all rounds share."""
_FACTS: Wanted = {
    "host": {"processor": {"model": True, "threads": True}, "kernel": {"release": True}},
    **dict.fromkeys(_SAME, True),
}
_FIGURES = (
    "statements_per_s",
    "service_us",
    "proxy_us",
    "sending_least_us",
    "sending_most_us",
    "way_us",
    "reply_us",
    "unread_us",
    "queued_us",
)
"""What the page prints."""


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
    rounds = {
        Cell(**row["cell"]): [
            dict(zip(document["figures"], values, strict=True)) for values in row["rounds"]
        ]
        for row in document["cells"]
    }
    return Results(document["facts"], document["started"], rounds)


def write_results(folder: Path, results: Results) -> None:
    """Writes the file."""
    document = {
        "facts": part_of(results.facts, _FACTS),
        "started": results.started,
        "figures": _FIGURES,
        "cells": [
            {
                "cell": asdict(cell),
                "rounds": [[rounded(figures[name]) for name in _FIGURES] for figures in rounds],
            }
            for cell, rounds in results.rounds.items()
        ],
    }
    (folder / _NAME).write_text(document_text(document, ("cells",)))
