"""The search for the highest rate that meets an objective: which rate to try next. Pure.

From a low rate it doubles until the objective is missed, then halves the bracket on the scale of
logarithms until its ends are within the precision of each other. Two of three probes of a rate
decide: one stall of the machine would otherwise end the search far below the truth, and where a
window meets the objective half of the time, either answer must be as likely. Only while it doubles,
far below the truth, one probe that meets it is enough. Everything follows from the probes so far,
so a search can be replayed from what the store holds of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from dbdyno.design.seeds import derive_share
from dbdyno.model import FindMax, Miss, Probe, RateSearch, StepSummary
from dbdyno.model.expected import too_many_errors
from dbdyno.model.limits import fell_behind

DECIDE = 2
"""Probes that agree on a rate."""

TRIES = 2 * DECIDE - 1
"""Probes of a rate, at most."""


def begin(asked: FindMax, seed: int) -> RateSearch:
    """A search without a probe. Where its rates lie follows from `seed`: the first is drawn from
    the width of the last bracket. Blocks would otherwise try the same rates, and agree on the same
    bracket however wide it is; so the interval over blocks holds that width."""
    width = math.log(2) / 2 ** _halvings(asked)
    first = asked.from_per_s * math.exp(width * derive_share(seed, "grid"))
    return RateSearch(asked, min(first, asked.to_per_s))


def joined(search: RateSearch, probe: Probe) -> RateSearch:
    """With one more probe, and the bracket that all have come to."""
    probes = (*search.probes, probe)
    low: float | None = None
    high: float | None = None
    for rate_per_s, at_rate in groupby(probes, key=lambda probe: probe.rate_per_s):
        missed = [bool(probe.missed) for probe in at_rate]
        doubles = high is None and not missed[0]
        if sum(missed) >= DECIDE:
            high = rate_per_s
        elif doubles or len(missed) - sum(missed) >= DECIDE:
            low = rate_per_s
    return replace(search, probes=probes, low_per_s=low, high_per_s=high)


def next_rate(search: RateSearch) -> float | None:
    """The rate of the next probe, events per second; `None`: the search is over."""
    asked, low, high = search.objective, search.low_per_s, search.high_per_s
    last = search.probes[-1] if search.probes else None
    if last is None:
        return search.first_per_s
    if last.rate_per_s not in (low, high):
        return last.rate_per_s
    if low is None:
        return None
    if high is None:
        return None if low >= asked.to_per_s else min(2 * low, asked.to_per_s)
    return None if high <= low * (1 + asked.precision) else math.sqrt(low * high)


def most_probes(asked: FindMax) -> int:
    """A search has no more, whatever the probes say."""
    return TRIES * (_doublings(asked) + 1 + _halvings(asked))


def usual_probes(asked: FindMax) -> int:
    """About as many as a search takes that ends half-way between its bounds, on the scale of
    logarithms; every fourth rate of the bisection needs a third one."""
    met = math.ceil(_doublings(asked) / 2)
    return met + DECIDE + math.ceil(_halvings(asked) * (DECIDE + 0.25))


def misses(asked: FindMax, summary: StepSummary, expected: Mapping[str, float]) -> tuple[Miss, ...]:
    """Why a window does not meet the objective; empty: it does. `expected`: errors that belong to
    the load, code → share."""
    return tuple(_misses(asked, summary, expected))


def _misses(asked: FindMax, summary: StepSummary, expected: Mapping[str, float]) -> Iterator[Miss]:
    told_us = summary.latency_us.get(asked.percentile)
    if told_us is None or told_us > asked.limit_s * 1e6:
        yield "percentile"
    if fell_behind(summary):
        yield "backlog"
    if too_many_errors(summary, expected):
        yield "errors"


def _doublings(asked: FindMax) -> int:
    return math.ceil(math.log2(asked.to_per_s / asked.from_per_s))


def _halvings(asked: FindMax) -> int:
    """Of a bracket whose ends lie a factor of two apart."""
    return math.ceil(math.log2(math.log(2) / math.log1p(asked.precision)))
