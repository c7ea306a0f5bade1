"""Outages and their figures, from the attempts of probes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from dbdyno.conduct.probes import Attempt
from dbdyno.model.fault import PROBES, FaultResult, at_rank


def with_outages(
    results: Sequence[FaultResult], attempts: Sequence[Attempt], origin_ns: int, window_ns: int
) -> tuple[FaultResult, ...]:
    """Each fault with its outages, from attempts until the next fault or the window's end.
    `origin_ns`: the window's beginning by the attempts' clock."""
    ends = [result.at_ns for result in results[1:]] + [window_ns]
    return tuple(
        replace(
            result,
            noticed_ms=_noticed(attempts, origin_ns + result.at_ns, origin_ns + end_ns),
            outage_ms={
                kind: _longest_gap(attempts, kind, origin_ns + result.at_ns, origin_ns + end_ns)
                for kind in PROBES
            },
        )
        for result, end_ns in zip(results, ends, strict=True)
    )


def figures(results: Sequence[FaultResult]) -> Mapping[str, float]:
    """Median, 95th percentile and maximum over the faults, of each probe's outages."""
    summed: dict[str, float] = {"faults": float(len(results))}
    for kind in PROBES:
        lengths = [result.outage_ms[kind] for result in results]
        if lengths:
            for name, rank in (("p50", 0.5), ("p95", 0.95), ("max", 1.0)):
                summed[f"{kind}_outage_ms_{name}"] = at_rank(lengths, rank)
    return summed


def _noticed(attempts: Sequence[Attempt], begin_ns: int, end_ns: int) -> float | None:
    failed = [a.ended_ns for a in attempts if a.code and begin_ns <= a.ended_ns < end_ns]
    return (min(failed) - begin_ns) / 1e6 if failed else None


def _longest_gap(attempts: Sequence[Attempt], kind: str, begin_ns: int, end_ns: int) -> float:
    """Between successes next to each other, of which the first comes before `end_ns` and the second
    after `begin_ns`; where no more come, until `end_ns`."""
    successes = [a.ended_ns for a in attempts if a.kind == kind and not a.code]
    times = [begin_ns, *successes, end_ns] if not successes else [*successes, end_ns]
    gaps = [
        min(after, end_ns) - before
        for before, after in pairwise(times)
        if after > begin_ns and before < end_ns
    ]
    return max(gaps, default=0) / 1e6
