"""Reads a store into material. The only file of this room that knows a store's layout."""

import math
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbdyno.errors import StoreError
from dbdyno.model import Study
from dbdyno.report.material.declared import asked_now
from dbdyno.report.material.material import (
    NO_SAMPLES,
    Material,
    RunMaterial,
    Samples,
    SampleSeries,
    StepSeries,
)
from dbdyno.report.material.sampled import sources, wanted, with_figures
from dbdyno.store import Store, StoredRun, notes_of
from dbdyno.store.soundness import reading

LOADED = ("warm-up", "measure")
"""Phases with load; connecting and draining would only distort the lines."""

READ_AT_ONCE = 2
"""Decoding and sorting a run's samples let others work beside them."""


def gather(
    store: Path,
    study: str,
    *,
    asked: Study | None = None,
    metric: str | None = None,
    every_sample: bool = False,
) -> Material:
    """Everything a report says about a study. Raises `LabError` for what can't be read.

    The study is the one stored with its runs; of `asked`, its file as it is now, comes only what is
    no matter of measurement. `metric` is a figure that is wanted beside the study's. Every file of
    every run is held against its checksum. Samples are kept if the study's figures, charts and
    gates need them, or all with `every_sample`.
    """
    stored = Store(store).study(study)
    survey = stored.survey(whole=True)
    runs = sorted(survey.runs.values(), key=lambda run: run.manifest.started_unix_s)
    analysed, changes = asked_now(stored.study, asked or stored.study)
    names = wanted(analysed, metric)
    needed = None if every_sample else sources(names)
    with ThreadPoolExecutor(READ_AT_ONCE) as pool:
        found = tuple(pool.map(partial(_read, needed=needed), runs))
    read = tuple(outcome for outcome in found if isinstance(outcome, RunMaterial))
    aside = {
        run.manifest.id: outcome
        for run, outcome in zip(runs, found, strict=True)
        if isinstance(outcome, str)
    }
    return Material(
        study=analysed,
        plan=stored.plan,
        runs=tuple(with_figures(run, analysed, names) for run in read),
        replaced=tuple(run.manifest for run in survey.replaced),
        damages=(*(damage.text for damage in survey.damages), *aside.values()),
        set_aside=frozenset((*(damage.run for damage in survey.damages), *aside)),
        changes=changes,
        left_out=stored.left_out,
        notes=notes_of(stored.path),
    )


def latency_log(store: Path, study: str, run: str) -> str:
    """A run's distributions as HdrHistogram's log; empty where it holds none."""
    text = Store(store).study(study).runs()[run].read("latency.hlog").decode()
    return text if "\nTag=" in text else ""


def _read(run: StoredRun, needed: Collection[tuple[str, str]] | None) -> RunMaterial | str:
    """A run, or what is wrong with it: a document whose checksum agrees may hold anything."""
    try:
        with reading(run.path):
            return _run(run, needed)
    except StoreError as error:
        return error.message


def _run(run: StoredRun, needed: Collection[tuple[str, str]] | None) -> RunMaterial:
    table = run.series
    steps = sorted(set(table.column("step").to_pylist()))
    return RunMaterial(
        manifest=run.manifest,
        summaries={summary.step: summary for summary in run.summaries},
        series={step: _series(table, step) for step in steps},
        facts=_document(run, "facts.json"),
        settings={name: str(value) for name, value in _document(run, "settings.json").items()},
        turns=run.turns,
        samples=_samples(run, needed),
    )


def _samples(run: StoredRun, needed: Collection[tuple[str, str]] | None) -> Samples:
    """Of the (source, metric) needed, or of all: a long run has millions of samples."""
    if run.metrics is None or not run.metrics[0].num_rows:
        return NO_SAMPLES
    table, known = run.metrics
    table = table.combine_chunks()
    words = ("source", "metric", "instance")
    columns = [table.column(word).combine_chunks() for word in words]
    names = [column.dictionary.to_pylist() for column in columns]
    sizes = [len(every) for every in names]
    codes = np.ravel_multi_index([column.indices.to_numpy() for column in columns], sizes)
    times, values = (table.column(name).to_numpy() for name in ("unix_ns", "value"))
    if math.prod(sizes) <= np.iinfo(np.uint16).max:
        codes = codes.astype(np.uint16)  # so narrow, they are sorted by counting
    order = np.argsort(codes, kind="stable")
    kinds, starts = np.unique(codes[order], return_index=True)
    series: dict[tuple[str, str], dict[str, SampleSeries]] = {}
    for kind, rows in zip(kinds, np.split(order, starts[1:]), strict=True):
        places = np.unravel_index(kind, sizes)
        source, metric, instance = (
            every[place] for every, place in zip(names, places, strict=True)
        )
        if needed is None or (source, metric) in needed or source == run.manifest.generator:
            found = SampleSeries(times[rows], values[rows])
            series.setdefault((source, metric), {})[instance] = found
    return Samples(series, known)


def _document(run: StoredRun, name: str) -> Mapping[str, object]:
    """A run that failed early has no facts or settings."""
    if not (run.path / name).exists():
        return {}
    document = run.document(name)
    return document if isinstance(document, dict) else {}


def _series(table: pa.Table, step: int) -> StepSeries:
    loaded = pc.is_in(table.column("phase"), pa.array(LOADED))
    rows = table.filter(pc.and_(pc.equal(table.column("step"), step), loaded))
    start, end, events, p99, errors, reconnects = (
        rows.column(name).cast(pa.float64(), safe=False).to_numpy()
        for name in ("start_s", "end_s", "events", "response_ns_p99", "errors", "reconnects")
    )
    measured = np.asarray(rows.column("phase").to_pylist()) == "measure"
    origin = float(start[measured][0]) if measured.any() else float(end[-1]) if end.size else 0.0
    length = end - start
    return StepSeries(
        start_s=start - origin,
        length_s=length,
        measured=measured,
        events_per_s=np.divide(events, length, out=np.zeros_like(length), where=length > 0),
        p99_ns=p99,
        origin_s=origin,
        errors=errors,
        reconnects=reconnects,
    )
