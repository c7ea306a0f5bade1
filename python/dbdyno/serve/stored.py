"""What a store says of a study that has been measured: its answer's figures, and what it was made
of. Everything is read leniently: somebody else may have made the store."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dbdyno.serve.inside import Inside
from dbdyno.serve.plan import Json, list_of, number_of, read_json, text_of
from dbdyno.store.places import ANSWER, ATTEMPT, PARTIAL

_NOT_COMPARED = frozenset(
    {
        *("name", "question", "answer", "leads", "charts", "text", "scales", "source"),
        *("published", "published_note", "author", "licence"),
    }
)
"""Keys of a study that change nothing that is measured."""
_MOST_KEYS = 2000
_DEEPEST = 12
MOST_ROWS = 500
"""Rows of a table that are read."""
_NAME = "name"


@dataclass(frozen=True, slots=True)
class Mean:
    """The primary figure of a cell at a load; its 95 % interval is `None` for one block."""

    cell: str
    clients: int
    value: float
    interval: tuple[float, float] | None
    text: str


@dataclass(frozen=True, slots=True)
class Effect:
    """A cell's ratio to its baseline, with the verdict of the report."""

    cell: str
    clients: int
    baseline: str
    ends: tuple[float, float, float]
    """Low end of the 95 % interval, ratio, high end."""
    verdict: str


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What the last report or block says."""

    text: str
    figure: str
    unit: str
    means: tuple[Mean, ...]
    effects: tuple[Effect, ...]


def stored_answer(inside: Inside, study: str) -> StoredAnswer:
    """The answer in the study's folder. Versions before kept none: then the effects are those of
    the report's table, and there are no means."""
    document = read_json(inside, study, ANSWER)
    entries = [entry for entry in list_of(document.get("effects")) if isinstance(entry, dict)]
    effects = tuple(_effects(entries[:MOST_ROWS]))
    if not document:
        effects = tuple(_effects(_rows_of_report(inside, study)))
    return StoredAnswer(
        text=text_of(document.get("text")),
        figure=text_of(document.get("figure")),
        unit=text_of(document.get("unit")),
        means=tuple(_means(list_of(document.get("means"))[:MOST_ROWS])),
        effects=effects,
    )


def made_of(inside: Inside, study: str) -> Mapping[str, str]:
    """What can differ between two studies: place → value. The study's own keys, then the machine
    and the programs of its first run."""
    document = read_json(inside, study, "study.json")
    declared, plan = document.get("study"), document.get("plan")
    facts: dict[str, str] = {}
    if isinstance(declared, dict):
        kept = {key: value for key, value in declared.items() if key not in _NOT_COMPARED}
        facts.update(flat(kept, ()))
    if isinstance(plan, dict):
        facts.update(flat({key: plan.get(key) for key in ("scale", "seed")}, ("plan",)))
    run = first_run(inside, study)
    if run:
        manifest = read_json(inside, study, "runs", run, "manifest.json")
        facts.update(flat({"versions": manifest.get("versions")}, ()))
        host = read_json(inside, study, "runs", run, "facts.json").get("host")
        groups = ("processor", "memory", "kernel", "virtualisation")
        if isinstance(host, dict):
            facts.update(flat({name: host.get(name) for name in groups}, ("host",)))
    return facts


def first_run(inside: Inside, study: str) -> str:
    """Folder of the first run by name; empty if there is none."""
    folders = [name for name in inside.folders(study, "runs") if not name.endswith(PARTIAL)]
    return min(folders, default="", key=lambda name: (name.partition(ATTEMPT)[0], name))


def _means(entries: Sequence[object]) -> Iterator[Mean]:
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        low, high = entry.get("low"), entry.get("high")
        interval = None if low is None or high is None else (number_of(low), number_of(high))
        yield Mean(
            cell=text_of(entry.get("cell")),
            clients=int(number_of(entry.get("clients"))),
            value=number_of(entry.get("value")),
            interval=interval,
            text=text_of(entry.get("text")),
        )


def _effects(entries: Sequence[Json]) -> Iterator[Effect]:
    for entry in entries:
        low, ratio, high = (number_of(entry.get(name)) for name in ("low", "ratio", "high"))
        if 0 < low <= ratio <= high:
            yield Effect(
                cell=text_of(entry.get("cell")),
                clients=int(number_of(entry.get("clients"))),
                baseline=text_of(entry.get("baseline")),
                ends=(low, ratio, high),
                verdict=text_of(entry.get("verdict")),
            )


def _rows_of_report(inside: Inside, study: str) -> list[Json]:
    """The comparisons that a report has written beside its page."""
    renamed = {"ratio_95_low": "low", "ratio_95_high": "high"}
    numbers = ("ratio", "low", "high", "clients")
    rows: list[Json] = []
    with suppress(OSError, UnicodeDecodeError, csv.Error):
        text = inside.read(study, "report", "comparisons.csv").decode()
        for row, _ in zip(csv.DictReader(io.StringIO(text)), range(MOST_ROWS), strict=False):
            named: dict[str, object] = {renamed.get(key, key): row[key] for key in row if key}
            rows.append({**named, **{name: _number(named.get(name)) for name in numbers}})
    return rows


def _number(value: object) -> float:
    with suppress(TypeError, ValueError):
        return float(value)  # type: ignore[arg-type]
    return 0.0


def flat(document: object, place: tuple[str, ...] = ()) -> dict[str, str]:
    """Place → value of everything in a document; entries of a list are placed by their names."""
    flat: dict[str, str] = {}
    left: list[tuple[tuple[str, ...], object]] = [(place, document)]
    while left and len(flat) < _MOST_KEYS:
        here, value = left.pop()
        if len(here) < _DEEPEST and isinstance(value, dict):
            left += [((*here, str(key)), inner) for key, inner in reversed(value.items())]
        elif len(here) < _DEEPEST and _is_named(value):
            named = [entry for entry in list_of(value) if isinstance(entry, dict)]
            inner = [
                ((*here, text_of(entry[_NAME])), {k: v for k, v in entry.items() if k != _NAME})
                for entry in named
            ]
            left += reversed(inner)
        elif value not in (None, "", [], {}):
            text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            flat[" · ".join(here)[:200]] = text[:300]
    return flat


def _is_named(value: object) -> bool:
    """Whether it is a list of tables with names, such as factors and levels."""
    entries = list_of(value)
    return bool(entries) and all(
        isinstance(entry, dict) and isinstance(entry.get(_NAME), str) for entry in entries
    )
