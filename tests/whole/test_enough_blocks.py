"""A study that stops by its own rule, on a real database."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.cli import call
from dbdyno.store import Store

STUDY = """
question = "Does a larger page pay?"

[server.small]
provision = "sqlite"
settings = { page_size = 4096 }

[server.large]
provision = "sqlite"
settings = { page_size = 16384 }

[workload]
script = "looks.lua"

# What the machine does besides must not decide: at this pace a rate hardly depends on it.
[load]
clients = 1
arrival = { kind = "poisson", rate = 200 }
warm_up = "0 s"
measure = "400 ms"

[design]
blocks = 6
turn = "200 ms"
lead_in = "0 s"
stop = { half_width = "HALF" }
baseline = { server = "small" }
"""

SCRIPT = """
function prepare()
  sysbench.sql.driver():connect():query("CREATE TABLE t (id INTEGER PRIMARY KEY)")
end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT count(*) FROM t") end
"""


@pytest.mark.parametrize(
    ("half_width", "blocks", "gate"),
    [
        ("100 %", 5, "5 blocks: every interval is within"),
        pytest.param("0.001 %", 6, "6 blocks did not reach", marks=pytest.mark.nightly),
    ],
)
def test_it_ends_with_the_first_block_that_is_enough_or_with_the_last(
    tmp_path: Path,
    half_width: str,
    blocks: int,
    gate: str,
    every_turn_counts: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "pages.toml").write_text(STUDY.replace("HALF", half_width))
    (tmp_path / "looks.lua").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    assert call(["check", "pages.toml"]) == 0
    assert "5 to 6 blocks" in capfd.readouterr().out

    code, err = call(["run", "pages.toml"]), capfd.readouterr().err
    assert code == 0, err
    assert ("enough blocks" in err) == (blocks == 5)
    store = Store(tmp_path / "results")
    assert len(store.study("pages").runs()) == 2 * blocks
    assert gate in (tmp_path / "results/pages/report.html").read_text()

    for again in (["run", "pages.toml"], ["resume", "pages"]):
        assert call(again) == 0, capfd.readouterr().err
        assert len(store.study("pages").runs()) == 2 * blocks
    assert store.names() == ("pages",)
