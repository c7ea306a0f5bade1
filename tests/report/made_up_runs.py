"""Run folders for the tests of reports, written by the store's own writer.

The records are made up, but whole: real HdrHistograms, intervals that add up to their summary. They
exist because a test needs to know the truth behind the numbers it reads in a report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from unittest import mock

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

from dbdyno.design.plan import plan as make_plan
from dbdyno.formats.stored_study import Declared
from dbdyno.formats.study import read_study
from dbdyno.model import (
    Counters,
    CpuTime,
    EngineWarning,
    Failure,
    Hello,
    HistogramRecord,
    Interval,
    LabCost,
    Metric,
    PhaseSpan,
    Plan,
    PlannedRun,
    RateSearch,
    RunManifest,
    RunStatus,
    Sample,
    Step,
    StepResult,
    StepSummary,
    Study,
    Summary,
    TableFill,
    TurnResult,
)
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.charts import charts
from dbdyno.report.charts.panels import packed_lines
from dbdyno.report.material.gather import gather
from dbdyno.report.page.drawing_program import script
from dbdyno.report.page.page import context, render
from dbdyno.report.page.paper import VEGA_LITE
from dbdyno.report.sections.provenance import provenance
from dbdyno.report.sections.tables import tables
from dbdyno.stats import merge_histograms
from dbdyno.store import RunWriter, Store, open_study_folder, step_summary, with_search

SECOND_NS = 1_000_000_000
OF_A_SERVER = {"page_size": "4096", "data_directory": "/somewhere"}
"""Effective settings beside those of the study."""
METRICS = {
    "fio": [Metric("read_iops", "/s", "gauge", "Reads that ended, by job")],
    "process": [Metric("voluntary_switches", "", "counter", "Context switches")],
    "disk": [Metric("writes", "", "counter", "Writes")],
    "mysql": [
        Metric("history_list", "", "gauge", "Transactions not purged"),
        Metric("syncs", "", "counter", "Syncs"),
    ],
}
START_UNIX_NS = 1_700_000_000 * SECOND_NS


@dataclass(frozen=True)
class World:
    """What happens in the runs of a study."""

    rate: Callable[[PlannedRun, Step, int], float]
    """Events per second of a run's step in its nth second; warm-up is negative."""
    error_share: float = 0.0
    faulty: frozenset[str] | None = None
    """Ids of the runs with that share; `None`: all."""
    status: Mapping[str, RunStatus] = field(default_factory=dict)
    """Run id → how it ended; complete if not named."""
    missing: frozenset[str] = frozenset()
    loads: Callable[[PlannedRun], tuple[TableFill, ...]] = lambda _run: ()
    """What was found in its tables."""
    turns: Callable[[PlannedRun, Step], tuple[TurnResult, ...]] = lambda _run, _step: ()
    """The turns its cell had."""
    tool: Callable[[PlannedRun, Step], Mapping[str, float]] | None = None
    """The figures of a program that puts the load on in place of the engine."""
    outcomes: Callable[[PlannedRun], Mapping[str, int]] | None = None
    """What became of its events, where these are trials."""
    samples: Callable[[PlannedRun], tuple[Sample, ...]] = lambda _run: ()
    """What was sampled beside its load."""
    search: Callable[[PlannedRun], RateSearch] | None = None
    """What its search has found."""
    failed_before: Mapping[str, int] = field(default_factory=dict)
    """Run id → failed attempts before the one kept."""
    version: Callable[[PlannedRun], str] = lambda _run: "1.0"
    """Version of a run's server."""
    day: int = 0
    """Days after the first on which it all happens."""
    environment: str = "env:test"
    lab: LabCost | None = None
    """What the lab took in each run."""
    censored: int = 0
    """Events of each step that had not ended at the end of its window."""
    warnings: tuple[EngineWarning, ...] = ()
    """Of each run's load and of each of its steps."""


def write_study(
    folder: Path, text: str, world: World, *, name: str = "study", again: bool = False
) -> Path:
    """Carries out `text` in `world`; returns the store's folder. No disk is waited for."""
    with mock.patch("os.fsync"):
        return _write_study(folder, text, world, name, again=again)


def _write_study(folder: Path, text: str, world: World, name: str, *, again: bool) -> Path:
    file = folder / f"{name}.toml"
    file.write_text(text)
    study = read_study(file).study
    plan = make_plan(study)
    store = folder / "store"
    with open_study_folder(Store(store), Declared(study, plan), again=again) as opened:
        for run in plan.runs:
            if run.id in world.missing:
                continue
            failures: list[RunStatus] = ["failed"] * world.failed_before.get(run.id, 0)
            for status in (*failures, world.status.get(run.id, "complete")):
                attempt = opened.next_attempt([run])
                with opened.writer(run, attempt=attempt) as writer:
                    _carry_out(writer, study, plan, run, world, status, attempt)
    return store


def page_of(store: Path) -> str:
    """The page alone: drawing its exported pictures takes longer than all the rest."""
    analysis = analyse(gather(store, "study", every_sample=True))
    drawn = charts(analysis)
    lines = packed_lines(analysis, {name for chart in drawn for name in chart.panels})
    said = context(analysis, drawn, tables(analysis), provenance(analysis))
    return render(said, drawn, folder="out", bundle=script(VEGA_LITE), lines=lines)


def _carry_out(
    writer: RunWriter,
    study: Study,
    plan: Plan,
    run: PlannedRun,
    world: World,
    status: RunStatus,
    attempt: int,
) -> None:
    summaries: list[StepSummary] = []
    results: list[StepResult] = []
    for step in run.steps if status != "failed" else ():
        cut = status == "interrupted" and step is run.steps[-1]
        summaries.append(_step(writer, study, run, step, world, cut=cut))
        for turn in world.turns(run, step):
            writer.turn(turn)
        results.append(
            StepResult(
                index=step.index,
                clients=step.clients,
                seed=step.seed,
                status="interrupted" if cut else "complete",
                engine_start_unix_ns=START_UNIX_NS,
                reactor="epoll",
                shards=1,
                ended_unix_ns=START_UNIX_NS + 4 * SECOND_NS if world.tool else None,
                warnings=tuple(map(asdict, world.warnings)),
            )
        )
    writer.metrics(world.samples(run), METRICS)
    if status != "failed":
        _documents(writer, run)
    started = START_UNIX_NS / SECOND_NS + 60 * run.position + 86_400 * world.day
    manifest = RunManifest(
        id=run.id,
        study=study.name,
        scale=study.scale,
        plan=plan.fingerprint,
        status=status,
        attempt=attempt,
        cell=run.cell.levels,
        provision=run.cell.provision,
        generator=run.cell.generator,
        settings=run.cell.settings,
        script=run.cell.script,
        options=run.cell.options,
        block=run.block,
        position=run.position,
        seed=run.seed,
        data_seed=run.data_seed,
        started_unix_s=started,
        ended_unix_s=started + 50,
        command_lines=("dbdyno-engine run -",),
        versions={"dbdyno": "0.1.0", "engine": "0.1.0", "server": world.version(run)},
        environment_id=world.environment,
        phases=(PhaseSpan("step 0", started, started + 50),),
        steps=tuple(results),
        server={},
        loads=world.loads(run),
        load_warnings=tuple(map(asdict, world.warnings)),
        lab=world.lab,
        error=Failure("ServerError", "the server ended while warming up", 4)
        if status == "failed"
        else None,
    )
    writer.commit(manifest, tuple(summaries))


def _documents(writer: RunWriter, run: PlannedRun) -> None:
    """Facts and settings."""
    flag = {"code": "swap", "message": f"{run.position} MiB are swapped out", "hint": "free it"}
    facts = {
        "host": {
            "processor": {"threads": 2},
            "kernel": "6.1",
            "storage": {"devices": [{"name": "loop3p1"}, {"name": "vda"}]},
        },
        "server": {"version": "1.0"},
        "red_flags": [flag],
    }
    writer.document("facts.json", facts)
    port = str(4000 + run.position)
    writer.document("settings.json", {**OF_A_SERVER, "port": port, **run.cell.settings})


def _step(
    writer: RunWriter, study: Study, run: PlannedRun, step: Step, world: World, *, cut: bool
) -> StepSummary:
    rng = np.random.default_rng(run.seed + step.index)
    warm_up, measure = round(study.load.warm_up_s), round(study.load.measure_s or 10)
    measure = measure // 2 if cut else measure
    hello = Hello(1, "0.1.0", "2.1", "epoll", 1, 1, START_UNIX_NS, step.seed)
    writer.record(step.index, _line("hello", hello), hello)
    window: list[HdrHistogram] = []
    counted: list[Counters] = []
    share = world.error_share if world.faulty is None or run.id in world.faulty else 0.0
    for second in range(warm_up + measure):
        rate = world.rate(run, step, second - warm_up)
        interval, histogram = _interval(rng, step, second, second < warm_up, rate, share)
        writer.record(step.index, _line("interval", interval), interval)
        if second >= warm_up:
            window.append(histogram)
            counted.append(interval.counters)
    total = Counters(*(sum(getattr(c, name) for c in counted) for name in Counters.__slots__))
    summary = Summary(
        interrupted=cut,
        start_ns=warm_up * SECOND_NS,
        end_ns=(warm_up + measure) * SECOND_NS,
        measured=total,
        total=total,
        errors={"40001": total.errors} if total.errors else {},
        cpu=CpuTime(40_000 * measure, 20_000 * measure),
        rss_peak_kb=30_000,
        rss_kb=28_000,
        clients=step.clients,
        histograms=(_histogram(merge_histograms(window)),),
        censored=world.censored,
    )
    line = _line("summary", summary)
    writer.record(step.index, line, summary)
    told = step_summary(step.index, summary, json.loads(line))
    if world.search is not None:
        return with_search(told, world.search(run))
    if world.outcomes is not None:
        found = world.outcomes(run)
        events = sum(found.values())
        shares = {f"{name.replace(' ', '_')}_share": n / events for name, n in found.items()}
        return replace(told, events=events, outcomes=found, figures=shares, record={})
    if world.tool is None:
        return told
    return replace(
        told,
        statements=0,
        statements_per_s=0.0,
        latency_us={},
        client_cpu_us_per_statement=None,
        record={},
        figures=world.tool(run, step),
    )


def _interval(
    rng: np.random.Generator,
    step: Step,
    second: int,
    warm_up: bool,
    rate: float,
    error_share: float,
) -> tuple[Interval, HdrHistogram]:
    """One second; at most 300 of its events enter the histogram, for speed."""
    events = max(0, round(rate * rng.normal(1, 0.01)))
    errors = int(rng.binomial(events * 10, error_share))
    writes = max(0, events * 3 - errors)
    histogram = merge_histograms([])
    if events:
        mean_ns = step.clients / rate * 1e9
        values = rng.lognormal(np.log(mean_ns), 0.4, min(events, 300)).astype(np.int64) + 1
        record_all(histogram, values)
    interval = Interval(
        index=second,
        phase="warm-up" if warm_up else "measure",
        start_ns=second * SECOND_NS,
        end_ns=(second + 1) * SECOND_NS,
        clients=step.clients,
        counters=Counters(events, events * 10 - errors - writes, writes, 0, errors, 0, 0, 0, 0),
        errors={"40001": errors} if errors else {},
        backlog=0,
        cpu=CpuTime(40_000, 20_000),
        histograms=(_histogram(histogram),) if events else (),
    )
    return interval, histogram


def record_all(histogram: HdrHistogram, values: npt.NDArray[np.int64]) -> None:
    """`record_value` of each, in a hundredth of the time: most of what made-up runs took."""
    half, magnitude = histogram.sub_bucket_half_count, histogram.sub_bucket_half_count_magnitude
    bits = np.frexp((values | histogram.sub_bucket_mask).astype(float))[1]
    bucket = bits - histogram.unit_magnitude - (magnitude + 1)
    places = ((bucket + 1) << magnitude) + (values >> (bucket + histogram.unit_magnitude)) - half
    np.add.at(np.ctypeslib.as_array(histogram.counts), places, 1)
    histogram.total_count += values.size
    histogram.min_value = min(histogram.min_value, int(values.min()))
    histogram.max_value = max(histogram.max_value, int(values.max()))


def _histogram(histogram: HdrHistogram) -> HistogramRecord:
    return HistogramRecord(
        subject="event",
        label="main",
        time="response",
        count=histogram.get_total_count(),
        out_of_range=0,
        hdr=histogram.encode().decode("ascii"),
    )


def _line(kind: str, record: Hello | Interval | Summary) -> bytes:
    return json.dumps({"record": kind, **asdict(record)}).encode()


def tables_nowhere_on(page: Path) -> list[str]:
    """Tables beside a report that have rows, and which its page neither shows nor links."""
    text = page.read_text("utf-8")
    beside = page.with_suffix("").glob("*.csv")
    filled = [file.name for file in beside if len(file.read_text().splitlines()) > 1]
    return [name for name in filled if f'/{name}"' not in text]
