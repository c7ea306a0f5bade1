"""The sources a study asks for; checks that the sampled metrics it names exist."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from dbdyno.collect import (
    Collector,
    OwnCollector,
    Scope,
    Watched,
    collectors,
    optional_sources,
    read_own,
)
from dbdyno.collect.registry import all_collectors
from dbdyno.errors import UsageError
from dbdyno.formats.key_path import KeyPath
from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.study import StudyFile
from dbdyno.generators.generator import find_file
from dbdyno.generators.registry import generators
from dbdyno.model import FIGURES, OVER, Missing, Sampled, Study, draws_what


def own_collectors(study: Study, folders: Sequence[Path]) -> tuple[OwnCollector, ...]:
    """The collectors in files that a study names, searched like scripts.

    # Errors
    `UsageError` if a file does not exist, holds no collector, or its source name is taken.
    """
    found: list[OwnCollector] = []
    for name in study.collect:
        if not _is_file(name):
            continue
        own = read_own(name, find_file(name, folders, "collector"))
        source = own.collector.source
        if source in _known(found):
            raise UsageError(
                f"{name}: there is a source `{source}` already", hint="rename the file"
            )
        found.append(own)
    return tuple(found)


def chosen_collectors(
    scope: Scope, asked: Collection[str], own: Sequence[OwnCollector]
) -> tuple[Collector, ...]:
    """Collectors of a scope: those always used, those asked for, and the user's own."""
    files = (file.collector for file in own)
    return (*collectors(scope, asked), *(file for file in files if file.scope == scope))


def check_sources(
    loaded: StudyFile, folders: Sequence[Path], *, run_code: bool
) -> tuple[OwnCollector, ...]:
    """Raises `StudyError`, with the file's line, for an unknown source; returns those in files,
    which only executing them tells (`run_code`): without, they need only be there."""
    for name in loaded.study.collect:
        if not _is_file(name) and name not in optional_sources():
            there = ", ".join(f"`{source}`" for source in optional_sources())
            message = f"`collect`: expected {there}, or a file; found `{name}`"
            raise loaded.error(("collect",), message)
    try:
        if run_code:
            return own_collectors(loaded.study, folders)
        for name in filter(_is_file, loaded.study.collect):
            find_file(name, folders, "collector")
        return ()
    except UsageError as error:
        raise loaded.error(("collect",), error.message, hint=error.hint) from error


def missing_sources(study: Study) -> Mapping[str, Missing]:
    """Why the optional sources that a study asks for can't be read here: each is tried on this
    process in the server's place."""
    ourselves = Watched(server_pids=lambda: (os.getpid(),))
    found: dict[str, Missing] = {}
    for collector in collectors("run", study.collect):
        if collector.source not in study.collect:
            continue
        opened = collector.open(ourselves)
        if isinstance(opened, Missing):
            found[collector.source] = opened
        elif opened is not None:
            opened.close()
    return found


def _is_file(name: str) -> bool:
    return "/" in name or "." in name


def check_metrics(loaded: StudyFile, own: Sequence[OwnCollector] = ()) -> None:
    """Raises `StudyError`, with the file's line, for a sampled metric that no source has."""
    known = _known(own)
    unread = {PurePath(name).stem for name in loaded.study.collect if _is_file(name)} - set(known)
    named = _named(loaded.study)
    parts = ((path, part, must) for path, name, must in named for part in name.split(OVER))
    for path, name, must_be in parts:
        sampled = Sampled.parse(name) if name not in FIGURES else None
        if sampled is None or (sampled.source not in known and not must_be):
            continue  # of a label, or reported by a program
        if sampled.source in unread:
            continue  # of a collector whose code was not executed
        if sampled.source not in known:
            message = f"no source has `{name}`; sources are {', '.join(known)}"
            raise loaded.error(path, message, hint=nearest_hint(sampled.source, known))
        metrics = known[sampled.source]
        if sampled.metric not in metrics:
            message = f"`{sampled.source}` has no metric `{sampled.metric}`"
            hint = nearest_hint(sampled.metric, metrics) or f"there are {', '.join(metrics)}"
            raise loaded.error(path, message, hint=hint)


def _known(own: Sequence[OwnCollector]) -> Mapping[str, tuple[str, ...]]:
    """Source → its metrics."""
    every = (*all_collectors(), *(file.collector for file in own))
    found = {collector.source: collector.metrics for collector in every}
    found |= {generator.name: generator.metrics for generator in generators().values()}
    return {source: tuple(metric.name for metric in metrics) for source, metrics in found.items()}


def _named(study: Study) -> Iterator[tuple[KeyPath, str, bool]]:
    """Where each figure is named, and whether it must be a sampled one."""
    yield ("primary", "metric"), study.primary.metric, False
    for place, published in enumerate(study.published):
        yield ("published", str(place), "metric"), published.metric, False
    for place, chart in enumerate(study.charts):
        over_time = draws_what(chart.kind) == "of_metrics"
        for number, name in enumerate(chart.metrics):
            path: KeyPath = ("chart", str(place), "metric")
            if over_time:
                path = ("chart", str(place), "metrics", str(number))
            yield path, name, over_time
