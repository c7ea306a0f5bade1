"""A study on a real PostgreSQL, killed in the middle and carried on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from product import LIMIT_S, dbdyno, start, under_load, wait_until

from dbdyno.store import StoredRun
from traces import descendants, wait_until_gone

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

STUDY = """\
question = "What does a larger work memory cost?"

[server.pg]
provision = "postgresql:18.0.0@maven"

[settings]
less = { work_mem = "1MB" }
more = { work_mem = "8MB" }

[workload]
script = "kv_update"
options = { table_size = 100 }

[load]
clients = [1, 3]
warm_up = "500 ms"
measure = "1 s"
interval = "500 ms"

[design]
blocks = 2
baseline = { settings = "less" }
"""


def test_after_kill_9_resume_finishes_only_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "memory.toml").write_text(STUDY)
    runs = tmp_path / "results/memory/runs"
    with start("run", "memory.toml", folder=tmp_path) as process:
        wait_until(
            "the second run is under load",
            lambda: process.poll() is not None or (len(finished(runs)) == 1 and under_load(runs)),
            limit_s=LIMIT_S,
        )
        assert process.poll() is None, process.communicate()[1]
        below = descendants(process.pid)[1:]
        process.kill()
        process.communicate()
    wait_until_gone(below)
    (first,) = before = finished(runs)
    digest = digests(runs / first)

    told = dbdyno("resume", "memory", folder=tmp_path)
    assert (told.code, told.out) == (0, "results/memory/report.html\n"), told.err
    assert "1 of 4 runs are in the store already" in told.err
    assert digests(runs / first) == digest
    order = [run["id"] for run in json.loads((runs / "../study.json").read_text())["plan"]["runs"]]
    assert before == order[:1]
    killed, *others = order[1:]
    attempts = {order[0]: 1, killed: 2, **dict.fromkeys(others, 1)}
    folders = {run: run if number == 1 else f"{run}~2" for run, number in attempts.items()}
    assert sorted(path.name for path in runs.iterdir()) == sorted([*folders.values(), killed])
    assert f"note: {killed}: the lab was killed; what was measured until" in told.err
    kept = StoredRun(runs / killed)
    kept.check(whole=True)
    assert kept.manifest.status == "interrupted"
    assert kept.series.num_rows > 0
    assert kept.metrics is not None
    sources = set(kept.metrics[0].column("source").to_pylist())
    assert {"processor", "postgresql"} <= sources
    assert [span.name for span in kept.manifest.phases][:2] == ["provision", "prepare"]
    assert kept.document("facts.json") != {}
    for run, folder in folders.items():
        manifest = json.loads((runs / folder / "manifest.json").read_text())
        assert (manifest["status"], manifest["attempt"]) == ("complete", attempts[run])
        figures = json.loads((runs / folder / "summary.json").read_text())
        assert [figure["clients"] for figure in figures] == [1, 3]
        assert all(figure["events"] > 0 for figure in figures)

    again = dbdyno("resume", "memory", folder=tmp_path)
    assert "nothing is missing" in again.err


def finished(runs: Path) -> list[str]:
    """Runs that have their name."""
    return [path.name for path in runs.glob("*") if not path.name.endswith(".partial")]


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }
