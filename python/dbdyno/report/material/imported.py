"""What is unknown about imported results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dbdyno.model import Imported
from dbdyno.report.material.material import RunMaterial

MODES = {
    "rate_per_s": "none",
    "target_per_s": "none",
    "reconnect": "no",
    "max_tries": "1",
    "latency_limit_ms": "none",
    "write_bytes_per_s_limit": "none",
    "reads_per_s_limit": "none",
}
"""Options that a tool's text names only where they aren't as usual, and what is usual."""


def imports(runs: Iterable[RunMaterial]) -> list[Imported]:
    """Where figures come from that dbdyno has not measured."""
    return [run.manifest.imported for run in runs if run.manifest.imported is not None]


def not_known(runs: Iterable[RunMaterial]) -> tuple[str, ...]:
    """What no file says about some of these runs; empty if dbdyno measured all of them."""
    return tuple(dict.fromkeys(word for source in imports(runs) for word in source.not_known))


def closed(runs: Iterable[RunMaterial]) -> bool:
    """Whether all of these that dbdyno hasn't measured say that load was closed."""
    return all(source.arrival == "closed" for source in imports(runs))


def arrival_of(runs: Iterable[RunMaterial], *, is_open: bool) -> str:
    """How events of a load started, `closed`, `open` or `unknown`; `is_open` holds for what dbdyno
    has measured."""
    measured = "open" if is_open else "closed"
    imported = (run.manifest.imported for run in runs)
    arrivals = {measured if origin is None else origin.arrival for origin in imported}
    return arrivals.pop() if len(arrivals) == 1 else "unknown"


def differing(
    ours: Mapping[str, str], theirs: Mapping[str, str], *, same_tool: bool
) -> Iterator[tuple[str, str, str]]:
    """Options of two loads with other values: those that both name, and of the same tool those
    that it leaves out where they are as usual."""
    names = ours.keys() & theirs.keys()
    if same_tool:
        names |= (ours.keys() | theirs.keys()) & MODES.keys()
    for name in sorted(names):
        values = [side.get(name, MODES.get(name, "")) for side in (ours, theirs)]
        if values[0] != values[1]:
            yield name, values[0], values[1]


def tools(runs: Iterable[RunMaterial]) -> str:
    """Who measured: `pgbench 15.18`."""
    names = (f"{source.tool} {source.version}".strip() for source in imports(runs))
    return " and ".join(dict.fromkeys(names))


def preface(runs: Sequence[RunMaterial]) -> str:
    """Before the answer; empty where dbdyno has measured itself."""
    return f"Imported from {tools(runs)}, not measured by dbdyno. " if imports(runs) else ""


def limits_of(runs: Sequence[RunMaterial]) -> Iterable[str]:
    """Limits of imported figures, in sentences."""
    found = imports(runs)
    if not found:
        return
    words = ", ".join(not_known(runs))
    yield f"Unknown for the imported results: {words}."
    absent = dict.fromkeys(line for source in found for line in source.absent)
    if absent:
        yield f"Usual lines of {tools(runs)} that the imported texts lack: {', '.join(absent)}."
    unread = dict.fromkeys(line for source in found for line in source.unread)
    if unread:
        yield f"Lines of the imported texts that were not read: {'; '.join(unread)}."
    if any(source.arrival == "open" for source in found):
        yield (
            "Load came at a rate that the tool was given, or with pauses: throughput is at most "
            "that, however fast the server is."
        )
    if any(source.dated_by == "file" for source in found):
        yield "When they were measured is the date of the imported files, where no tool tells it."
