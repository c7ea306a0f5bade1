"""From a store to material. The only file of this room that knows how a store looks."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbdyno.model import Study
from dbdyno.report.declared import asked_now
from dbdyno.report.material import Material, RunMaterial, StepSeries
from dbdyno.store import Store, StoredRun

LOADED = ("warm-up", "measure")
"""Phases with load; connecting and draining would only bend the lines."""


def gather(store: Path, study: str, *, asked: Study | None = None) -> Material:
    """Everything a report says about a study. Raises `LabError` for what can't be read.

    The study is the one stored with its runs; of `asked`, its file as it is now, comes only what
    is no matter of measurement. Every file of every run is held against its checksum.
    """
    stored = Store(store).study(study)
    survey = stored.survey(whole=True)
    runs = sorted(survey.runs.values(), key=lambda run: run.manifest.started_unix_s)
    analysed, changes = asked_now(stored.study, asked or stored.study)
    return Material(
        study=analysed,
        plan=stored.plan,
        runs=tuple(_run(run) for run in runs),
        replaced=tuple(run.manifest for run in survey.replaced),
        damages=tuple(damage.told for damage in survey.damages),
        changes=changes,
    )


def _run(run: StoredRun) -> RunMaterial:
    table = run.series
    steps = sorted(set(table.column("step").to_pylist()))
    return RunMaterial(
        manifest=run.manifest,
        summaries={summary.step: summary for summary in run.summaries},
        series={step: _series(table, step) for step in steps},
        facts=_document(run, "facts.json"),
        settings={name: str(value) for name, value in _document(run, "settings.json").items()},
        turns=run.turns,
    )


def _document(run: StoredRun, name: str) -> Mapping[str, object]:
    """A run that failed early has no facts or settings."""
    if not (run.path / name).exists():
        return {}
    document = run.document(name)
    return document if isinstance(document, dict) else {}


def _series(table: pa.Table, step: int) -> StepSeries:
    loaded = pc.is_in(table.column("phase"), pa.array(LOADED))
    rows = table.filter(pc.and_(pc.equal(table.column("step"), step), loaded))
    start, end, events, p99 = (
        rows.column(name).cast(pa.float64(), safe=False).to_numpy()
        for name in ("start_s", "end_s", "events", "response_ns_p99")
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
    )
