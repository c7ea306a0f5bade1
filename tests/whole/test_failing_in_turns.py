"""One of two cells in turns fails by its script: it alone is told so, whoever comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct import conduct_study, open_study
from dbdyno.design import plan
from dbdyno.engine import find_engine
from dbdyno.store import Store

SCRIPT = """\
function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE t (id INTEGER PRIMARY KEY)")
end
function thread_init() con = sysbench.sql.driver():connect() end
function event()
   if tonumber(con:query_row("PRAGMA synchronous")) == 1 then
      error("this level is refused by the script")
   end
end
"""
STUDY = """\
question = "Which of two cells failed?"
[server.sqlite]
provision = "sqlite"
[factor.sync]
good = { settings = { synchronous = "full" } }
bad = { settings = { synchronous = "normal" } }
[workload]
script = "pick"
[load]
clients = [1]
measure = "400 ms"
[design]
blocks = 1
turn = "100 ms"
lead_in = "0 s"
baseline = { sync = "good" }
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
def test_the_cell_that_failed_is_told_and_the_other_goes_on(tmp_path: Path, seed: int) -> None:
    (tmp_path / "pick.lua").write_text(SCRIPT)
    file = tmp_path / "pick.toml"
    file.write_text(STUDY)
    loaded, store = open_study(str(file)), Store(tmp_path / "store")
    made = plan(loaded.study, seed=seed)
    assert made.order == "turns"

    outcome = conduct_study(loaded, made, store, find_engine(), observe=lambda _: None)

    assert (outcome.complete, [run.id for run in outcome.failures]) == (1, ["b1-bad"])
    runs = store.study("pick").runs()
    error = runs["b1-bad"].manifest.error
    assert error is not None
    assert (error.kind, error.exit_code) == ("ScriptError", 3)
    assert error.message.endswith("pick.lua:8: this level is refused by the script")
    good = runs["b1-good"]
    assert (good.manifest.status, good.manifest.error) == ("complete", None)
    assert len({turn.round for turn in good.turns}) == 4
