"""pgbench's logs of `-l`: of every transaction, or of every interval (`--aggregate-interval`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from dbdyno.bridges.bridge import Arrival, Result, Text
from dbdyno.errors import UsageError
from dbdyno.generators.generator import ToolOutcome
from dbdyno.generators.pgbench import distribution_of, figures_of
from dbdyno.generators.pgbench_text import skipped_words
from dbdyno.model import Sample
from dbdyno.model.limits import too_far_behind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TRANSACTION = re.compile(r"\d+ \d+ (\d+|failed|skipped|serialization|deadlock) \d+ \d{9,} \d+.*")
_AGGREGATED = re.compile(r"\d{9,} \d+ \d+ \d+ \d+ \d+.*")
_PLAIN = 6
"""Fields of a line where nothing but the transaction was logged: no lag, no retries."""


@dataclass(frozen=True, slots=True)
class Log:
    """Transactions of one run."""

    client: NDArray[np.int64]
    took_us: NDArray[np.int64]
    ended_us: NDArray[np.int64]
    failed: int
    skipped: int
    arrival: Arrival


@dataclass(frozen=True, slots=True)
class Interval:
    """What an aggregated log tells of one interval, over all threads."""

    start_s: int
    events: int = 0
    sum_us: int = 0
    max_us: int = 0
    skipped: int = 0
    failed: int = 0
    lag_us: int = 0

    def __add__(self, other: Interval) -> Interval:
        return Interval(
            self.start_s,
            self.events + other.events,
            self.sum_us + other.sum_us,
            max(self.max_us, other.max_us),
            self.skipped + other.skipped,
            self.failed + other.failed,
            self.lag_us + other.lag_us,
        )


def is_log(content: str) -> bool:
    """Whether a text is one of the two."""
    line = content.partition("\n")[0]
    return bool(_TRANSACTION.fullmatch(line) or _AGGREGATED.fullmatch(line))


def is_aggregated(content: str) -> bool:
    """Whether it is of intervals."""
    return bool(_AGGREGATED.fullmatch(content.partition("\n")[0]))


def read_log(logs: Sequence[Text]) -> Log:
    """Every transaction; raises `UsageError` with the line that is none."""
    import numpy as np  # Only who reads a log pays for it.

    rows: list[tuple[int, int, int]] = []
    failed = skipped = 0
    plain = True
    for text in logs:
        for number, line in enumerate(text.content.splitlines(), 1):
            fields = line.split()
            try:
                client, _, took, _, second, micros = fields[:_PLAIN]
                if took.isdigit():
                    rows.append((int(client), int(took), int(second) * 10**6 + int(micros)))
                elif took == "skipped":
                    skipped += 1
                else:
                    failed += 1
            except ValueError as error:
                raise _no_transaction(text, number, line) from error
            if len(fields[0]) >= 9:
                raise _no_transaction(text, number, line)
            plain = plain and len(fields) == _PLAIN
    client_, took_, ended_ = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    arrival: Arrival = "open" if skipped else "closed" if plain else "unknown"
    return Log(client_, took_, ended_, failed, skipped, arrival)


def _no_transaction(text: Text, number: int, line: str) -> UsageError:
    if _AGGREGATED.fullmatch(line):
        return text.error(
            "an aggregated log: it has sums of intervals and no transactions",
            line=number,
            hint="import the aggregated log by itself",
        )
    return text.error(
        f"not a transaction of pgbench's log: {line[:60]!r}",
        line=number,
        hint="a line has client, number, time in µs, script, second and microsecond; was it cut?",
    )


def of_log(log: Log, text: Text) -> Result:
    """What a log alone says."""
    if not len(log.took_us):
        raise text.error("no transaction of this log ended")
    ended_us = int(log.ended_us.max())
    window_s = (ended_us - int((log.ended_us - log.took_us).min())) / 1e6
    events = len(log.took_us)
    warnings, against = _judged(log.skipped, events)
    return Result(
        outcome=ToolOutcome(
            window_s=window_s,
            events=events,
            errors=log.failed,
            latency_us=figures_of(log.took_us),
            figures=_skipped_share(log.skipped, events),
            samples=tuple(_by_second(log)),
            ended_unix_ns=ended_us * 1000,
            distribution=distribution_of(log.took_us),
            warnings=warnings,
            against=against,
        ),
        clients=len(set(log.client.tolist())),
        options={"duration_s": round(window_s)},
        not_known=("script",),
        arrival=log.arrival,
    )


def _skipped_share(skipped: int, events: int) -> dict[str, float]:
    return {"skipped_share": skipped / (skipped + events)} if skipped else {}


def _judged(skipped: int, events: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to say of skipped transactions: as a warning where they are few, or against the run."""
    if not skipped:
        return (), ()
    measured = (skipped_words(skipped, events),)
    return ((), measured) if too_far_behind(skipped, events) else (measured, ())


def _by_second(log: Log) -> Iterator[Sample]:
    """Whole seconds only; the first and the last are parts of one."""
    import numpy as np

    seconds = log.ended_us // 10**6
    matched, places = np.unique(seconds, return_inverse=True)
    counts = np.bincount(places)
    means_us = np.bincount(places, weights=log.took_us) / counts
    rows = list(zip(matched.tolist(), counts.tolist(), means_us.tolist(), strict=True))[1:-1]
    for second, count, mean_us in rows:
        yield from _samples(second + 1, float(count), mean_us)


def _samples(ended_s: int, rate: float, mean_us: float) -> Iterator[Sample]:
    unix_ns = ended_s * 10**9
    yield Sample(unix_ns, "pgbench", "transactions_per_s", "", rate)
    yield Sample(unix_ns, "pgbench", "latency_mean_ms", "", mean_us / 1000)


def read_intervals(logs: Sequence[Text]) -> list[Interval]:
    """Of an aggregated log, all threads together. Raises `UsageError` with a line that is none."""
    matched: dict[int, Interval] = {}
    for text in logs:
        for number, line in enumerate(text.content.splitlines(), 1):
            if not _AGGREGATED.fullmatch(line):
                raise text.error(
                    f"not an interval of pgbench's aggregated log: {line[:60]!r}", line=number
                )
            entry = _interval([int(field) for field in line.split()])
            matched[entry.start_s] = matched.get(entry.start_s, Interval(entry.start_s)) + entry
    return [matched[start] for start in sorted(matched)]


def _interval(fields: Sequence[int]) -> Interval:
    """Lag and skipped transactions follow with a rate, up to release 14; since then every line has
    them, and retries and failures behind."""
    start, events, total, _, _, most = fields[:6]
    lag = fields[6] if len(fields) > 9 else 0
    skipped = fields[10] if len(fields) > 10 else 0
    return Interval(start, events, total, most, skipped, sum(fields[13:]), lag)


def of_intervals(intervals: Sequence[Interval], text: Text) -> Result:
    """What an aggregated log alone says. Its first and last interval are parts of one and are left
    out."""
    lengths = {b.start_s - a.start_s for a, b in pairwise(intervals)}
    inner = intervals[1:-1]
    events = sum(entry.events for entry in inner)
    if not inner or not events:
        raise text.error(
            f"an aggregated log of {len(intervals)} intervals: the first and the last are parts of "
            "one, and between them no transaction ended",
            hint="a longer run, or a shorter --aggregate-interval",
        )
    length_s = min(lengths)
    window_s = float(inner[-1].start_s + length_s - inner[0].start_s)
    skipped = sum(entry.skipped for entry in inner)
    lag = sum(entry.lag_us for entry in inner)
    warnings, against = _judged(skipped, events)
    return Result(
        outcome=ToolOutcome(
            window_s=window_s,
            events=events,
            errors=sum(entry.failed for entry in inner),
            latency_us={
                "mean": sum(entry.sum_us for entry in inner) / events,
                "max": float(max(entry.max_us for entry in inner)),
            },
            figures={
                **_skipped_share(skipped, events),
                **({"lag_us_mean": lag / events} if lag else {}),
            },
            samples=tuple(interval_samples(inner, length_s)),
            ended_unix_ns=(inner[-1].start_s + length_s) * 10**9,
            warnings=warnings,
            against=against,
        ),
        clients=None,
        options={"duration_s": round(window_s)},
        not_known=("script",),
        arrival="open" if lag or skipped else "unknown",
    )


def interval_samples(intervals: Sequence[Interval], length_s: int) -> Iterator[Sample]:
    """Rate and mean of each."""
    for entry in intervals:
        if entry.events:
            rate = entry.events / length_s
            yield from _samples(entry.start_s + length_s, rate, entry.sum_us / entry.events)
