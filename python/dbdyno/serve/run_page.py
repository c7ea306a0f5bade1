"""A run that has ended, with everything that is stored of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dbdyno.model import Metric, Note
from dbdyno.serve.inside import Inside
from dbdyno.serve.plan import Json, declaration, list_of, number_of, read_json, text_of
from dbdyno.serve.seconds import known_metrics
from dbdyno.serve.stored import flat
from dbdyno.serve.tails import JournalTail
from dbdyno.store.places import ATTEMPT, NOTES
from dbdyno.store.study_journal import note_of

LOGS = "logs"
MOST_OF_A_LOG = 200_000
"""Bytes of a log that are shown, from its end."""
_HEAD = ("provision", "script", "options", "settings", "host", "connection", "proxy", "topology")
_LONG = ("phases", "steps", "server", "collected", "loads")


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a run, in seconds since the run began."""

    name: str
    start_s: float
    length_s: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What a step, or one of its operations, did; times in ms."""

    clients: int
    what: str
    """The label of an operation; empty: all events."""
    per_s: float
    errors: str
    """Codes and how often."""
    times_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RunPage:
    """Everything of a run that its page shows."""

    study: str
    run: str
    cell: str
    status: str
    error: str
    phases: tuple[Phase, ...]
    figures: tuple[Figures, ...]
    declared: Mapping[str, str]
    settings: Mapping[str, str]
    """The server's effective ones."""
    facts: Mapping[str, str]
    logs: tuple[tuple[str, int], ...]
    """Names and sizes in bytes."""
    metrics: Mapping[str, Metric]
    notes: tuple[Note, ...]
    """Those that somebody added while it ran."""


def run_page(inside: Inside, study: str, run: str) -> RunPage | None:
    """The page of a run's folder; `None` if it holds no manifest."""
    manifest = read_json(inside, study, "runs", run, "manifest.json")
    if not manifest:
        return None
    name = run.partition(ATTEMPT)[0]
    cells = (planned.cell for planned in declaration(inside, study).runs if planned.run == name)
    error = manifest.get("error")
    return RunPage(
        study=study,
        run=run,
        cell=next(cells, name),
        status=text_of(manifest.get("status")),
        error=text_of(error.get("message")) if isinstance(error, dict) else "",
        phases=tuple(_phases(manifest)),
        figures=tuple(_figures(inside, study, run)),
        declared=flat({key: manifest.get(key) for key in _HEAD}),
        settings=flat(dict(read_json(inside, study, "runs", run, "settings.json"))),
        facts=flat(
            {
                **read_json(inside, study, "runs", run, "facts.json"),
                **{key: manifest.get(key) for key in _LONG},
            }
        ),
        logs=tuple(_logs(inside, study, run)),
        metrics=known_metrics(inside, (study, run)),
        notes=tuple(notes_within(inside, study, run)),
    )


def notes_within(inside: Inside, study: str, run: str) -> Iterator[Note]:
    """Notes of the study that were added while the run lasted."""
    manifest = read_json(inside, study, "runs", run, "manifest.json")
    began, ended = (number_of(manifest.get(f"{edge}_unix_s")) for edge in ("started", "ended"))
    for entry in JournalTail(inside, study, NOTES).fresh()[0]:
        note = note_of(entry)
        if note is not None and began <= note.unix_ns / 1e9 <= ended:
            yield note


def log_tail(inside: Inside, study: str, run: str, name: str) -> bytes:
    """The end of a log. Raises `OSError` if it can't be read."""
    size = inside.state(study, "runs", run, LOGS, name).st_size
    start = max(0, size - MOST_OF_A_LOG)
    return inside.read(study, "runs", run, LOGS, name, start=start, most=MOST_OF_A_LOG)


def _phases(manifest: Json) -> Iterator[Phase]:
    began = number_of(manifest.get("started_unix_s"))
    for span in list_of(manifest.get("phases")):
        if isinstance(span, dict):
            start, end = (number_of(span.get(key)) for key in ("start_unix_s", "end_unix_s"))
            yield Phase(text_of(span.get("name")), max(0.0, start - began), max(0.0, end - start))


def _figures(inside: Inside, study: str, run: str) -> Iterator[Figures]:
    for step in list_of(_summaries(inside, study, run)):
        if not isinstance(step, dict):
            continue
        clients, window_s = int(number_of(step.get("clients"))), number_of(step.get("window_s"))
        codes = step.get("errors_by_code")
        errors = ", ".join(f"{code} × {count}" for code, count in codes.items()) if codes else "0"
        rate = number_of(step.get("events_per_s"))
        yield Figures(clients, "", rate, errors, _times_ms(step.get("latency_us")))
        counts, times = step.get("events_by_label"), step.get("latency_by_label_us")
        if isinstance(counts, dict) and isinstance(times, dict) and window_s > 0:
            for label, count in counts.items() if len(counts) > 1 else ():
                per_s = number_of(count) / window_s
                yield Figures(clients, text_of(label), per_s, "", _times_ms(times.get(label)))


def _summaries(inside: Inside, study: str, run: str) -> object:
    try:
        return json.loads(inside.read(study, "runs", run, "summary.json"))
    except (OSError, ValueError, RecursionError):
        return ()


def _times_ms(value: object) -> Mapping[str, float]:
    times = value if isinstance(value, dict) else {}
    return {
        name: number_of(times[name]) / 1000
        for name in ("p50", "p95", "p99", "p99.9", "max")
        if times.get(name) is not None
    }


def _logs(inside: Inside, study: str, run: str) -> Iterator[tuple[str, int]]:
    try:
        states = inside.states(study, "runs", run, LOGS)
    except OSError:
        return
    for name in sorted(states):
        if not name.endswith((".gz", ".zst")):
            yield name, states[name].st_size
