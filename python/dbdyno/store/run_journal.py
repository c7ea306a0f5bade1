"""The journal of a run: what is known of it is in a file within a second, long before the run ends.

The engine's records have a file of their own; the journal has the rest: head, phases, turns, steps
and samples. Samples of the host belong to all runs of a batch: they are written once, to a file
that is linked into each run's folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from dbdyno.formats.adapters import adapter
from dbdyno.model import (
    HistogramRecord,
    Metric,
    PhaseSpan,
    RunManifest,
    Sample,
    StepResult,
    StepSummary,
    TurnResult,
)
from dbdyno.store.journal import Entry, Journal, read_journal, require_number
from dbdyno.store.places import HOST_JOURNAL, JOURNAL


@dataclass(frozen=True, slots=True)
class Distribution:
    """How long the events of a step took, if the step has no intervals from the engine."""

    step: int
    record: HistogramRecord
    start_unix_s: float
    length_s: float


@dataclass(frozen=True, slots=True)
class EngineCall:
    """A call of the engine, in the order of its stream."""

    step: int | None
    """The step whose series it is; `None`: it loaded tables, or was a probe that was not chosen."""
    start_unix_ns: int


class SampleJournal:
    """A journal of samples and of the metrics they are of."""

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)

    def metrics(self, known: Mapping[str, Sequence[Metric]]) -> None:
        """Notes the metrics of each source."""
        for source, metrics in known.items():
            self._journal.add({"metrics": source, "are": [asdict(metric) for metric in metrics]})

    def samples(self, samples: Sequence[Sample]) -> None:
        """Notes the samples of one source at one instant."""
        if samples:
            first = samples[0]
            values = [[sample.metric, sample.instance, sample.value] for sample in samples]
            entry = {"samples": first.source, "at": first.unix_ns, "values": values}
            self._journal.add(entry)

    def close(self) -> None:
        """May be called again."""
        self._journal.close()


class RunJournal(SampleJournal):
    """A journal of samples and of everything else that is known of a run."""

    def head(self, manifest: RunManifest, facts: Mapping[str, object]) -> None:
        """Notes what the manifest would be if the run ended now; again once more is known."""
        self._add("head", manifest, {"facts": facts})

    def phase(self, name: str, start_unix_s: float, end_unix_s: float | None = None) -> None:
        """Notes that a phase has begun, or with `end_unix_s` that it has ended."""
        self._journal.add({"phase": name, "start": start_unix_s, "end": end_unix_s})

    def call(self, step: int | None, start_unix_ns: int) -> None:
        """Notes that the engine has begun a call."""
        self._journal.add({"call": step, "start": start_unix_ns})

    def chosen(self, step: int, start_unix_ns: int) -> None:
        """Notes that the call begun at `start_unix_ns` gives the step its series."""
        self._journal.add({"chosen": step, "start": start_unix_ns})

    def step(self, result: StepResult, summary: StepSummary | None) -> None:
        """Notes a step that has ended, and its figures if it has any."""
        figures = (
            None if summary is None else adapter(StepSummary).dump_python(summary, mode="json")
        )
        self._add("step", result, {"summary": figures})

    def turn(self, turn: TurnResult) -> None:
        """Notes a turn that has ended."""
        self._add("turn", turn)

    def fault(self, text: str, unix_ns: int) -> None:
        """Notes that a fault has begun, or that it is over."""
        self._journal.add({"fault": text, "at": unix_ns})

    def distribution(self, distribution: Distribution) -> None:
        """Notes how long a step's events took."""
        self._add("distribution", distribution)

    def _add(self, kind: str, value: object, more: Mapping[str, object] | None = None) -> None:
        shape = adapter(type(value)).dump_python(value, mode="json")
        self._journal.add({kind: shape, **(more or {})})


def share_host_journal(folders: Sequence[Path]) -> SampleJournal:
    """Creates the host's journal in the first folder, and links it into the others if the file
    system has links."""
    first, *others = (folder / HOST_JOURNAL for folder in folders)
    journal = SampleJournal(first)
    for path in others:
        with suppress(OSError):
            os.link(first, path)
    return journal


@dataclass(slots=True)
class Journalled:
    """What the journals of a run hold; malformed entries are left out."""

    manifest: RunManifest | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    phases: dict[tuple[str, float], float | None] = field(default_factory=dict)
    """Name and beginning → end, in order; `None`: it has not ended."""
    calls: list[EngineCall] = field(default_factory=list)
    steps: list[StepResult] = field(default_factory=list)
    summaries: list[StepSummary] = field(default_factory=list)
    turns: list[TurnResult] = field(default_factory=list)
    distributions: list[Distribution] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    metrics: dict[str, tuple[Metric, ...]] = field(default_factory=dict)
    last_unix_s: float = 0.0
    """The latest time in any entry, in seconds since 1970."""

    def take(self, entries: Iterable[Entry]) -> None:
        """Adds the contents of entries."""
        for entry in entries:
            with suppress(ValidationError, TypeError, ValueError, KeyError, OverflowError):
                self._take(entry)

    def spans(self, until_unix_s: float) -> tuple[PhaseSpan, ...]:
        """The phases in the order of their ends; one that has not ended ends at `until_unix_s`."""
        spans = [
            PhaseSpan(name, start, max(start, until_unix_s) if end is None else end)
            for (name, start), end in self.phases.items()
        ]
        return tuple(sorted(spans, key=lambda span: span.end_unix_s))

    def _take(self, entry: Entry) -> None:
        kind = next(iter(entry))
        value = entry[kind]
        match kind:
            case "head":
                self.manifest = adapter(RunManifest).validate_python(value)
                self.facts = cast("Mapping[str, object]", entry["facts"])
                self._seen(self.manifest.started_unix_s)
            case "phase":
                self._phase(str(value), require_number(entry["start"]), entry["end"])
            case "call":
                step = None if value is None else int(require_number(value))
                self.calls.append(EngineCall(step, int(require_number(entry["start"]))))
            case "chosen":
                self._choose(int(require_number(value)), int(require_number(entry["start"])))
            case "step":
                self.steps.append(adapter(StepResult).validate_python(value))
                if entry["summary"] is not None:
                    self.summaries.append(adapter(StepSummary).validate_python(entry["summary"]))
            case "turn":
                self.turns.append(adapter(TurnResult).validate_python(value))
                self._seen(self.turns[-1].drained_unix_ns / 1e9)
            case "distribution":
                self.distributions.append(adapter(Distribution).validate_python(value))
            case "metrics":
                self.metrics[str(value)] = adapter(tuple[Metric, ...]).validate_python(entry["are"])
            case "samples":
                self._samples(str(value), int(require_number(entry["at"])), entry["values"])
            case _:
                pass  # An entry of a later version.

    def _phase(self, name: str, start_unix_s: float, end: object) -> None:
        end_unix_s = None if end is None else require_number(end)
        self.phases[name, start_unix_s] = end_unix_s
        self._seen(start_unix_s if end_unix_s is None else end_unix_s)

    def _choose(self, step: int, start_unix_ns: int) -> None:
        for place, call in enumerate(self.calls):
            if call.start_unix_ns == start_unix_ns:
                self.calls[place] = EngineCall(step, start_unix_ns)

    def _samples(self, source: str, unix_ns: int, values: object) -> None:
        rows = cast("Sequence[tuple[str, str, float]]", values)
        self.samples += [
            Sample(unix_ns, source, str(metric), str(instance), float(value))
            for metric, instance, value in rows
        ]
        self._seen(unix_ns / 1e9)

    def _seen(self, unix_s: float) -> None:
        self.last_unix_s = max(self.last_unix_s, unix_s)


def journalled(folder: Path) -> Journalled:
    """Reads the journals in a run's folder."""
    read = Journalled()
    for name in (JOURNAL, HOST_JOURNAL):
        read.take(read_journal(folder / name))
    return read
