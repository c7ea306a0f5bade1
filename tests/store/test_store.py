"""Run folders: written aside, checked when read, never changed; one writer at a time."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

import lines
from dbdyno.design import plan
from dbdyno.errors import StoreError, UsageError
from dbdyno.formats.records import parse_record
from dbdyno.formats.stored_study import Declared
from dbdyno.model import (
    Factor,
    Level,
    Load,
    Plan,
    PlannedRun,
    RunManifest,
    RunStatus,
    Sample,
    Study,
    Summary,
    Workload,
)
from dbdyno.store import RunWriter, Store, StoredRun, metrics, open_study_folder, step_summary

STUDY = Study(
    name="example",
    question="q?",
    factors=(
        Factor("server", (Level("lite", provision="sqlite"),)),
        Factor("journal", (Level("delete"), Level("wal"))),
    ),
    workload=Workload("kv"),
    load=Load(clients=(4,), warm_up_s=0, measure_s=2),
)
PLAN = plan(STUDY, blocks=1)
DECLARED = Declared(STUDY, PLAN)
GOLDEN_RECORDS = Path(__file__).parents[2] / "crates/record/tests/golden/records.ndjson"


def manifest(
    run: PlannedRun, of: Plan = PLAN, status: RunStatus = "complete", attempt: int = 1
) -> RunManifest:
    return RunManifest(
        id=run.id,
        study=of.study,
        scale=of.scale,
        plan=of.fingerprint,
        status=status,
        cell=run.cell.levels,
        provision=run.cell.provision,
        settings=run.cell.settings,
        script=run.cell.script,
        options=run.cell.options,
        block=run.block,
        position=run.position,
        seed=run.seed,
        data_seed=run.data_seed,
        started_unix_s=1.0,
        ended_unix_s=2.0,
        command_lines=("dbdyno run example",),
        versions={"dbdyno": "0.1.0"},
        environment_id="abc",
        phases=(),
        steps=(),
        server={},
        attempt=attempt,
    )


def fill(writer: RunWriter) -> Summary:
    stream = [lines.hello(), lines.interval(0), lines.interval(1), lines.summary()]
    for number, line in enumerate(stream, 1):
        record = parse_record(line, number=number)
        writer.record(0, line, record)
    assert isinstance(record, Summary)
    return record


def write(folder: Path, run: PlannedRun, **changes: object) -> Path:
    with RunWriter(folder) as writer:
        summary = step_summary(0, fill(writer), json.loads(lines.summary()))
        writer.document("settings.json", {"journal_mode": "wal"})
        return writer.commit(manifest(run, **changes), (summary,))  # type: ignore[arg-type]


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return write(tmp_path / "b1-wal", PLAN.runs[0])


def test_what_was_written_is_read_back(run_folder: Path) -> None:
    stored = StoredRun(run_folder)
    stored.verify()

    assert stored.manifest == manifest(PLAN.runs[0])
    assert stored.document("settings.json") == {"journal_mode": "wal"}
    rows = stored.series.to_pylist()
    assert [row["index"] for row in rows] == [0, 1]
    assert (rows[0]["events"], rows[0]["cpu_user_us"], rows[1]["start_s"]) == (100, 3000, 1.0)
    assert rows[0]["response_ns_p50"] == pytest.approx(2_000_000, rel=1e-3)
    assert rows[0]["response_ns_p999"] == pytest.approx(3_000_000, rel=1e-3)


def test_the_summary_s_figures_follow_from_the_record(run_folder: Path) -> None:
    (summary,) = StoredRun(run_folder).summaries

    assert (summary.events, summary.statements, summary.window_s) == (100, 600, 2.0)
    assert (summary.events_per_s, summary.statements_per_s) == (50.0, 300.0)
    assert summary.client_cpu_us_per_statement == 20.0
    assert summary.total_statements == 750
    assert list(summary.latency_us) == ["p50", "p95", "p99", "p99.9", "max", "mean"]
    assert summary.latency_us["p50"] == pytest.approx(50_000, rel=1e-3)
    assert summary.latency_us["p99"] == pytest.approx(99_000, rel=1e-3)
    assert summary.latency_us["max"] == pytest.approx(100_000, rel=1e-3)
    assert summary.record["rss_kb"] == 15_000


def test_the_stream_is_kept_as_it_came(run_folder: Path) -> None:
    packed = StoredRun(run_folder).read("records.ndjson.zst")
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed)) as reader:
        text = reader.read()

    assert text == lines.hello() + lines.interval(0) + lines.interval(1) + lines.summary()


def readable(folder: Path) -> int:
    """Lines of the stream that whoever finds the folder now can read."""
    packed = (folder / "records.ndjson.zst").read_bytes()
    return zstandard.ZstdDecompressor().decompressobj().decompress(packed).count(b"\n")


def test_the_stream_of_a_run_cut_short_has_all_up_to_the_last_interval_or_turn(
    tmp_path: Path,
) -> None:
    golden = GOLDEN_RECORDS.read_bytes().splitlines(keepends=True)
    turn = next(line for line in golden if b'"record":"turn"' in line)
    in_turn = lines.interval(1, turn=0)

    found = []
    with RunWriter(tmp_path / "b1-wal") as writer:
        for number, line in enumerate((lines.hello(), lines.interval(0), in_turn, turn), 1):
            writer.record(0, line, parse_record(line, number=number))
            found.append(readable(writer.folder))

    assert found == [0, 2, 2, 4]


def test_the_histogram_log_is_one_that_others_read(run_folder: Path) -> None:
    log = run_folder / "latency.hlog"
    reader = HistogramLogReader(str(log), HdrHistogram(1, 3_600_000_000_000, 3))
    first = reader.get_next_interval_histogram()

    assert first.get_total_count() == 3
    assert first.get_tag() == "0.event.main.response"
    text = log.read_text().splitlines()
    assert text[1].startswith("#[StartTime: 1756000000.250 (seconds since epoch), ")
    assert text[2] == "#[BaseTime: 1756000000.250 (seconds since epoch)]"
    assert text[4].startswith("Tag=0.event.main.response,0.000,1.000,3.00")
    assert text[5].startswith("Tag=0.event.main.response,1.000,1.000,3.00")


def test_checksums_are_those_the_common_tool_checks(run_folder: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=run_folder, check=True)


def read_all(stored: StoredRun) -> None:
    assert stored.manifest
    assert stored.series


def pipe_for_head(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json: was changed"),
        (lambda folder: (folder / "manifest.json").unlink(), "manifest.json: is missing"),
        (lambda folder: (folder / "SHA256SUMS").unlink(), "SHA256SUMS: is missing"),
        (lambda folder: (folder / "SHA256SUMS").write_text("x\n"), "SHA256SUMS:1: not a checksum"),
        (lambda folder: (folder / "SHA256SUMS").write_text(""), "is not in SHA256SUMS"),
        (lambda folder: os.truncate(folder / "series.parquet", 9), "series.parquet: was changed"),
        (pipe_for_head, "manifest.json: is no file"),
    ],
)
def test_a_damaged_folder_is_named_with_its_file(
    run_folder: Path, damage: object, said: str
) -> None:
    assert callable(damage)
    damage(run_folder)
    with pytest.raises(StoreError, match=said) as caught:
        read_all(StoredRun(run_folder))
    assert str(run_folder) in caught.value.message
    assert caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(run_folder: Path) -> None:
    (run_folder / "manifest.json").chmod(0)
    with pytest.raises(StoreError, match=r"manifest\.json: can't be read: Permission denied"):
        assert StoredRun(run_folder).manifest


def test_a_run_that_never_ended_is_no_result_and_goes_with_the_next_start(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with (
        open_study_folder(store, DECLARED) as folder,
        folder.writer(PLAN.runs[0], attempt=1) as writer,
    ):
        fill(writer)
    study = store.study("example")
    assert study.runs() == {}
    assert [path.name for path in (study.path / "runs").iterdir()] == [f"{PLAN.runs[0].id}.partial"]

    with open_study_folder(store, DECLARED) as folder:
        assert folder.missing([PLAN.runs[:1]]) == PLAN.runs[:1]
        assert list((folder.path / "runs").iterdir()) == []


def test_a_failed_run_is_kept_and_attempted_again(tmp_path: Path) -> None:
    store, run = Store(tmp_path), PLAN.runs[0]
    with open_study_folder(store, DECLARED) as folder:
        runs = folder.path / "runs"
        write(runs / run.id, run, status="failed")
        assert (folder.missing([[run]]), folder.next_attempt([run])) == ((run,), 2)
        with folder.writer(run, attempt=2) as writer:
            fill(writer)
            writer.commit(manifest(run, attempt=2), ())
        assert folder.missing([[run]]) == ()
    assert [attempt.path.name for attempt in store.study("example").attempts()] == [
        run.id,
        f"{run.id}~2",
    ]
    assert store.study("example").runs()[run.id].manifest.attempt == 2


def test_a_run_with_a_damaged_file_is_attempted_again(tmp_path: Path) -> None:
    run = PLAN.runs[0]
    with open_study_folder(Store(tmp_path), DECLARED) as folder:
        written = write(folder.path / "runs" / run.id, run)
        assert folder.missing([[run]]) == ()
        os.truncate(written / "series.parquet", 9)
        assert folder.missing([[run]]) == (run,)


def test_another_plan_never_goes_into_the_same_folder(tmp_path: Path) -> None:
    store, other = Store(tmp_path), plan(STUDY, seed=99)

    def folder_of(wanted: Plan, *, again: bool = False) -> str:
        with open_study_folder(store, Declared(STUDY, wanted), again=again) as folder:
            return folder.path.name

    assert folder_of(PLAN) == "example"
    assert folder_of(other) == "example.2"
    assert folder_of(PLAN) == "example"
    assert folder_of(PLAN, again=True) == "example.3"
    assert folder_of(PLAN) == "example.3"
    assert store.names() == ("example", "example.2", "example.3")
    assert store.study("example.2").plan == other


@pytest.fixture
def other_writer(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    code = (
        "import fcntl, os, sys\n"
        "lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "os.write(lock, b'4711\\n')\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / ".lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_two_writers_are_one_too_many(tmp_path: Path, other_writer: subprocess.Popen[str]) -> None:
    with (
        pytest.raises(StoreError, match=r"is being written by another dbdyno \(process 4711\)"),
        open_study_folder(Store(tmp_path), DECLARED),
    ):
        pass
    other_writer.kill()
    other_writer.wait()
    with open_study_folder(Store(tmp_path), DECLARED) as folder:
        assert folder.path.is_dir()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def write_much(writer: RunWriter) -> None:
    for number in range(100):
        writer.document(f"{number}.json", "x" * 4096)


def test_a_disk_too_full_for_a_study_keeps_nothing_of_it(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "filler").write_bytes(b"x" * 2**17)
    with (
        pytest.raises(StoreError, match="no space left for"),
        open_study_folder(Store(small_disk), DECLARED),
    ):
        raise AssertionError("a study was opened that can't be declared")
    assert sorted(path.name for path in small_disk.iterdir()) == [".lock", "filler"]


def test_a_full_disk_says_how_much_is_needed_and_spoils_nothing(small_disk: Path) -> None:
    store, (first, second) = Store(small_disk), PLAN.runs[:2]
    with open_study_folder(store, DECLARED) as folder:
        write(folder.path / "runs" / first.id, first)
        with (
            folder.writer(second, attempt=1) as writer,
            pytest.raises(StoreError, match=r"no space left for .*: \d+ bytes are free, \d+ more"),
        ):
            write_much(writer)
    study = store.study("example")
    assert set(study.runs()) == {first.id}
    study.runs()[first.id].verify()
    with open_study_folder(store, DECLARED) as folder:
        assert folder.missing([[first], [second]]) == (second,)


def test_runs_of_one_batch_are_whole_only_together(tmp_path: Path) -> None:
    """Two attempts lie hours apart: their turns must not be taken for neighbours."""
    first, second = PLAN.runs[:2]
    with open_study_folder(Store(tmp_path), DECLARED) as folder:
        runs = folder.path / "runs"
        write(runs / first.id, first)
        write(runs / second.id, second, status="failed")
        assert folder.next_attempt([first, second]) == 2
        with folder.writer(second, attempt=2) as writer:
            fill(writer)
            writer.commit(manifest(second, attempt=2), ())
        assert folder.missing([[first], [second]]) == ()
        assert folder.missing([[first, second]]) == (first, second)
        assert folder.next_attempt([first, second]) == 3


@pytest.mark.parametrize(
    "content", [b"no table", metrics.to_parquet([Sample(1, "disk", "reads", "", 1.0)], {})]
)
def test_a_table_of_turns_that_is_none_is_named(tmp_path: Path, content: bytes) -> None:
    run = PLAN.runs[0]
    with open_study_folder(Store(tmp_path), DECLARED) as folder:
        path = folder.path / "runs" / run.id
        write(path, run)
    (path / "turns.parquet").write_bytes(content)
    with (path / "SHA256SUMS").open("a") as sums:
        sums.write(f"{hashlib.sha256(content).hexdigest()}  turns.parquet\n")
    with pytest.raises(StoreError, match=r"turns\.parquet: "):
        assert Store(tmp_path).study("example").runs()[run.id].turns


def test_a_store_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match="can't write"),
        open_study_folder(Store(tmp_path / "file"), DECLARED),
    ):
        pass


def test_an_unknown_study_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with open_study_folder(Store(tmp_path), DECLARED):
        pass
    with pytest.raises(UsageError, match="holds no study `exampel`") as caught:
        Store(tmp_path).study("exampel")
    assert caught.value.hint == "did you mean `example`?"


def test_a_study_s_text_that_is_none_is_named(tmp_path: Path) -> None:
    with open_study_folder(Store(tmp_path), DECLARED) as folder:
        (folder.path / "study.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match=r"study\.toml: is not text: invalid start byte"):
        assert Store(tmp_path).study("example").text
