"""A study under open load, with groups beside the step's clients, in several engine processes."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from product import dbdyno

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

STUDY = """\
question = "What do readers feel of a writer?"

[server.pg]
provision = "postgresql:18.0.0@maven"

[workload]
script = "oltp_point_select"
options = { tables = 1, table_size = 1000 }

[load]
clients = 4
arrival = { kind = "constant", rate = 200 }
warm_up = "1 s"
measure = "3 s"
processes = 2

[load.group.writer]
clients = 2
script = "kv_update"
options = { table_size = 100 }
prepare = true
think_time = "10 ms"
reconnect_every = 20

[load.group.crowd]
clients = 9
idle = true

[[load.errors.rule]]
codes = "40"
action = "retry"
limit = 3

[design]
blocks = 1
"""


def table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def document(path: Path) -> Any:
    return json.loads(path.read_text())


def test_groups_run_beside_an_open_loop(tmp_path: Path) -> None:
    (tmp_path / "beside.toml").write_text(STUDY)
    told = dbdyno("run", "beside.toml", folder=tmp_path)
    assert told.code == 0, told.err

    run = tmp_path / "results/beside/runs/b1-all"
    (summary,) = document(run / "summary.json")
    labels = summary["latency_by_label_us"]
    assert {"event.main.wait", "event.main.service", "event.main.response"} <= set(labels)
    assert "event.writer.service" in labels and "event.writer.response" not in labels
    assert "event.crowd.service" not in labels
    counts = {
        histogram["label"]: histogram["count"]
        for histogram in summary["record"]["histograms"]
        if (histogram["subject"], histogram["time"]) == ("event", "service")
    }
    series = pq.read_table(run / "series.parquet").to_pylist()
    # Of 200 a second for three seconds: what was due before the window or is so behind it.
    slack = 10 + max(row["backlog"] for row in series)
    assert counts["main"] == pytest.approx(600, abs=slack)
    # Of each of six clients the event in flight at the window's end is timed, and not counted.
    in_flight = counts["main"] + counts["writer"] - summary["events"]
    assert 0 <= in_flight <= 6
    assert summary["clients"] == 15
    assert summary["reconnects"] == pytest.approx(counts["writer"] / 20, abs=4)
    assert summary["errors"] == 0

    measured = [row for row in series if row["phase"] == "measure"]
    assert sum(row["events"] for row in measured) == summary["events"]
    assert max(row["backlog"] for row in measured) == summary["backlog"]["highest"]
    kept = sorted(path.name for path in (run / "logs").glob("*.zst"))
    assert kept == ["step-0-part-0.ndjson.zst", "step-0-part-1.ndjson.zst"]
    assert "logs/step-0-part-0.ndjson.zst" in (run / "SHA256SUMS").read_text()
    (step,) = document(run / "manifest.json")["steps"]
    assert step["status"] == "complete"
    page = tmp_path / "results/beside/report"
    (row,) = table(page / "open-loop.csv")
    assert float(row["response_p99_us"]) == pytest.approx(summary["latency_us"]["p99"])
    assert int(row["backlog_highest"]) == summary["backlog"]["highest"]
    groups = {(row["group"], row["time"]) for row in table(page / "labels.csv")}
    assert groups >= {("main", "wait"), ("main", "response"), ("writer", "service")}
    assert "Load was closed" not in (tmp_path / "results/beside/report.html").read_text()
