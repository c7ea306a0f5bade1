"""What a killed lab had measured becomes a run that was interrupted."""

from __future__ import annotations

import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from test_store import DECLARED, PLAN, fill, manifest, write

import lines
from dbdyno.formats.records import parse_record
from dbdyno.model import Metric, Sample, StepResult, TurnResult
from dbdyno.store import Store, StoredRun, open_study_folder, share_host_journal, step_summary
from dbdyno.store.places import HOST_JOURNAL, JOURNAL
from dbdyno.store.recovery import recover_runs
from dbdyno.store.study_folder import recover_study
from dbdyno.store.writer import RunWriter

RUN = PLAN.runs[0]
METRIC = Metric("free_bytes", "B", "gauge", "free memory")
SAMPLES = [Sample(1_000_000_000 * second, "memory", "free_bytes", "", 5.0) for second in (1, 2)]
OWN = Sample(3_000_000_000, "sqlite", "pages", "db", 7.0)
TURN = TurnResult(
    step=0,
    round=0,
    position=1,
    start_unix_ns=2_000_000_000,
    end_unix_ns=3_000_000_000,
    drained_unix_ns=3_500_000_000,
    window_s=1.0,
    events=10,
    statements=20,
    errors=0,
    client_cpu_us=5,
    turn_events=12,
    p50_us=1.0,
    p95_us=2.0,
    p99_us=None,
    max_us=3.0,
    steal_s=None,
)
STEP = StepResult(0, 4, 9, "complete", 1, "epoll", 1)


def leave(writer: RunWriter) -> None:
    """What a lab has written when it is killed within its second step."""
    host = share_host_journal([writer.folder])
    host.metrics({"memory": [METRIC]})
    for sample in SAMPLES:
        host.samples([sample])
    writer.journal.head(manifest(RUN), {"host": {"cpu": "fast"}})
    writer.journal.phase("provision", 1.0)
    writer.journal.phase("provision", 1.0, 1.5)
    writer.journal.phase("step 0", 1.5)
    record = fill(writer)
    writer.journal.step(STEP, step_summary(0, record, json.loads(lines.summary())))
    writer.journal.phase("step 0", 1.5, 2.5)
    writer.journal.phase("step 1", 2.5)
    writer.turn(TURN)
    writer.journal.samples([OWN])
    writer.document("spec-step-0.json", {"command": "run"})
    (writer.logs / "server.log").write_text("ready\n")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    with RunWriter(tmp_path / RUN.id) as writer:
        leave(writer)
    return tmp_path


def test_phases_turns_steps_samples_and_intervals_are_all_there(runs: Path) -> None:
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(runs / f"{RUN.id}.partial" / "logs" / "s"))
    (recovered,) = recover_runs(runs)
    stored = StoredRun(runs / RUN.id)
    stored.check(whole=True)

    assert recovered == stored.manifest
    assert stored.manifest.status == "interrupted"
    assert stored.manifest.error is not None
    assert "the lab was killed" in stored.manifest.error.message
    assert [(span.name, span.end_unix_s) for span in stored.manifest.phases[:2]] == [
        ("provision", 1.5),
        ("step 0", 2.5),
    ]
    assert stored.manifest.phases[2].name == "step 1"
    assert stored.manifest.phases[2].end_unix_s == stored.manifest.ended_unix_s >= 3.5
    assert stored.manifest.steps == (STEP,)
    assert stored.turns == (TURN,)
    assert [summary.step for summary in stored.summaries] == [0]
    assert stored.document("facts.json") == {"host": {"cpu": "fast"}}
    assert stored.read("logs/server.log") == b"ready\n"
    assert json.loads(stored.read("spec-step-0.json")) == {"command": "run"}
    assert stored.metrics is not None
    table, known = stored.metrics
    times = sorted(row["unix_ns"] for row in table.to_pylist())
    assert times == [sample.unix_ns for sample in (*SAMPLES, OWN)]
    assert known["memory"] == {"free_bytes": METRIC}
    assert sorted(path.name for path in runs.iterdir()) == [RUN.id]


def test_series_and_distributions_are_those_of_a_run_that_ended(runs: Path) -> None:
    recover_runs(runs)
    recovered = StoredRun(runs / RUN.id)
    ended = StoredRun(write(runs / "other" / RUN.id, RUN))

    assert recovered.series.equals(ended.series)
    assert recovered.read("latency.hlog") == ended.read("latency.hlog")


@pytest.mark.parametrize("cut", [0, 1, 9, 200, 900])
def test_a_torn_journal_and_a_torn_stream_give_what_is_whole(runs: Path, cut: int) -> None:
    partial = runs / f"{RUN.id}.partial"
    for name in ("records.ndjson.zst", HOST_JOURNAL):
        content = (partial / name).read_bytes()
        (partial / name).write_bytes(content[: max(0, len(content) - cut)])
    journal = (partial / JOURNAL).read_bytes()
    (partial / JOURNAL).write_bytes(journal[: len(journal) - 1])
    (recovered,) = recover_runs(runs)
    StoredRun(runs / RUN.id).check(whole=True)

    assert recovered.phases[0].name == "provision"


def test_a_recovery_that_was_killed_itself_begins_anew(runs: Path) -> None:
    half = runs / f"{RUN.id}.recovered.partial"
    shutil.copytree(runs / f"{RUN.id}.partial", half)
    (half / "SHA256SUMS").write_text("torn")
    assert len(recover_runs(runs)) == 1
    StoredRun(runs / RUN.id).check(whole=True)
    assert sorted(path.name for path in runs.iterdir()) == [RUN.id]


def test_what_has_its_name_already_is_not_replaced(runs: Path) -> None:
    kept = runs / "kept"
    shutil.copytree(runs / f"{RUN.id}.partial", kept)
    recover_runs(runs)
    before = (runs / RUN.id / "SHA256SUMS").read_bytes()
    kept.rename(runs / f"{RUN.id}.partial")
    assert recover_runs(runs) == ()
    assert (runs / RUN.id / "SHA256SUMS").read_bytes() == before
    assert sorted(path.name for path in runs.iterdir()) == [RUN.id]


def test_a_folder_without_a_head_is_removed(tmp_path: Path) -> None:
    with RunWriter(tmp_path / RUN.id) as writer:
        writer.journal.phase("provision", 1.0)
    assert recover_runs(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_complete_run_has_no_journal(tmp_path: Path) -> None:
    path = write(tmp_path / RUN.id, RUN)
    assert not list(path.glob("*.log"))


def test_runs_that_are_up_together_share_the_host_s_journal(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "a") as first, RunWriter(tmp_path / "b") as second:
        for writer, run in ((first, PLAN.runs[0]), (second, PLAN.runs[1])):
            writer.journal.head(replace(manifest(run)), {})
        host = share_host_journal([first.folder, second.folder])
        host.samples(SAMPLES)
        first.metrics((), {})
        first.commit(manifest(PLAN.runs[0]), ())
        host.samples([OWN])
    (recovered,) = recover_runs(tmp_path)
    found = StoredRun(tmp_path / "b").metrics

    assert recovered.id == PLAN.runs[1].id
    assert found is not None
    assert found[0].num_rows == 3


def test_the_next_start_of_the_study_keeps_it_as_an_attempt(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with (
        open_study_folder(store, DECLARED) as folder,
        folder.writer(RUN, attempt=1) as writer,
    ):
        leave(writer)
        # Who writes is asked for nothing: the lock is held.
        assert recover_study(store, "example") == ()
    with open_study_folder(store, DECLARED) as folder:
        assert [run.id for run in folder.recovered] == [RUN.id]
        assert folder.missing([[RUN]]) == (RUN,)
        assert folder.next_attempt([RUN]) == 2
    assert store.study("example").runs()[RUN.id].manifest.status == "interrupted"


def test_a_report_recovers_what_is_left(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with open_study_folder(store, DECLARED) as folder:
        folder.writer(RUN, attempt=1).__exit__()
        with folder.writer(RUN, attempt=2) as writer:
            leave(writer)
    assert [run.id for run in recover_study(store, "example")] == [RUN.id]
    assert recover_study(store, "example") == ()


def test_records_of_a_chosen_probe_are_the_step_s(tmp_path: Path) -> None:
    hello, interval = (parse_record(line, number=1) for line in (lines.hello(), lines.interval(0)))
    with RunWriter(tmp_path / RUN.id) as writer:
        writer.journal.head(manifest(RUN), {})
        for line, record in ((lines.hello(), hello), (lines.interval(0), interval)):
            writer.record(None, line, record)
        writer.series(1, [hello, interval])
    recover_runs(tmp_path)

    assert StoredRun(tmp_path / RUN.id).series.column("step").to_pylist() == [1]
