"""What pgbench prints, releases 9.4 to 18, understood."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from dbdyno.errors import EngineError
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Sample
from dbdyno.model.limits import too_far_behind

_EVENTS = re.compile(r"^number of transactions actually processed: (\d+)", re.MULTILINE)
_PLANNED = re.compile(r"^number of transactions actually processed: \d+/(\d+)", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: (\d+)", re.MULTILINE)
_RATE = re.compile(r"^tps = ([\d.]+)(?: \((.*)\))?", re.MULTILINE)
_WITH_CONNECTING = "including connections establishing"
_WITHOUT_CONNECTING = "excluding connections establishing"
"""Of two rates, as releases up to 13 print, the one that is taken."""
_MOSTLY = 0.5
"""Unless connecting took a greater share of the time than this one."""
_SKIPPED = re.compile(r"^number of transactions skipped: (\d+)", re.MULTILINE)
_LATE = re.compile(
    r"^number of transactions above the [\d.]+ ms latency limit: (\d+)", re.MULTILINE
)
_RETRIED = re.compile(r"^number of transactions retried: (\d+)", re.MULTILINE)
_RETRIES = re.compile(r"^total number of retries: (\d+)", re.MULTILINE)
_LAG = re.compile(r"^rate limit schedule lag: avg ([\d.]+) \(max ([\d.]+)\) ms", re.MULTILINE)
_CONNECTING = re.compile(r"^(?:initial|average) connection time = ([\d.]+) ms", re.MULTILINE)
_ABORTED = re.compile(r"^(?:pgbench.*: )?client \d+ .*\baborted\b", re.IGNORECASE | re.MULTILINE)
_PROGRESS = re.compile(r"^progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.]+|NaN) ms", re.MULTILINE)


def outcome(
    printed: str, progress: str, latency_us: Mapping[str, float], command_line: Sequence[str]
) -> ToolOutcome:
    """What pgbench printed, understood.

    # Errors
    `EngineError` when it printed no summary.
    """
    events, rate = _EVENTS.search(printed), stated_per_s(printed)
    if events is None or not rate:
        raise EngineError(
            "pgbench printed no summary, or nothing ended", hint=printed[-500:] or None
        )
    failed = _FAILED.search(printed)
    return ToolOutcome(
        window_s=int(events[1]) / rate,
        events=int(events[1]),
        errors=int(failed[1]) if failed else 0,
        latency_us=latency_us,
        figures=dict(_figures(printed, int(events[1]), rate)),
        samples=tuple(_samples(progress)),
        command_line=tuple(command_line),
        against=tuple(_against(printed, int(events[1]), rate)),
    )


def stated_per_s(printed: str) -> float | None:
    """The rate it printed: without the time to connect, if it printed that. With a connection for
    each transaction it prints one rate alone, which includes reconnecting; up to release 13 it
    prints both there, and the one without is of no time that passed."""
    rates = [(float(matched[1]), matched[2] or "") for matched in _RATE.finditer(printed)]
    without = [rate for rate, what in rates if not what.startswith(_WITH_CONNECTING)]
    with_it = [rate for rate, what in rates if what.startswith(_WITH_CONNECTING)]
    if without and with_it and 0 < with_it[0] < _MOSTLY * without[0]:
        return with_it[0]
    return next(iter(without or with_it), None)


def without_connecting_per_s(printed: str) -> float | None:
    """The second of two rates, as releases up to 13 print."""
    rates = _RATE.findall(printed)
    return next((float(rate) for rate, what in rates if what == _WITHOUT_CONNECTING), None)


def _figures(printed: str, events: int, rate: float) -> Iterator[tuple[str, float]]:
    """What it says of its own schedule, retries and connecting."""
    with_connecting = [rate for rate, what in _RATE.findall(printed) if what == _WITH_CONNECTING]
    if with_connecting:
        yield "with_connecting_per_s", float(with_connecting[0])
    connecting, lag = _CONNECTING.search(printed), _LAG.search(printed)
    if connecting:
        yield "connecting_us", float(connecting[1]) * 1000
    if lag:
        yield "lag_us_mean", float(lag[1]) * 1000
        yield "lag_us_max", float(lag[2]) * 1000
    skipped = _SKIPPED.search(printed)
    if skipped:
        yield "skipped_share", _share(int(skipped[1]), events + int(skipped[1]))
    failed = _FAILED.search(printed)
    tried = events + (int(failed[1]) if failed else 0)
    for name, pattern in (("late", _LATE), ("retried", _RETRIED)):
        if matched := pattern.search(printed):
            yield f"{name}_share", _share(int(matched[1]), tried if name == "retried" else events)
    if retries := _RETRIES.search(printed):
        yield "retries_per_s", rate * _share(int(retries[1]), events)


def _share(some: int, of: int) -> float:
    return some / of if of else 0.0


def _against(printed: str, events: int, rate: float) -> Iterator[str]:
    """Why its figures are none to judge by: it was to keep a rate and did not, or some of its
    clients ended early."""
    skipped, lag = _SKIPPED.search(printed), _LAG.search(printed)
    if skipped and too_far_behind(int(skipped[1]), events):
        yield skipped_words(int(skipped[1]), events)
    waiting = rate * float(lag[1]) / 1000 if lag else 0.0
    if too_far_behind(waiting, events):
        yield f"on average {waiting:.0f} transactions were due and not yet begun"
    ended, planned = len(_ABORTED.findall(printed)), _PLANNED.search(printed)
    others = [int(matched[1]) for kind in (_FAILED, _SKIPPED) if (matched := kind.search(printed))]
    missing = int(planned[1]) - events - sum(others) if planned else 0
    if ended:
        yield f"{ended} client{'s' if ended > 1 else ''} ended early, with an error"
    elif "Run was aborted" in printed:
        yield "the run was aborted"
    elif planned and missing > 0:
        yield f"{missing} of {planned[1]} transactions were not processed: clients ended early"


def skipped_words(skipped: int, events: int) -> str:
    """What is said of transactions that a limit on latency made it skip."""
    share = 100 * skipped / (skipped + events)
    return f"{skipped} transactions were skipped, as too late ({share:.3g} % of those due)"


def _samples(progress: str) -> Iterator[Sample]:
    for time_s, rate, latency_ms in _PROGRESS.findall(progress):
        unix_ns = round(float(time_s) * 1000) * 10**6
        yield Sample(unix_ns, "pgbench", "transactions_per_s", "", float(rate))
        if latency_ms != "NaN":
            yield Sample(unix_ns, "pgbench", "latency_mean_ms", "", float(latency_ms))
