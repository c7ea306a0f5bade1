"""Whether what a study calls sampled metrics are any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dbdyno.collect.registry import all_collectors
from dbdyno.formats.study import KeyPath, StudyFile, nearest
from dbdyno.generators.registry import generators
from dbdyno.model import FIGURES, Sampled, Study


def check_metrics(loaded: StudyFile) -> None:
    """Raises `StudyError` with the line of a sampled metric that nobody samples."""
    known = _known()
    for path, name, must_be in _named(loaded.study):
        sampled = Sampled.parse(name) if name not in FIGURES else None
        if sampled is None or (sampled.source not in known and not must_be):
            continue  # of a label, or what a program tells
        if sampled.source not in known:
            message = f"nobody samples `{name}`; sources are {', '.join(known)}"
            raise loaded.error(path, message, hint=_hint(sampled.source, known))
        metrics = known[sampled.source]
        if sampled.metric not in metrics:
            message = f"`{sampled.source}` has no metric `{sampled.metric}`"
            hint = _hint(sampled.metric, metrics) or f"there are {', '.join(metrics)}"
            raise loaded.error(path, message, hint=hint)


def _hint(word: str, known: Mapping[str, object] | tuple[str, ...]) -> str | None:
    match = nearest(word, known)
    return f"did you mean `{match}`?" if match else None


def _known() -> Mapping[str, tuple[str, ...]]:
    """Source → its metrics."""
    found = {one.source: one.metrics for one in all_collectors()}
    found |= {one.name: one.metrics for one in generators().values()}
    return {source: tuple(metric.name for metric in metrics) for source, metrics in found.items()}


def _named(study: Study) -> Iterator[tuple[KeyPath, str, bool]]:
    """Where each figure is named, and whether it can only be a sampled one."""
    yield ("primary", "metric"), study.primary.metric, False
    for place, published in enumerate(study.published):
        yield ("published", str(place), "metric"), published.metric, False
    for place, chart in enumerate(study.charts):
        over_time = chart.kind == "metrics-over-time"
        for number, name in enumerate(chart.metrics):
            path: KeyPath = ("chart", str(place), "metric")
            if over_time:
                path = ("chart", str(place), "metrics", str(number))
            yield path, name, over_time
