"""Outages and their figures, from the attempts of probes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from dbdyno.conduct.probes import Attempt
from dbdyno.errors import NotValidError
from dbdyno.model import EngineWarning
from dbdyno.model.fault import LEDGER, POWER_FAILURE, PROBES, DueFault, FaultResult, at_rank


def with_outages(
    results: Sequence[FaultResult],
    attempts: Sequence[Attempt],
    origin_ns: int,
    window_ns: int,
    ledger_ns: Sequence[int] = (),
) -> tuple[FaultResult, ...]:
    """Each fault with its outages, from attempts until the next fault or the window's end.
    `origin_ns`: the window's beginning by the attempts' clock; `ledger_ns`: when a ledger's rows
    were acknowledged by it, in order, which makes an outage of its own."""
    if not results:
        return ()
    successes: dict[str, Sequence[int]] = {
        kind: [a.ended_ns for a in attempts if a.kind == kind and not a.code] for kind in PROBES
    }
    successes |= {LEDGER: ledger_ns} if ledger_ns else {}
    ends = [result.at_ns for result in results[1:]] + [window_ns]
    return tuple(
        replace(
            result,
            noticed_ms=_noticed(attempts, origin_ns + result.at_ns, origin_ns + end_ns),
            outage_ms={
                kind: _longest_gap(times, origin_ns + result.at_ns, origin_ns + end_ns)
                for kind, times in successes.items()
            },
        )
        for result, end_ns in zip(results, ends, strict=True)
    )


def unmade_warnings(
    due: Sequence[DueFault], made: Sequence[FaultResult]
) -> Iterator[EngineWarning]:
    """A warning when the load was over before the last faults of its timetable."""
    missing = len(due) - len(made)
    if made and missing > 0:
        yield EngineWarning(
            "faults-not-made",
            f"{missing} of {len(due)} faults of the timetable were not made: the load was over "
            "before them",
            "leave more time between them, or measure for longer",
        )


def raise_without_faults(due: Sequence[DueFault], made: Sequence[FaultResult]) -> None:
    """Raises `NotValidError` when the load was over before the first fault of its timetable."""
    if due and not made:
        raise NotValidError(
            "no fault was made: the load was over before the first one, which was due after "
            f"{due[0].at_s:.1f} s",
            hint="measure for longer, or let the first fault come earlier",
        )


def with_power(
    times_ns: Sequence[int], results: Sequence[FaultResult], origin_ns: int
) -> Sequence[int]:
    """Those of some times at which no power had failed: a server acknowledges a moment longer than
    its file system keeps anything, which a machine without power would not."""
    failed = [
        (origin_ns + result.at_ns, origin_ns + result.back_ns)
        for result in results
        if result.do == POWER_FAILURE
    ]
    return [at for at in times_ns if not any(begin < at <= end for begin, end in failed)]


def with_losses(
    results: Sequence[FaultResult],
    lost_ns: Sequence[int],
    acknowledged_ns: Sequence[int],
    origin_ns: int,
) -> tuple[FaultResult, ...]:
    """Each fault with the commits that it lost: those acknowledged before it was over, and after
    the one before was. `acknowledged_ns`: when any commit was, in order; `lost_ns`: those lost."""
    counted: list[FaultResult] = []
    over_ns = float("-inf")
    for result in results:
        back_ns = origin_ns + result.back_ns
        lost = [at_ns for at_ns in lost_ns if over_ns < at_ns <= back_ns]
        last_ns, _ = _gap(acknowledged_ns, origin_ns + result.at_ns, back_ns)
        oldest_ns = max([0, *(last_ns - at_ns for at_ns in lost)])
        counted.append(replace(result, lost_commits=len(lost), oldest_lost_ms=oldest_ns / 1e6))
        over_ns = back_ns
    return tuple(counted)


def figures(results: Sequence[FaultResult]) -> Mapping[str, float]:
    """Median, 95th percentile and maximum over the faults, of each probe's outages."""
    summed: dict[str, float] = {"faults": float(len(results))}
    for kind in (*PROBES, LEDGER):
        lengths = [result.outage_ms[kind] for result in results if kind in result.outage_ms]
        if lengths:
            for name, rank in (("p50", 0.5), ("p95", 0.95), ("max", 1.0)):
                summed[f"{kind}_outage_ms_{name}"] = at_rank(lengths, rank)
    return summed


def _noticed(attempts: Sequence[Attempt], begin_ns: int, end_ns: int) -> float | None:
    failed = [a.ended_ns for a in attempts if a.code and begin_ns <= a.ended_ns < end_ns]
    return (min(failed) - begin_ns) / 1e6 if failed else None


def _longest_gap(successes: Sequence[int], begin_ns: int, end_ns: int) -> float:
    """In ms; see `_gap`."""
    before, after = _gap(successes, begin_ns, end_ns)
    return (after - before) / 1e6


def _gap(successes: Sequence[int], begin_ns: int, end_ns: int) -> tuple[int, int]:
    """The longest between successes next to each other, of which the first comes before `end_ns`
    and the second after `begin_ns`; where no more come, until `end_ns`."""
    times = [begin_ns, *successes, end_ns] if not successes else [*successes, end_ns]
    gaps = [
        (before, min(after, end_ns))
        for before, after in pairwise(times)
        if after > begin_ns and before < end_ns
    ]
    return max(gaps, key=lambda gap: gap[1] - gap[0], default=(begin_ns, begin_ns))
