"""Formats figures for people."""

from __future__ import annotations

import datetime
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dbdyno.formats.quantities import format_duration

if TYPE_CHECKING:
    from dbdyno.conduct.foreseen import Foreseen
    from dbdyno.conduct.load_hosts import HostShare
    from dbdyno.model import RateSearch, Step, StepSummary


def width(*, of_errors: bool = False) -> int | None:
    """Columns of the terminal that standard output or error goes to; `None` elsewhere."""
    stream = sys.stderr if of_errors else sys.stdout
    return shutil.get_terminal_size().columns if stream.isatty() else None


def fold(text: str, columns: int | None) -> str:
    """Each line broken between words where a terminal would cut one; what follows hangs."""
    return "\n".join(_fold_line(line, columns) for line in text.split("\n"))


def _fold_line(line: str, columns: int | None) -> str:
    if columns is None or len(line) <= columns:
        return line
    words = line.lstrip()
    indent = line[: len(line) - len(words)]
    return textwrap.fill(
        words,
        columns,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def count(number: float) -> str:
    """Grouped by thousands, without a fraction."""
    return f"{number:,.0f}"


def size(count_bytes: float) -> str:
    """`840 B`, `12.5 MB`, `1.2 GB`; decimal prefixes."""
    for unit in ("B", "kB", "MB", "GB"):
        if count_bytes < 1000:
            return f"{count_bytes:.3g} {unit}"
        count_bytes /= 1000
    return f"{count_bytes:.3g} TB"


def latency(microseconds: float) -> str:
    """`85 µs`, `1.24 ms`, `2.5 s`."""
    if microseconds < 1000:
        return f"{microseconds:.3g} µs"
    if microseconds < 1_000_000:
        return f"{microseconds / 1000:.3g} ms"
    return f"{microseconds / 1_000_000:.3g} s"


def clients(number: int) -> str:
    """`1 client`, `4 clients`."""
    return f"{number:,} client" + ("" if number == 1 else "s")


def sees(found: Foreseen) -> str:
    """The change that a study would see, and how that is known."""
    noise = found.noise
    day = datetime.date.fromtimestamp(noise.measured_unix_s).isoformat()
    return (
        f"this machine would see a change of about {found.effect:.1%} in {noise.place.metric} "
        f"({noise.place.script}, {clients(noise.place.clients)}; calibrated on {day})"
    )


def step_line(step: Step, summary: StepSummary) -> str:
    """A step in one line, by the clients it was to have: one cut short may have lost them."""
    if summary.search is not None and not summary.interrupted:
        return f"{clients(step.clients)}: {_search_words(summary.search)}"
    parts = [f"{clients(step.clients)}: {count(summary.events_per_s)} events/s"]
    if "p99" in summary.latency_us:
        parts.append(f"p99 {latency(summary.latency_us['p99'])}")
    if summary.backlog.at_end:
        parts.append(f"{count(summary.backlog.at_end)} events behind")
    if summary.errors:
        parts.append(f"{count(summary.errors)} errors")
    if summary.interrupted:
        parts.append(f"cut short after {format_duration(summary.window_s)}")
    return ", ".join(parts)


def _search_words(search: RateSearch) -> str:
    """The result of a search; one without an upper end has met its objective at all rates tried."""
    asked, rate = search.objective.objective, search.rate_per_s
    probes = f"{len(search.probes)} probe" + ("" if len(search.probes) == 1 else "s")
    if rate is not None:
        return f"{count(rate)} events/s at most with {asked}, {probes}"
    if search.low_per_s is None:
        return f"no rate tried has met {asked}, {probes}"
    return f"{asked} up to {count(search.low_per_s)} events/s at least, {probes}"


_MEGABYTE = 1_000_000


def megabytes(count: int) -> str:
    """A size as people compare it; 3 MB, 0.4 MB."""
    value = count / _MEGABYTE
    return f"{value:.0f} MB" if value >= 1 else f"{value:.1f} MB"


def load_hosts(share: HostShare) -> Iterator[str]:
    """Where the load comes from, and what each host must have."""
    names = f": {', '.join(share.names)}" if share.names else ""
    files = f"{share.open_files:,} open files"
    engines = f"each of {share.processes} engine processes" if share.processes > 1 else "an engine"
    yield f"hosts    {share.hosts} of the Ray cluster `{share.address}`{names}"
    yield (
        f"{'':<8} on each up to {clients(share.clients)}, which need {files} of {engines}, and "
        "over TCP as many local ports"
    )
    yield f"{'':<8} `dbdyno doctor --places {share.address}` says what they have"
