"""pgbench's text, with the progress lines of `-P` if they are there, and its logs of `-l`.

A log alone is enough: it has every transaction. Logs beside the text give it percentiles and a
distribution; they are sampled where pgbench was told so, and the result then says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dbdyno.bridges.bridge import (
    Bridge,
    Result,
    Text,
    first,
    holding,
    whole,
)
from dbdyno.errors import EngineError, UsageError
from dbdyno.generators.generator import ToolOutcome
from dbdyno.generators.pgbench import GENERATOR, distribution_of, figures_of, outcome
from dbdyno.model import Metric, Option, Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BANNER = re.compile(r"^pgbench \(([\d.]\S*)", re.MULTILINE)
_HEAD = re.compile(r"^transaction type: (.+)$", re.MULTILINE)
_SUMMARY = re.compile(r"^tps = ", re.MULTILINE)
_PROGRESS = re.compile(r"^progress: \S+ s, \S+ tps, lat \S+ ms", re.MULTILINE)
_CLIENTS = re.compile(r"^number of clients: (\d+)", re.MULTILINE)
_DURATION = re.compile(r"^duration: (\d+) s", re.MULTILINE)
_MEAN_MS = re.compile(r"^latency average = ([\d.]+) ms", re.MULTILINE)
_BUILT_IN = re.compile(r"<builtin: (.+)>")
_OPTIONS = {
    "scale": re.compile(r"^scaling factor: (\d+)", re.MULTILINE),
    "protocol": re.compile(r"^query mode: (\S+)", re.MULTILINE),
    "threads": re.compile(r"^number of threads: (\d+)", re.MULTILINE),
}
_TRANSACTION = re.compile(r"\d+ \d+ (\d+|failed|skipped|serialization|deadlock) \d+ \d{9,} \d+.*")
_AGGREGATED = re.compile(r"\d{9,} \d+ \d+ \d+ \d+ \d+.*")


@dataclass(frozen=True, slots=True)
class _Log:
    """Transactions of one run."""

    client: NDArray[np.int64]
    took_us: NDArray[np.int64]
    ended_us: NDArray[np.int64]
    failed: int
    skipped: int


class Pgbench:
    """Reads the text of one run of pgbench."""

    tool: ClassVar[str] = "pgbench"
    metrics: ClassVar[tuple[Metric, ...]] = GENERATOR.metrics

    def recognises(self, content: str) -> bool:
        """By its summary's first lines, its progress lines, or lines of a log."""
        return _is_log(content) or any(mark.search(content) for mark in (_BANNER, _HEAD, _PROGRESS))

    def read(self, texts: Sequence[Text]) -> Result:
        """Figures of the summary, times of the logs."""
        logs = [text for text in texts if _is_log(text.content)]
        said = [text for text in texts if text not in logs]
        log = _read_logs(logs) if logs else None
        if not said:
            assert log is not None
            return _of_log(log, logs[0])
        main = holding(said, _SUMMARY, self.tool) or said[0]
        content = "\n".join(text.content for text in said)
        mean_ms = first(_MEAN_MS, content)
        times = figures_of(log.took_us) if log else {}
        if not times and mean_ms:
            times = {"mean": float(mean_ms) * 1000}
        try:
            told = outcome(content, content, times, ())
        except EngineError as error:
            raise main.cut(self.tool, "a summary with `tps = …`") from error
        warnings = tuple(_warnings(content, log, told.events))
        ended_ns = int(log.ended_us.max()) * 1000 if times and log else None
        return Result(
            outcome=replace(
                told,
                warnings=warnings,
                ended_unix_ns=ended_ns,
                distribution=distribution_of(log.took_us) if log else (),
            ),
            clients=whole(_CLIENTS, content),
            version=first(_BANNER, content) or "",
            script=_script(content),
            options=dict(_options(content)),
            not_known=() if "failed transactions" in content else ("errors",),
        )


def _script(content: str) -> str:
    told = (first(_HEAD, content) or "").strip()
    return first(_BUILT_IN, told) or told


def _options(content: str) -> Iterator[tuple[str, Option]]:
    for name, pattern in _OPTIONS.items():
        found = first(pattern, content)
        if found:
            yield name, int(found) if found.isdigit() else found
    seconds = whole(_DURATION, content)
    if seconds is not None:
        yield "duration_s", seconds


def _warnings(content: str, log: _Log | None, events: int) -> Iterator[str]:
    if "Run was aborted" in content:
        yield "pgbench says of itself: run was aborted, the results are incomplete"
    kept = len(log.took_us) if log else events
    if kept < 0.99 * events:
        yield (
            f"the logs hold {kept} of {events} transactions: percentiles are of these "
            "(--sampling-rate, or a log of another thread is missing)"
        )


def _is_log(content: str) -> bool:
    line = content.partition("\n")[0]
    return bool(_TRANSACTION.fullmatch(line) or _AGGREGATED.fullmatch(line))


def _read_logs(logs: Sequence[Text]) -> _Log:
    """Every transaction; raises `UsageError` with the line that is none."""
    import numpy as np  # Only who reads a log pays for it.

    rows: list[tuple[int, int, int]] = []
    failed = skipped = 0
    for text in logs:
        for number, line in enumerate(text.content.splitlines(), 1):
            fields = line.split()
            try:
                client, _, took, _, second, micros = fields[:6]
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
    client_, took_, ended_ = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return _Log(client_, took_, ended_, failed, skipped)


def _no_transaction(text: Text, number: int, line: str) -> UsageError:
    if _AGGREGATED.fullmatch(line):
        return text.error(
            "an aggregated log: it has sums of intervals and no transactions",
            line=number,
            hint="run pgbench without --aggregate-interval, or import its text alone",
        )
    return text.error(
        f"not a transaction of pgbench's log: {line[:60]!r}",
        line=number,
        hint="a line has client, number, time in µs, script, second and microsecond; was it cut?",
    )


def _of_log(log: _Log, text: Text) -> Result:
    if not len(log.took_us):
        raise text.error("no transaction of this log ended")
    ended_us = int(log.ended_us.max())
    window_s = (ended_us - int((log.ended_us - log.took_us).min())) / 1e6
    skipped = (f"{log.skipped} transactions were skipped, as too late",) if log.skipped else ()
    return Result(
        outcome=ToolOutcome(
            window_s=window_s,
            events=len(log.took_us),
            errors=log.failed,
            latency_us=figures_of(log.took_us),
            samples=tuple(_by_second(log)),
            warnings=skipped,
            ended_unix_ns=ended_us * 1000,
            distribution=distribution_of(log.took_us),
        ),
        clients=len(set(log.client.tolist())),
        options={"duration_s": round(window_s)},
        not_known=("script",),
    )


def _by_second(log: _Log) -> Iterator[Sample]:
    """Whole seconds only; the first and the last are parts of one."""
    import numpy as np

    seconds = log.ended_us // 10**6
    found, places = np.unique(seconds, return_inverse=True)
    counts = np.bincount(places)
    means_us = np.bincount(places, weights=log.took_us) / counts
    rows = list(zip(found.tolist(), counts.tolist(), means_us.tolist(), strict=True))[1:-1]
    for second, count, mean_us in rows:
        unix_ns = (second + 1) * 10**9
        yield Sample(unix_ns, "pgbench", "transactions_per_s", "", float(count))
        yield Sample(unix_ns, "pgbench", "latency_mean_ms", "", mean_us / 1000)


BRIDGE: Bridge = Pgbench()
