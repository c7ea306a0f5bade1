"""A script whose event does not return: its line is told, and the figures of others stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from product import dbdyno

from dbdyno.store import Store

pytestmark = pytest.mark.slow

STUCK = """\
function prepare() end
function event(id)
  if id == 0 then
    while true do end
  end
end
"""
SAID = "stuck.lua:4: event() did not return within"

STUDY = """\
question = "Does it end?"

[server.lite]
provision = "sqlite"

[factor.journal]
delete = { settings = { journal_mode = "delete" } }
wal = { settings = { journal_mode = "wal" } }

[workload]
script = "stuck.lua"

[load]
clients = [2]
measure = "4 s"

[design]
blocks = 1
order = "ORDER"
"""


def test_a_bench_ends_with_the_script_s_line(tmp_path: Path) -> None:
    (tmp_path / "stuck.lua").write_text(STUCK)
    told = dbdyno(
        *("bench", "null:", "--script", "./stuck.lua", "--clients", "2", "--shards", "2"),
        *("--time", "1s", "--json"),
        folder=tmp_path,
    )
    assert told.code == 3, told.err
    assert SAID in told.err


@pytest.mark.parametrize("order", ["turns", "runs"])
def test_a_study_ends_with_it_and_keeps_what_was_measured(tmp_path: Path, order: str) -> None:
    (tmp_path / "stuck.lua").write_text(STUCK)
    (tmp_path / "stuck.toml").write_text(STUDY.replace("ORDER", order))
    told = dbdyno("run", "stuck.toml", "--store", "store", folder=tmp_path)

    assert told.code == 3, told.err
    assert SAID in told.err
    runs = Store(tmp_path / "store").study("stuck").runs()
    failed = [run for run in runs.values() if run.manifest.status == "failed"]
    assert failed
    for run in failed:
        assert run.manifest.error is not None
        assert SAID in run.manifest.error.message
        assert run.summaries[0].events > 0
