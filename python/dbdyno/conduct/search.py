"""One step as a search: probes at one rate after another find the highest rate that meets the
objective.

Every probe is a call of the engine with its own warm-up, window and seed. The step's figures and
series are those of the last probe that met the objective at the highest such rate.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.conduct.bottleneck import client_busy
from dbdyno.conduct.run import Run
from dbdyno.conduct.shares import limits_of_clients
from dbdyno.design import derive_seed
from dbdyno.design.search import begin, joined, misses, next_rate
from dbdyno.engine import Outcome, at_rate
from dbdyno.errors import EngineError
from dbdyno.model import FindMax, Probe, Record, Step
from dbdyno.store import step_summary


@dataclass(frozen=True, slots=True)
class _Probed:
    """A probe during its search."""

    outcome: Outcome
    records: list[Record]
    """The records for its series."""


def search_step(run: Run, step: Step) -> None:
    """Runs one step as a search. Raises `LabError`; what was measured is kept."""
    asked = run.identity.setting.study.load.find_max
    assert asked is not None, "a step of a study that searches"
    run.served.host.before_step()
    with run.phase(step):
        run.served.begin_counting()
        search = begin(asked, step.seed)
        chosen: _Probed | None = None
        while (rate_per_s := next_rate(search)) is not None:
            number = len(search.probes)
            seed = derive_seed(step.seed, "probe", number)
            probed = _drive(run, step, number, rate_per_s, seed)
            if _is_cut_short(probed.outcome):
                run.identity.writer.series(step.index, probed.records)
                run.engine.conclude(step, probed.outcome, search=search)
                raise EngineError(f"the engine ended a probe of step {step.index} early")
            probe = _judge(run, asked, step, probed.outcome, rate_per_s=rate_per_s, seed=seed)
            search = joined(search, probe)
            chosen = probed if search.chosen == number or chosen is None else chosen
        assert chosen is not None, "a search has a first probe"
        run.identity.writer.series(step.index, chosen.records)
        run.engine.conclude(step, chosen.outcome, search=search)
        run.served.end_counting(step)


def _drive(run: Run, step: Step, number: int, rate_per_s: float, seed: int) -> _Probed:
    """Calls the engine for one probe; its records are stored, its series waits for the search's
    end."""
    spec = at_rate(run.engine.spec(step), rate_per_s, seed)
    records: list[Record] = []
    name = f"step-{step.index}-probe-{number}"
    with run.served.lab_counted():
        outcome = run.engine.call(name, spec, step=step, apart=records)
    return _Probed(outcome, records)


def _is_cut_short(outcome: Outcome) -> bool:
    """Whether its window was cut short."""
    if outcome.failure is not None or outcome.interrupted:
        return True
    return outcome.summary is None or outcome.summary.interrupted


def _judge(
    run: Run,
    asked: FindMax,
    step: Step,
    outcome: Outcome,
    *,
    rate_per_s: float,
    seed: int,
) -> Probe:
    """The result of a complete window at its rate. Raises `ServerError` if the server has died."""
    run.served.server.check()
    hello, summary = outcome.hello, outcome.summary
    assert hello is not None and summary is not None, "its window came to its end"
    figures = step_summary(step.index, summary, outcome.summary_line, backlog=outcome.backlog)
    return Probe(
        rate_per_s=rate_per_s,
        seed=seed,
        start_unix_ns=hello.start_unix_ns,
        window_s=figures.window_s,
        events=figures.events,
        latency_us=figures.latency_us,
        backlog=figures.backlog.at_end,
        errors=figures.errors,
        client_busy=client_busy(outcome, limits_of_clients(run.identity.cell.host).cpus),
        missed=misses(asked, figures, run.identity.load.errors.expected),
    )
