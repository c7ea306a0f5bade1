"""Documents that were altered together with their checksum: the run is set aside by name."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_parquet import READS, SAMPLES, TURN
from test_store import DECLARED, PLAN, fill, manifest, write

import lines
from dbdyno.errors import InterruptedRunError, LabError, StoreError
from dbdyno.model import PlannedRun
from dbdyno.store import RunWriter, Store, open_study_folder, step_summary

Alter = Callable[[Any], Any]


def altered(folder: Path, name: str, change: Alter | bytes) -> None:
    """The document with a change, and a checksum that agrees with it."""
    file = folder / name
    if isinstance(change, bytes):
        content = change
    elif file.suffix == ".parquet":
        sink = pa.BufferOutputStream()
        pq.write_table(change(pq.read_table(file)), sink)
        content = bytes(sink.getvalue())
    else:
        document = json.loads(file.read_bytes())
        content = json.dumps(change(document) or document).encode()
    sums = folder / "SHA256SUMS"
    old = hashlib.sha256(file.read_bytes()).hexdigest()
    new = hashlib.sha256(content).hexdigest()
    assert old in sums.read_text()
    sums.write_text(sums.read_text().replace(old, new))
    file.write_bytes(content)


def setting(*path: str | int, to: object) -> Alter:
    def change(document: Any) -> None:
        at = document
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = to

    return change


def column(name: str, to: object) -> Alter:
    """The table with another first value in a column."""

    def change(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        rows[0][name] = to
        return pa.Table.from_pylist(rows, schema=table.schema)

    return change


def write_whole(folder: Path, run: PlannedRun) -> None:
    """A run with every file that a run may have."""
    with RunWriter(folder) as writer:
        figures = step_summary(0, fill(writer), json.loads(lines.summary()))
        writer.document("settings.json", {"journal_mode": "wal"})
        writer.document("facts.json", {"host": {}, "server": {}, "red_flags": []})
        writer.metrics(SAMPLES, {"disk": (READS,)})
        writer.turn(TURN)
        writer.commit(manifest(run), (figures,))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("manifest.json", setting("block", to=0)),
        ("manifest.json", setting("attempt", to=-1)),
        ("manifest.json", setting("position", to=10**30)),
        ("manifest.json", setting("started_unix_s", to=1e20)),
        ("manifest.json", setting("ended_unix_s", to=float("nan"))),
        ("manifest.json", setting("started_unix_s", to=float("inf"))),
        ("manifest.json", setting("seed", to=-5)),
        ("manifest.json", setting("phases", to=5)),
        ("manifest.json", b"[" * 100_000),
        ("manifest.json", b'{"schema": ' + b"9" * 5_000 + b"}"),
        ("manifest.json", b"\xff\xfe"),
        ("manifest.json", b"null"),
        ("summary.json", b"{}"),
        ("summary.json", b"[1]"),
        ("summary.json", b"[" * 100_000),
        ("summary.json", setting(0, "record", "histograms", to=5)),
        ("summary.json", setting(0, "record", "histograms", to=[[1]])),
        ("summary.json", setting(0, "record", "histograms", to=[{"subject": "event"}])),
        ("summary.json", setting(0, "record", "histograms", 0, "hdr", to=None)),
        ("summary.json", setting(0, "record", "histograms", 0, "count", to="1")),
        ("summary.json", setting(0, "record", "histograms", 0, "label", to=["main"])),
        ("facts.json", b"[]"),
        ("facts.json", b'{"host": 5}'),
        ("facts.json", b'{"red_flags": {"a": 1}}'),
        ("facts.json", b"[" * 100_000),
        ("facts.json", b'{"red_flags": [{"code": [], "message": "m", "hint": "h"}]}'),
        ("facts.json", b'{"red_flags": [{"code": "swap", "message": null, "hint": "h"}]}'),
        ("facts.json", b'{"red_flags": [{"code": "swap", "message": "m", "hint": 5}]}'),
        ("facts.json", b'{"red_flags": ["swap"]}'),
        ("facts.json", b'{"host": {"storage": 5}}'),
        ("facts.json", b'{"host": {"storage": {"devices": {"name": "sda"}}}}'),
        ("facts.json", b'{"host": {"storage": {"devices": ["sda"]}}}'),
        ("facts.json", b'{"host": {"storage": {"devices": [5]}}}'),
        ("settings.json", b"7"),
        ("series.parquet", b"no table"),
        ("series.parquet", lambda table: table.drop_columns(["events"])),
        ("series.parquet", lambda table: table.rename_columns(table.column_names[::-1])),
        ("series.parquet", column("events", to=-1)),
        ("series.parquet", column("start_s", to=float("nan"))),
        ("series.parquet", column("end_s", to=float("inf"))),
        ("metrics.parquet", b"no table"),
        ("metrics.parquet", lambda table: table.drop_columns(["value"])),
        ("metrics.parquet", lambda table: table.replace_schema_metadata({"metrics": "[1]"})),
        ("turns.parquet", b""),
        ("turns.parquet", lambda table: table.drop_columns(["events"])),
        ("turns.parquet", column("events", to=-5)),
        ("turns.parquet", column("p50_us", to=float("nan"))),
    ],
)
def test_what_could_not_have_been_written_sets_the_run_aside(
    name: str, change: Alter | bytes, tmp_path: Path
) -> None:
    store, (first, second) = Store(tmp_path), PLAN.runs
    with open_study_folder(store, DECLARED) as folder:
        for run in (first, second):
            write_whole(folder.path / "runs" / run.id, run)
    written = store.root / "example" / "runs" / first.id
    altered(written, name, change)

    survey = store.study("example").survey(whole=True)

    assert list(survey.runs) == [second.id]
    (damage,) = survey.damages
    assert str(written / name) in damage.text
    with open_study_folder(store, DECLARED) as folder:
        assert folder.missing([[first], [second]]) == (first,)


def test_a_study_without_cells_is_no_study(tmp_path: Path) -> None:
    kept = Path(__file__).parent / "kept-turns" / "schema-2" / "study"
    shutil.copytree(kept, tmp_path / "study")
    file = tmp_path / "study" / "study.json"
    document = json.loads(file.read_text())
    document["study"]["workload"]["script"] = None
    file.write_text(json.dumps(document))

    with pytest.raises(StoreError, match=r"study\.json: `study` has no cells: "):
        _ = Store(tmp_path).study("study").study


def test_what_fails_before_anything_was_measured_leaves_no_study(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(LabError), open_study_folder(store, DECLARED):
        raise LabError("no")
    assert store.names() == ()
    with pytest.raises(KeyError), open_study_folder(store, DECLARED):
        raise KeyError("x")
    assert store.names() == ()
    with pytest.raises(InterruptedRunError), open_study_folder(store, DECLARED):
        raise InterruptedRunError("it may go on")
    assert store.names() == ("example",)
    with pytest.raises(KeyError), open_study_folder(store, DECLARED):
        raise KeyError("what was there before stays")
    assert store.names() == ("example",)


def test_an_import_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store, run = Store(tmp_path), PLAN.runs[0]

    def half_made() -> None:
        with open_study_folder(store, DECLARED, whole=True) as folder:
            write(folder.path / "runs" / run.id, run)
            raise KeyError("x")

    with pytest.raises(KeyError):
        half_made()
    assert store.names() == ()
