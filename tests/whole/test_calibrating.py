"""Calibrating for real, on a database in process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from product import dbdyno

from dbdyno.cli import call

STUDY = """\
question = "Does it matter?"

[server.lite]
provision = "sqlite"

[workload]
script = "kv_update"
options = { table_size = 100 }

[load]
clients = [1, 2]
measure = "1 s"

[design]
turn = "200 ms"
lead_in = "50 ms"
"""

# The same baseline, and something to compare it with.
TWO_CELLS = (
    STUDY.replace(
        "[workload]",
        """\
[factor.journal]
delete = { settings = {} }
wal = { settings = { journal_mode = "wal" } }

[workload]""",
    )
    + 'baseline = { journal = "delete" }\n'
)


@pytest.mark.slow
@pytest.mark.nightly  # A calibration and two studies: a minute and a half.
def test_the_noise_of_a_workload_is_told_and_kept_for_studies_to_come(
    tmp_path: Path,
    clean: None,
    every_turn_counts: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "own.toml").write_text(STUDY)

    monkeypatch.chdir(tmp_path)
    code = call(["calibrate", "own.toml", "--time", "12s", "--json"])

    told = capfd.readouterr()
    assert code == 0, told.err
    found = json.loads(told.out)
    assert (found["clients"], found["pairs"]) == (2, 10)
    assert found["ratio_low"] <= found["ratio"] <= found["ratio_high"]
    assert found["within_sd"] > 0
    assert found["smallest_effect_by_minutes"]["60"] < found["smallest_effect_by_minutes"]["5"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.toml", "results"]
    kept = [path.name for path in (tmp_path / "results").iterdir() if path.name != ".lock"]
    assert kept == ["noise.json"]
    (tmp_path / "own.toml").write_text(TWO_CELLS)
    sees = json.loads(dbdyno("check", "own.toml", "--json", folder=tmp_path).out)["sees"]
    assert 0 < sees["effect"] < 10
    assert sees["noise"]["within_sd"] == found["within_sd"]
    checked = dbdyno("check", "own.toml", folder=tmp_path).out
    assert "noise    this machine would see a change of about " in checked
    assert "% in throughput (kv_update, 2 clients; calibrated on " in checked
    ran = dbdyno("run", "own.toml", "--blocks", "2", folder=tmp_path)
    assert ran.code == 0, ran.err
    assert "this machine would see a change of about " in ran.err
