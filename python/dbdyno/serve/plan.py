"""A study's question and plan, read leniently: the list shows damaged studies, too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dbdyno.formats.left_out import NAME as LEFT_OUT
from dbdyno.model.study import BY_URL
from dbdyno.serve.inside import Inside

Json = Mapping[str, object]

_LARGEST = 1e300
_LONGEST_TAG, _MOST_TAGS = 40, 8
LONGEST = 2000
"""Characters of a text that is shown."""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """One run of the plan."""

    run: str
    cell: str
    block: int
    clients: tuple[int, ...]
    """Of each step, in order."""
    is_left_out: bool = False
    """The machine lacks what the cell needs: the run will not be carried out."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A study's question and plan."""

    question: str
    source: str
    scale: str
    metric: str
    runs: tuple[PlannedCell, ...]
    factors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Kinds of its servers, its figure, its scale."""

    @property
    def needed(self) -> set[str]:
        """Names of the runs that a complete study has."""
        return {run.run for run in self.runs if not run.is_left_out}

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of their first runs."""
        return tuple(dict.fromkeys(run.cell for run in self.runs))

    @property
    def blocks(self) -> tuple[int, ...]:
        """Numbers of the blocks, ascending."""
        return tuple(sorted({run.block for run in self.runs}))


NOTHING = Declaration("", "", "", "", ())


def read_json(inside: Inside, *parts: str) -> Json:
    """The JSON object of a file; empty for anything else."""
    with suppress(OSError, ValueError, RecursionError):
        document = json.loads(inside.read(*parts))
        if isinstance(document, dict):
            return document
    return {}


def declaration(inside: Inside, study: str) -> Declaration:
    """What `study.json` declares; fields that are missing or malformed are empty."""
    document = read_json(inside, study, "study.json")
    declared, plan = _object(document.get("study")), _object(document.get("plan") or document)
    primary = _object(declared.get("primary"))
    left_out = list_of(read_json(inside, study, LEFT_OUT).get("cells"))
    return Declaration(
        question=text_of(declared.get("question")),
        source=text_of(declared.get("source")),
        scale=text_of(plan.get("scale")),
        metric=text_of(primary.get("metric")) or "throughput",
        tags=_tags(declared, text_of(primary.get("metric")), text_of(plan.get("scale"))),
        runs=tuple(_runs(plan.get("runs"), [_object(cell).get("levels") for cell in left_out])),
    )


def _tags(declared: Json, metric: str, scale: str) -> tuple[str, ...]:
    kinds = [
        text_of(_object(level).get("provision")).removeprefix(BY_URL).partition(":")[0]
        for factor in list_of(declared.get("factors"))
        for level in list_of(_object(factor).get("levels"))
    ]
    words = (word[:_LONGEST_TAG] for word in (*kinds, metric, scale) if word)
    return tuple(dict.fromkeys(words))[:_MOST_TAGS]


def text_of(value: object) -> str:
    """The value if it is a text, cut to `LONGEST`; otherwise an empty text."""
    return value[:LONGEST] if isinstance(value, str) else ""


def number_of(value: object) -> float:
    """The value if it is a number below `_LARGEST` in size; otherwise 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return value if abs(value) < _LARGEST else 0.0


def _runs(value: object, left_out: Sequence[object]) -> Iterator[PlannedCell]:
    for run in value if isinstance(value, list) else ():
        name, steps = text_of(_object(run).get("id")), _object(run).get("steps")
        if not name:
            continue
        clients = [
            int(number_of(_object(step).get("clients")))
            for step in (steps if isinstance(steps, list) else ())
        ]
        cell = name.partition("-")[2].replace(",", ", ") or name
        block = int(number_of(_object(run).get("block")))
        levels = _object(_object(run).get("cell")).get("levels")
        is_left_out = isinstance(levels, dict) and levels in left_out
        yield PlannedCell(name, cell, block, tuple(clients), is_left_out)


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> Sequence[object]:
    """The value if it is a list; otherwise an empty list."""
    return value if isinstance(value, list) else ()
