"""A study as it is watched: state, progress, lines, events."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import psutil
import pytest
from serving import Served, serving
from stores import write_live, write_study

import lines
from dbdyno.formats.left_out import dump_left_out
from dbdyno.formats.records import parse_record
from dbdyno.model import LeftOut, Metric, Sample
from dbdyno.serve.home import Home
from dbdyno.serve.inside import Inside
from dbdyno.serve.prometheus import exposition
from dbdyno.serve.watching import StudyWatch
from dbdyno.store.study_journal import add_note
from dbdyno.store.writer import RunWriter

OURSELVES = {
    "pid": os.getpid(),
    "pid_started": psutil.Process().create_time(),
    "command": "dbdyno run example",
}


def watch(store: Path) -> StudyWatch:
    seen = StudyWatch(Inside(store), "example")
    seen.look()
    return seen


def runs_of(seen: StudyWatch) -> list[Any]:
    return cast("list[Any]", seen.state()["runs"])


def test_a_study_that_runs_is_told_from_one_that_was_killed(tmp_path: Path) -> None:
    folder = write_study(tmp_path, "example", runs=2)
    assert watch(tmp_path).status == "stopped"
    write_live(folder, {"session": OURSELVES})
    assert watch(tmp_path).status == "running"
    write_live(folder, {"session": {**OURSELVES, "pid_started": 7.0}})
    assert watch(tmp_path).status == "killed"
    write_live(folder, {"session": OURSELVES}, {"ended": "interrupted"})
    assert watch(tmp_path).status == "stopped"


def test_what_ran_when_its_command_was_killed_is_interrupted(tmp_path: Path) -> None:
    folder = write_study(tmp_path, "example", runs=0)
    (folder / "runs" / "b1-wal.partial").mkdir(parents=True)

    def states() -> set[str]:
        return {run["is"] for run in runs_of(watch(tmp_path))}

    write_live(folder, {"session": OURSELVES}, {"run": {"run": "b1-wal", "is": "running"}})
    assert states() == {"running", "to do"}
    write_live(folder, {"session": {**OURSELVES, "pid_started": 7.0}})
    assert states() == {"interrupted", "to do"}


def test_a_study_with_all_its_runs_is_complete(tmp_path: Path) -> None:
    write_study(tmp_path, "example")
    seen = watch(tmp_path)
    assert seen.status == "complete"
    first = runs_of(seen)[0]
    assert first["steps"][0]["events_per_s"] == 9.5
    assert first["steps"][0]["p95_us"] == 7.0


def test_a_study_with_a_failed_run_is_complete_once_an_attempt_is(tmp_path: Path) -> None:
    folder = write_study(tmp_path, "example")
    first = folder / "runs" / "b1-wal"
    shutil.copytree(first, folder / "runs" / "b1-wal~2")
    (first / "manifest.json").write_text('{"id": "b1-wal", "status": "failed"}')

    def states() -> tuple[str, str]:
        return watch(tmp_path).status, Home(Inside(tmp_path)).rows()[0][0].state

    assert states() == ("complete", "complete")
    shutil.rmtree(folder / "runs" / "b1-wal~2")
    assert states() == ("stopped", "stopped")


def test_a_study_is_complete_without_the_cells_that_the_machine_can_not_run(
    tmp_path: Path,
) -> None:
    folder = write_study(tmp_path, "example")
    for run in (folder / "runs").glob("*-wal"):
        shutil.rmtree(run)
    document = json.loads((folder / "study.json").read_text())
    for run in document["plan"]["runs"]:
        run["cell"] = {"levels": {"journal": run["id"].partition("-")[2]}}
    (folder / "study.json").write_text(json.dumps(document))

    def state(*left_out: str) -> tuple[str, str, str]:
        cells = tuple(LeftOut({"journal": level}, ()) for level in left_out)
        (folder / "left_out.json").write_bytes(dump_left_out(cells))
        seen = watch(tmp_path)
        return seen.status, Home(Inside(tmp_path)).rows()[0][0].state, runs_of(seen)[1]["is"]

    assert state("wal") == ("complete", "complete", "left out")
    assert state("other") == ("stopped", "stopped", "to do")


def test_progress_answers_and_lines_are_those_of_the_last_command(tmp_path: Path) -> None:
    folder = write_study(tmp_path, "example", runs=0)
    write_live(
        folder,
        {"session": OURSELVES},
        {"progress": {"share": 0.25, "left_s": [10, 20]}},
        {"line": "note: it is a virtual machine"},
        {"answer": {"text": "so far", "blocks_done": 1, "blocks": 2}},
        {"run": {"run": "b1-wal", "is": "running"}},
    )
    seen = watch(tmp_path)
    assert seen.progress()["share"] == 0.25
    assert seen.progress()["left_s"] == [10, 20]
    state = seen.state()
    assert state["answer"] == {"text": "so far", "blocks_done": 1, "blocks": 2}
    printed = cast("list[Any]", state["printed"])
    assert [line["text"] for line in printed] == ["note: it is a virtual machine"]

    (folder / "live.log").unlink()
    write_live(folder, {"session": OURSELVES})
    seen.look()
    assert seen.state()["printed"] == []
    assert "share" not in seen.progress()


def test_a_note_is_a_mark(tmp_path: Path) -> None:
    folder = write_study(tmp_path, "example")
    seen = watch(tmp_path)
    note = add_note(folder, "vacuum\n started ")
    seen.look()
    (mark,) = cast("list[Any]", seen.state()["marks"])
    assert mark == {"kind": "note", "at": note.unix_ns / 1e9, "text": "vacuum started"}


def test_intervals_and_samples_become_lines(tmp_path: Path) -> None:
    folder = write_study(tmp_path, "example", runs=0)
    seen = watch(tmp_path)
    writer = RunWriter(folder / "runs" / "b1-wal")
    for line in (lines.hello(), lines.interval(0), lines.interval(1)):
        writer.record(0, line, parse_record(line, number=1))
    writer.journal.phase("step 0", 1.0)
    writer.journal.metrics({"lite": [Metric("pages", "pages", "counter", "Pages")]})
    for second in (1, 1.01, 3):
        at = round(1_000_000_000 * second)
        writer.journal.samples([Sample(at, "lite", "pages", "", 10.0 * second)])
    writer.journal.fault("kill primary", 2_000_000_000)
    seen.look()
    shown = {line: list(points) for line, points in seen.lines.points.items()}

    assert shown["lite.pages", "wal"] == [(3.0, 10.0)]
    assert len(shown["throughput", "wal"]) == 2
    assert seen.now["cell"] == "wal"
    (run,) = [run for run in runs_of(seen) if run["run"] == "b1-wal"]
    assert (run["is"], run["phase"]) == ("running", "step 0")
    marks = cast("list[Any]", seen.state()["marks"])
    assert {"kind": "fault", "at": 2.0, "text": "wal: kill primary"} in marks
    seen.lines.taken()
    seen.look()
    assert seen.lines.taken() == {}
    writer.__exit__()


def test_figures_for_prometheus_are_text_that_it_reads(tmp_path: Path) -> None:
    folder = write_study(tmp_path, "example", runs=0)
    write_live(folder, {"session": OURSELVES}, {"progress": {"share": 0.5, "left_s": [1, 2]}})
    text = exposition([watch(tmp_path)])
    assert 'dbdyno_share_done{study="example"} 0.5\n' in text
    assert "# TYPE dbdyno_left_seconds_low gauge\n" in text
    assert all(line.startswith(("#", "dbdyno_")) for line in text.splitlines())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    folder = write_study(tmp_path, "example", runs=0)
    write_live(folder, {"session": OURSELVES}, {"line": "hello"})
    with serving(tmp_path) as there:
        yield there


def test_who_was_cut_off_gets_what_was_missed_and_no_more(served: Served) -> None:
    path = "/api/studies/example/events"
    with_state = served.events(path, 5)
    assert [kind for _, kind, _ in with_state[:3]] == ["state", "all-points", "progress"]
    assert with_state[0][2]["printed"][0]["text"] == "hello"
    # One who stays keeps the stream going while the other is away.
    last = with_state[-1][0]
    later = served.events(path, 3, Last_Event_ID=str(last))
    numbers = [number for number, _, _ in later]
    assert numbers == sorted(set(numbers))
    assert served.events(path, 1, Last_Event_ID="999999999")[0][1] == "state"
    assert served.events(path, 1, Last_Event_ID="x")[0][1] == "state"


def test_a_number_of_an_earlier_server_is_none_of_a_later_one_s(
    served: Served, tmp_path: Path
) -> None:
    path = "/api/studies/example/events"
    last = served.events(path, 5)[-1][0]
    with serving(tmp_path) as later:
        events = later.events(path, 5, Last_Event_ID=str(last))
    assert events[0][1] == "state"
    assert events[-1][0] > last


def test_two_watchers_cost_one_look(served: Served, tmp_path: Path) -> None:
    first, second = (served.events("/api/studies/example/events", 4) for _ in range(2))
    assert first[0][2] == second[0][2]


def test_what_runs_is_first_in_the_list(served: Served, tmp_path: Path) -> None:
    write_study(tmp_path, "newer")
    document = served.get("/api/studies").json
    assert [(row["study"], row["state"]) for row in document["studies"]] == [
        ("example", "running"),
        ("newer", "complete"),
    ]
    assert document["studies"][1]["effect"] == [1.5, 2.0, 2.5]
    assert json.dumps(document)
    assert "dbdyno_share_done" not in served.get("/metrics").text
