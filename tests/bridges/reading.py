"""A file of text in, the results that the bridges read out."""

from __future__ import annotations

from pathlib import Path

from dbdyno.bridges.sources import Source, read_sources


def results(
    content: str, *, clients: int | None = None, events: int | None = None, name: str = "a.txt"
) -> list[Source]:
    """Those of a file in the current folder."""
    Path(name).write_text(content)
    return read_sources([name], tool=None, clients=clients, events=events)


def result(
    content: str, *, clients: int | None = None, events: int | None = None, name: str = "a.txt"
) -> Source:
    """The only result of a file."""
    (entry,) = results(content, clients=clients, events=events, name=name)
    return entry


def rate(entry: Source) -> float:
    """The throughput that is imported."""
    return entry.result.outcome.events / entry.result.outcome.window_s
