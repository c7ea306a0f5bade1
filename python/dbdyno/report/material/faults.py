"""Reasons that exclude a step of a run from verdicts; its figures are still shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dbdyno.model import RateSearch, StepSummary, abilities
from dbdyno.model.expected import SortedErrors
from dbdyno.model.limits import SATURATED, fell_behind
from dbdyno.report.material.host_limits import clients_limit
from dbdyno.report.material.material import RunMaterial


def faults(run: RunMaterial, summary: StepSummary, errors: SortedErrors) -> tuple[str, ...]:
    """Why this step is excluded from verdicts, a few words each; empty: it is included. `errors`
    are those of `summary`."""
    return tuple(_faults(run, summary, errors))


def _faults(run: RunMaterial, summary: StepSummary, errors: SortedErrors) -> Iterator[str]:
    if summary.search is not None:
        yield from _without_answer(summary.search)
    yield from _of_errors(summary, errors)
    for load in run.manifest.loads:
        if load.sent is not None and load.rows is not None and load.rows < load.sent:
            yield f"rows are missing in `{load.table}`"
    if engine_busy(run, summary) > SATURATED:
        yield "the client was saturated"
    if fell_behind(summary) and not summary.faults:  # What waited for a dead server is a result.
        yield f"{summary.backlog.at_end} events were due and not yet begun"
    yield from summary.against


def _of_errors(summary: StepSummary, errors: SortedErrors) -> Iterator[str]:
    """Shares of what failed beyond what is tolerated or declared."""
    if errors.too_many_undeclared:
        yield undeclared_fault(summary, errors)
    for code, most in errors.beyond.items():
        share = 100 * errors.share(errors.declared[code])
        word = tried_word(summary.generator)
        yield f"{share:.2g} % of its {word} failed with {code}, where {100 * most:g} % are expected"


def undeclared_fault(summary: StepSummary, errors: SortedErrors) -> str:
    """The share of what failed without being declared, in words."""
    share = 100 * errors.share(errors.unexpected)
    codes = ", ".join(filter(None, errors.undeclared)) if errors.expects else ""
    undeclared = f", with codes that the study does not expect: {codes}" if codes else ""
    return f"{share:.2g} % of its {tried_word(summary.generator)} failed{undeclared}"


def _without_answer(search: RateSearch) -> Iterator[str]:
    """Why a search's bracket says nothing about the server."""
    asked, low, high = search.objective, search.low_per_s, search.high_per_s
    if low is None:
        yield f"the lowest rate, {search.first_per_s:,.1f}/s, missed {asked.objective} already"
    elif high is None:
        yield f"every rate up to {asked.to_per_s:,.10g}/s met {asked.objective}"
    elif any(probe.client_busy > SATURATED for probe in search.probes if probe.rate_per_s == high):
        yield f"the client was saturated at {high:,.0f}/s, the lowest rate that missed"


def tried_word(generator: str) -> str:
    """What `attempted` counts."""
    return "statements" if abilities(generator).counts_statements else "operations"


def engine_busy(run: RunMaterial, summary: StepSummary) -> float:
    """Share of the shards' time that the engine used in the window, or of what the clients' limit
    leaves of it; 0 for databases inside it."""
    step = next((step for step in run.manifest.steps if step.index == summary.step), None)
    cpu = summary.record.get("cpu")
    if step is None or step.reactor == "none" or not summary.window_s:
        return 0.0
    if not isinstance(cpu, Mapping):
        return 0.0
    busy_us = float(cpu.get("user_us", 0)) + float(cpu.get("system_us", 0))
    most = min(step.shards or 1, clients_limit(run) or step.shards or 1)
    return busy_us / 1e6 / summary.window_s / most
