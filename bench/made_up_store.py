"""A store of many long runs with many metrics, made up: what a report has to cope with.

Numbers are drawn so that they compress as badly as real ones: of every ten metrics four are noisy
gauges, three noisy counters, two drift slowly and one never changes. All cells of a block hold the
same measurements under names of their own, which a page can't profit from.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from hdrh.histogram import HdrHistogram

from dbdyno.design.plan import plan as make_plan
from dbdyno.formats.documents import dump_manifest
from dbdyno.formats.stored_study import Declared
from dbdyno.formats.study import read_study
from dbdyno.model import (
    Counters,
    CpuTime,
    Hello,
    HistogramRecord,
    Interval,
    Metric,
    PhaseSpan,
    Plan,
    PlannedRun,
    RunManifest,
    Sample,
    StepResult,
    Study,
    Summary,
)
from dbdyno.stats import merge_histograms
from dbdyno.store import RunWriter, Store, open_study_folder, step_summary

SECOND_NS = 1_000_000_000
START_UNIX_NS = 1_700_000_000 * SECOND_NS
WARM_UP_S = 30
CLIENTS = 16
BLOCKS = 5
CELLS = 12
SOURCES = 3
NAME = "made-up"
_HISTOGRAMS = 16
_RATE = 2_000


def made_up_store(folder: Path, *, seconds: int, metrics: int) -> Path:
    """Writes a study of 60 runs with windows of `seconds` and `metrics` sampled once a second, and
    returns its store."""
    file = folder / f"{NAME}.toml"
    file.write_text(_study(seconds))
    study = read_study(file).study
    plan = make_plan(study)
    store = folder / "store"
    with open_study_folder(Store(store), Declared(study, plan)) as opened:
        made: dict[int, tuple[Path, RunManifest]] = {}
        for run in plan.runs:
            if run.block not in made:
                writer = opened.writer(run, attempt=1)
                made[run.block] = _measured(
                    writer, study, plan, run, seconds=seconds, metrics=metrics
                )
            else:
                _copied(opened.path / "runs" / run.id, run, *made[run.block])
    return store


def _study(seconds: int) -> str:
    levels = "\n".join(f"level{n} = {{ settings = {{ cache_size = {n} }} }}" for n in range(CELLS))
    return f"""question = "What does a report of many long runs cost?"

[server.sqlite]
provision = "sqlite"

[factor.cache]
{levels}

[workload]
script = "kv_update"

[load]
clients = {CLIENTS}
warm_up = "{WARM_UP_S} s"
measure = "{seconds} s"

[design]
blocks = {BLOCKS}
baseline = {{ cache = "level0" }}
"""


def _measured(
    writer: RunWriter, study: Study, plan: Plan, run: PlannedRun, *, seconds: int, metrics: int
) -> tuple[Path, RunManifest]:
    rng = np.random.default_rng(run.block)
    with writer:
        summary = _load(writer, rng, run, seconds)
        writer.metrics(_samples(rng, seconds, metrics), _known(metrics))
        writer.document("facts.json", {"host": {"processor": {"threads": 2}}, "red_flags": []})
        writer.document("settings.json", dict(run.cell.settings))
        line = json.loads(_line("summary", summary))
        manifest = _manifest(study, plan, run, seconds)
        return writer.commit(manifest, (step_summary(0, summary, line),)), manifest


def _load(writer: RunWriter, rng: np.random.Generator, run: PlannedRun, seconds: int) -> Summary:
    hello = Hello(1, "0.1.0", "2.1", "epoll", 1, 1, START_UNIX_NS, run.steps[0].seed)
    writer.record(0, _line("hello", hello), hello)
    every = [_histogram(rng) for _ in range(_HISTOGRAMS)]
    records = [_record(histogram) for histogram in every]
    total = Counters(0, 0, 0, 0, 0, 0, 0, 0, 0)
    for second in range(WARM_UP_S + seconds):
        events = int(rng.normal(_RATE, _RATE / 20))
        errors = 25 if 200 <= second < 205 else 0
        counters = Counters(events, events * 7, events * 3, 0, errors, 0, 0, 0, 0)
        interval = Interval(
            index=second,
            phase="warm-up" if second < WARM_UP_S else "measure",
            start_ns=second * SECOND_NS,
            end_ns=(second + 1) * SECOND_NS,
            clients=CLIENTS,
            counters=counters,
            errors={"40001": errors} if errors else {},
            backlog=0,
            cpu=CpuTime(40_000, 20_000),
            histograms=(records[second % _HISTOGRAMS],),
        )
        writer.record(0, _line("interval", interval), interval)
        if second >= WARM_UP_S:
            sums = {name: getattr(total, name) + getattr(counters, name) for name in _COUNTED}
            total = replace(total, **sums)
    return Summary(
        interrupted=False,
        start_ns=WARM_UP_S * SECOND_NS,
        end_ns=(WARM_UP_S + seconds) * SECOND_NS,
        measured=total,
        total=total,
        errors={"40001": total.errors},
        cpu=CpuTime(40_000 * seconds, 20_000 * seconds),
        rss_peak_kb=30_000,
        rss_kb=28_000,
        clients=CLIENTS,
        histograms=(_record(merge_histograms(every)),),
    )


_COUNTED = ("events", "reads", "writes", "errors")


def _histogram(rng: np.random.Generator) -> HdrHistogram:
    histogram = merge_histograms([])
    for value in rng.lognormal(np.log(8e6), 0.5, _RATE):
        histogram.record_value(int(value) + 1)
    return histogram


def _record(histogram: HdrHistogram) -> HistogramRecord:
    hdr = histogram.encode().decode("ascii")
    return HistogramRecord("event", "main", "response", histogram.get_total_count(), 0, hdr)


def _known(metrics: int) -> dict[str, Sequence[Metric]]:
    return {
        f"source{source}": [
            Metric(
                f"metric{n}",
                "B" if n % 2 else "",
                "counter" if 4 <= n % 10 < 7 else "gauge",
                f"What number {n} of source {source} counts",
            )
            for n in range(metrics // SOURCES)
        ]
        for source in range(SOURCES)
    }


def _samples(rng: np.random.Generator, seconds: int, metrics: int) -> Iterator[Sample]:
    """Each source is asked at its own instants, some milliseconds behind the second."""
    count = WARM_UP_S + seconds
    for source, known in _known(metrics).items():
        late_ns = rng.integers(1_000_000, 9_000_000, count)
        times = (START_UNIX_NS + np.arange(count) * SECOND_NS + late_ns).tolist()
        for place, metric in enumerate(known):
            if place % 10 < 4:
                values = rng.normal(1e6, 2e5, count)
            elif place % 10 < 7:
                values = np.cumsum(rng.poisson(5_000, count)).astype(np.float64)
            elif place % 10 < 9:
                values = 1e9 + np.cumsum(rng.normal(0, 4096, count)).round()
            else:
                values = np.full(count, 4096.0)
            for at_ns, value in zip(times, values.tolist(), strict=True):
                yield Sample(at_ns, source, metric.name, "", value)


def _manifest(study: Study, plan: Plan, run: PlannedRun, seconds: int) -> RunManifest:
    started_s = START_UNIX_NS / SECOND_NS
    ended_s = started_s + WARM_UP_S + seconds
    step = run.steps[0]
    return RunManifest(
        id=run.id,
        study=study.name,
        scale=study.scale,
        plan=plan.fingerprint,
        status="complete",
        cell=run.cell.levels,
        provision=run.cell.provision,
        settings=run.cell.settings,
        script=run.cell.script,
        options=run.cell.options,
        block=run.block,
        position=run.position,
        seed=run.seed,
        data_seed=run.data_seed,
        started_unix_s=started_s - 20,
        ended_unix_s=ended_s + 5,
        command_lines=("dbdyno-engine run -",),
        versions={"dbdyno": "0.1.0", "engine": "0.1.0", "server": "1.0"},
        environment_id="made up",
        phases=(
            PhaseSpan("prepare", started_s - 20, started_s - 1),
            PhaseSpan("step 0", started_s, ended_s),
            PhaseSpan("stop", ended_s, ended_s + 5),
        ),
        steps=(StepResult(0, step.clients, step.seed, "complete", START_UNIX_NS, "epoll", 1),),
        server={},
    )


def _copied(final: Path, run: PlannedRun, original: Path, manifest: RunManifest) -> None:
    """The files of another cell of the block, under this run's name."""
    shutil.copytree(original, final)
    mine = replace(
        manifest,
        id=run.id,
        cell=run.cell.levels,
        settings=run.cell.settings,
        position=run.position,
        seed=run.seed,
    )
    sums = final / "SHA256SUMS"
    before = _sha256((final / "manifest.json").read_bytes())
    content = dump_manifest(mine)
    (final / "manifest.json").write_bytes(content)
    sums.write_text(sums.read_text().replace(before, _sha256(content)))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _line(kind: str, record: Hello | Interval | Summary) -> bytes:
    return json.dumps({"record": kind, **asdict(record)}).encode()
