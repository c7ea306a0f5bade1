"""Figures of running studies, in Prometheus's text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dbdyno.serve.plan import number_of, text_of
from dbdyno.serve.watching import StudyWatch

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

PREFIX = "dbdyno_"
GAUGES = {
    "share_done": "How much of the study is done, from 0 to 1.",
    "left_seconds_low": "Seconds until the study ends, at least.",
    "left_seconds_high": "Seconds until the study ends, at most.",
    "events_per_second": "Events in the newest interval under load.",
    "errors_per_second": "Errors in the newest interval under load.",
    "response_seconds": "Response time in the newest interval under load, by quantile.",
    "sampled": "The newest value of each panel; the unit is a label.",
}
"""Metric, without the prefix of all → what it is."""


def exposition(watches: Iterable[StudyWatch]) -> str:
    """All figures of these studies."""
    samples: dict[str, list[str]] = {name: [] for name in GAUGES}
    for watch in watches:
        for name, labels, value in _samples(watch):
            samples[name].append(f"{PREFIX}{name}{_labels(labels)} {value!r}")
    text: list[str] = []
    for name, words in GAUGES.items():
        if samples[name]:
            text += [
                f"# HELP {PREFIX}{name} {words}",
                f"# TYPE {PREFIX}{name} gauge",
                *samples[name],
            ]
    return "".join(f"{line}\n" for line in text)


def _samples(watch: StudyWatch) -> Iterator[tuple[str, Mapping[str, str], float]]:
    study = {"study": watch.name}
    progress = watch.progress()
    if "share" in progress:
        yield "share_done", study, number_of(progress["share"])
        left_s = progress["left_s"]
        assert isinstance(left_s, Sequence), "both ends of a range"
        for name, value in zip(("low", "high"), left_s, strict=True):
            yield f"left_seconds_{name}", study, number_of(value)
    now = watch.now
    if now:
        cell = {**study, "cell": text_of(now.get("cell"))}
        yield "events_per_second", cell, number_of(now.get("events_per_s"))
        yield "errors_per_second", cell, number_of(now.get("errors_per_s"))
        for rank, name in (("0.5", "p50_ms"), ("0.95", "p95_ms"), ("0.99", "p99_ms")):
            if name in now:
                value = number_of(now[name]) / 1000
                yield "response_seconds", {**cell, "quantile": rank}, value
    for (panel, whose), points in watch.lines.points.items():
        labels = {"panel": panel, "of": whose, "unit": watch.lines.panels[panel].unit}
        yield "sampled", {**study, **labels}, points[-1][1]


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
