"""Studies that are watched while they run: what is shown live is what the report says in the
end."""

from __future__ import annotations

import csv
import re
import socket
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pytest
from product import LIMIT_S, dbdyno, start, wait_until

from dbdyno.report.answer.so_far import answer_so_far
from dbdyno.serve.inside import Inside
from dbdyno.serve.watching import StudyWatch
from dbdyno.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

HEAD = """\
question = "What does a mode cost?"

[server.sqlite]
provision = "sqlite"

[factor.journal]
delete = { settings = { journal_mode = "delete", synchronous = "off" } }
wal = { settings = { journal_mode = "wal", synchronous = "off" } }

[workload]
script = "kv_update"
options = { tables = 1, table_size = 100 }
"""
KINDS = {
    "turns": """
[load]
clients = [1]
warm_up = "200 ms"
measure = "1 s"
interval = "500 ms"

[design]
blocks = 2
order = "turns"
turn = "500 ms"
baseline = { journal = "delete" }
""",
    "runs": """
[load]
clients = [1, 2]
warm_up = "200 ms"
measure = "1 s"
interval = "500 ms"

[design]
blocks = 2
order = "runs"
baseline = { journal = "delete" }
""",
    "find_max": """
[load]
clients = [2]
warm_up = "200 ms"
measure = "1 s"
interval = "500 ms"
find_max = { p50 = "5 s", from = 100, to = 200, precision = "50 %" }

[design]
blocks = 2
order = "runs"
baseline = { journal = "delete" }
""",
}


def steps_of(watch: StudyWatch) -> dict[str, Mapping[int, Any]]:
    """Run → its figures by step, as the page has them."""
    runs = cast("list[dict[str, Any]]", watch.state()["runs"])
    return {run["run"]: run["steps"] for run in runs if run.get("steps")}


@pytest.mark.parametrize("kind", KINDS)
def test_live_figures_are_the_report_s(kind: str, tmp_path: Path) -> None:
    (tmp_path / "modes.toml").write_text(HEAD + KINDS[kind])
    store = tmp_path / "results"
    watch = None
    shown: dict[str, Mapping[int, Any]] = {}
    shares, states = [0.0], set()
    answers: list[dict[str, object]] = []
    with start("run", "modes.toml", "--no-pictures", folder=tmp_path) as process:
        wait_until(
            "the study is there",
            lambda: process.poll() is not None or (store / "modes/live.log").exists(),
            limit_s=LIMIT_S,
        )
        watch = StudyWatch(Inside(store), "modes")

        def look() -> bool:
            over = process.poll() is not None
            watch.look()
            shown.update(steps_of(watch))
            states.add(watch.status)
            shares.append(cast("float", watch.progress().get("share", shares[-1])))
            answers.extend(answer for answer in watch.command.answers if answer not in answers)
            return over

        wait_until("the study is over", look, limit_s=LIMIT_S)
        _, err = process.communicate()
    assert process.returncode == 0, err
    assert {"running", "complete"} <= states <= {"idle", "running", "complete"}
    assert shares == sorted(shares)
    assert shares[-1] == 1.0

    stored = Store(store).study("modes").runs()
    for run, figures in shown.items():
        for summary in stored[run].summaries:
            assert figures[summary.step]["events_per_s"] == summary.events_per_s
            assert figures[summary.step]["p99_us"] == summary.latency_us.get("p99")
    assert set(shown) == set(stored)
    assert {panel for panel, _ in watch.lines.points} >= {"throughput", "p95", "busy"}

    final = answer_so_far(store, "modes")
    assert [answer["blocks_done"] for answer in answers] == [1, 2]
    assert answers[-1]["text"] == final.text
    assert answers[-1]["means"] == [asdict(mean) for mean in final.means]
    with (store / "modes/report/cells.csv").open() as table:
        cells = {(row["cell"], row["clients"]) for row in csv.DictReader(table)}
    # A search that never missed, or did so at once, has no figure.
    assert {(mean.cell, str(mean.clients)) for mean in final.means} <= cells
    assert kind == "find_max" or len(final.means) == len(cells)
    assert f"so far, 1 of 2 blocks, not final: {answers[0]['text']}" in err.replace("\n  ", " ")
    assert watch.has_report


def test_a_bench_is_watched_as_a_study_is(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    inside = Inside(tmp_path / "results")
    url = f"sqlite://{tmp_path}/app.db"
    measure = ("--script", "kv_update", "--prepare", "--warm-up", "200ms", "--time", "1s")
    sides = ("--with", "synchronous=off", "--repeat", "2", "--no-pictures")
    watches: dict[str, StudyWatch] = {}
    states: set[str] = set()
    panels: set[str] = set()
    with start("bench", url, *measure, *sides, folder=tmp_path) as process:

        def look() -> bool:
            over = process.poll() is not None
            for name in inside.folders():
                watch = watches.setdefault(name, StudyWatch(inside, name))
                watch.look()
                states.add(watch.status)
                panels.update(panel for panel, _ in watch.lines.points)
            return over

        wait_until("the bench is over", look, limit_s=LIMIT_S)
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert {"running", "complete"} <= states <= {"idle", "running", "complete"}
    assert panels >= {"throughput", "p95", "busy"}
    (watch,) = watches.values()
    assert [answer["blocks_done"] for answer in watch.command.answers] == [1, 2]
    final = str(watch.command.answers[-1]["text"])
    assert " ".join(final.split()) in " ".join(out.split())
    printed = [str(line["text"]) for line in watch.command.printed]
    assert any(re.match(r"as-is +measure .* events/s, p95 ", line) for line in printed)
    assert set(printed) <= set(err.splitlines())


def test_a_note_set_while_it_runs_is_in_page_and_report(tmp_path: Path) -> None:
    (tmp_path / "modes.toml").write_text(HEAD + KINDS["runs"])
    store = tmp_path / "results"
    assert "no study runs in" in dbdyno("note", "too early", folder=tmp_path).err
    with start("run", "modes.toml", "--no-pictures", folder=tmp_path) as process:
        wait_until(
            "a run is up",
            lambda: process.poll() is not None or any(store.glob("modes/runs/*.partial")),
        )
        noted = dbdyno("note", "a vacuum started", folder=tmp_path)
        _, err = process.communicate()
    assert process.returncode == 0, err
    assert (noted.code, noted.out) == (0, "modes: a vacuum started\n"), noted.err
    report = (store / "modes/report.html").read_text()
    assert "a vacuum started" in report
    watch = StudyWatch(Inside(store), "modes")
    watch.look()
    marks = cast("list[dict[str, Any]]", watch.state()["marks"])
    assert [mark["text"] for mark in marks if mark["kind"] == "note"] == ["a vacuum started"]

    later = dbdyno("note", "looked at it", "--study", "modes", folder=tmp_path)
    assert later.code == 0
    assert "an empty note says nothing" in dbdyno("note", " ", folder=tmp_path).err


def test_a_port_that_is_taken_and_a_store_that_is_not_there_are_told(tmp_path: Path) -> None:
    refused = dbdyno("serve", "nowhere", folder=tmp_path)
    assert (refused.code, refused.one_error().split("\n")[0]) == (2, "there is no store nowhere")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = dbdyno("serve", ".", "--port", port, folder=tmp_path)
    assert refused.code == 6
    assert f"can't listen at 127.0.0.1, port {port}" in refused.one_error()
    (tmp_path / "short").write_text("short")
    refused = dbdyno("serve", ".", "--token-file", "short", folder=tmp_path)
    assert refused.code == 2
