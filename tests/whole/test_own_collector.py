"""A collector of the user's own beside a real load: kept with the run, and told before it is begun
if it is none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from product import dbdyno

from dbdyno.store import Store

STUDY = """\
question = "How fast is a file?"

[server.lite]
provision = "sqlite"

[workload]
script = "kv_update"

[load]
clients = 1
warm_up = "0 s"
measure = "2 s"

[design]
blocks = 1

[[chart]]
kind = "metrics-over-time"
metrics = ["run_queue.runnable", "pages.held"]
"""
EXAMPLE = Path(__file__).parents[1] / "collect" / "run_queue.py"


@pytest.mark.slow
def test_what_it_reads_is_kept_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        STUDY.replace("[server", 'collect = ["./pages"]\n\n[server', 1)
    )
    shutil.copy(EXAMPLE, tmp_path)
    pages = tmp_path / "pages"
    pages.write_text('#!/bin/sh\nset -- "$DBDYNO_DATA_FOLDER"/*.db\n[ -e "$1" ]; echo held $?\n')
    pages.chmod(0o755)

    told = dbdyno("run", "own.toml", "--collector", "run_queue.py", folder=tmp_path)

    assert told.code == 0, told.err
    (run,) = Store(tmp_path / "results").study("own").runs().values()
    assert run.metrics is not None
    table, _ = run.metrics
    rows = table.select(["source", "metric", "value"]).to_pylist()
    held = [row["value"] for row in rows if (row["source"], row["metric"]) == ("pages", "held")]
    assert held
    assert set(held) == {0.0}, "it finds the database file in the folder it is told of"
    assert any(row["source"] == "run_queue" for row in rows)
    kept = json.loads(run.read("manifest.json"))["collected"]
    assert len(kept["run_queue"]["sha256"]) == len(kept["pages"]["sha256"]) == 64
    page = (tmp_path / "results/own/report.html").read_text()
    assert 'data-chart="metrics-over-time-run_queue-runnable"' in page


def test_one_that_is_none_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(STUDY)
    (tmp_path / "queue.py").write_text("COLLECTOR = \n")

    told = dbdyno("check", "own.toml", "--collector=queue.py", "--run-code", folder=tmp_path)

    assert told.code == 2
    assert "queue.py:1: invalid syntax" in told.one_error()
    told = dbdyno("check", "own.toml", folder=tmp_path)
    assert "no source has `run_queue.runnable`" in told.one_error()
