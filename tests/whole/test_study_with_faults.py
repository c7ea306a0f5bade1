"""A study with faults: they are made, their outages are measured, and nothing stays in force."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from product import dbdyno

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

STUDY = """\
question = "How long is the server away?"
primary = {{ metric = "write_outage_ms_p50", better = "lower" }}
server.one = {{ provision = "{provision}" }}

[workload]
script = "kv_update"
options = {{ table_size = 1000 }}

[load]
clients = [2]
measure = "16 s"
ledger = 1
arrival = {{ kind = "constant", rate = 50 }}
errors.reconnect = "60 s"
errors.expected = {{ connection = "100 %" }}
errors.rule = [{{ codes = ["all"], action = "retry", limit = 100000 }}]

[[fault]]
do = "pause"
at = "2 s"
for = "1 s"

[[fault]]
do = "kill"
at = "5 s"
for = "1 s"
during = "{during}"

[design]
blocks = 1
"""


@pytest.mark.parametrize(
    ("provision", "during"),
    [("postgresql@system", "SELECT pg_sleep(30)"), ("mariadb@system", "SELECT SLEEP(30)")],
)
def test_a_paused_and_killed_server_is_back_and_has_lost_nothing(
    provision: str, during: str, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(STUDY.format(provision=provision, during=during))

    done = dbdyno("run", "study.toml", "--store", "store", folder=tmp_path)

    assert done.code in (0, 1), done.err
    (folder,) = (tmp_path / "store" / "study" / "runs").iterdir()
    assert json.loads((folder / "manifest.json").read_text())["status"] == "complete"
    (summary,) = json.loads((folder / "summary.json").read_text())
    paused, killed = summary["faults"]
    assert [paused["do"], killed["do"]] == ["pause", "kill"]
    assert [paused["met_statement"], killed["met_statement"]] == [None, True]
    for fault in (paused, killed):
        away_ms = (fault["back_ns"] - fault["at_ns"]) / 1e6
        assert away_ms >= 1000
        # Pauses end for the last clients a little later than for the lab.
        assert fault["outage_ms"]["write"] >= 950
        assert fault["outage_ms"]["ledger"] >= 950
        assert fault["lost_commits"] == 0
    assert summary["figures"]["lost_commits"] == 0
    assert summary["figures"]["ledger_commits"] > 0
    assert killed["noticed_ms"] is not None
    with gzip.open(folder / "logs" / "probes-0.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    assert {row["kind"] for row in rows} == {"write", "read", "connect"}
    assert any(row["code"] for row in rows)
    page = (tmp_path / "store" / "study" / "report.html").read_text()
    assert "Outages: from the last success of a probe to the next" in page
    assert "Acknowledged commits that faults lost" in page
    exported = dbdyno(
        "export", "study", "--format", "elle", "--out", "out", "--store", "store", folder=tmp_path
    )
    assert exported.code == 0, exported.err
    (history,) = (tmp_path / "out").iterdir()
    operations = history.read_text()
    assert operations.count(":type :ok, :f :txn") > summary["figures"]["ledger_commits"]
    assert operations.count(":process :nemesis") == 4
    # Both clocks are the lab's: what the probes and what the ledger missed is one stretch of time.
    with gzip.open(folder / "logs" / "ledger-0.csv.gz", "rt") as file:
        noted = [int(row["acknowledged_ns"] or 0) for row in csv.DictReader(file)]
    written = [int(row["ended_ns"]) for row in rows if row["kind"] == "write" and not row["code"]]
    for fault in (paused, killed):
        begin, end = longest_gap(written, fault["at_ns"], fault["back_ns"])
        other_begin, other_end = longest_gap(noted, fault["at_ns"], fault["back_ns"])
        assert max(begin, other_begin) < min(end, other_end)


def test_a_load_that_fails_before_its_first_fault_says_why(tmp_path: Path) -> None:
    study = STUDY.format(provision="postgresql@system", during="SELECT pg_sleep(30)")
    study = study.replace('script = "kv_update"', 'script = "stops.lua"')
    study = study.replace("options = { table_size = 1000 }", "")
    (tmp_path / "study.toml").write_text(study)
    (tmp_path / "stops.lua").write_text(
        "function prepare() end\nfunction event() error('out of ideas') end\n"
    )

    done = dbdyno("run", "study.toml", "--store", "store", folder=tmp_path)

    assert done.code == 3, done.err
    assert "out of ideas" in done.err
    assert "fault of dbdyno's own" not in done.err


def longest_gap(times_ns: Sequence[int], at_ns: int, back_ns: int) -> tuple[int, int]:
    """Between two acknowledgements next to each other, of those that overlap with a fault."""
    gaps = pairwise(sorted(times_ns))
    meant = [(begin, end) for begin, end in gaps if end > at_ns and begin < back_ns]
    return max(meant, key=lambda gap: gap[1] - gap[0])
