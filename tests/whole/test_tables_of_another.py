"""A script without tables of its own, on those that another script makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from product import dbdyno

pytestmark = pytest.mark.slow

READER = """\
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT value FROM kv1 WHERE id = " .. sysbench.opt.id) end
sysbench.cmdline.options = { id = { "The row that is read", 1 } }
"""

STUDY = """\
question = "Are they found?"

[server.lite]
provision = "sqlite"

[workload]
script = "reader"
options = { id = 7 }
tables = { script = "kv_update", options = { table_size = 50 } }

[load]
clients = 1
measure = "500 ms"

[design]
blocks = 1
"""


def test_a_script_without_prepare_finds_another_s_tables(tmp_path: Path) -> None:
    (tmp_path / "reader.lua").write_text(READER)
    (tmp_path / "films.toml").write_text(STUDY)

    checked = dbdyno("check", "films.toml", folder=tmp_path)
    ran = dbdyno("run", "films.toml", folder=tmp_path)

    assert (checked.code, ran.code) == (0, 0), checked.err + ran.err
    (run,) = (tmp_path / "results/films/runs").iterdir()
    (load,) = json.loads((run / "manifest.json").read_text())["loads"]
    assert (load["table"], load["sent"], load["rows"]) == ("kv1", 50, 50)
    (step,) = json.loads((run / "summary.json").read_text())
    assert step["events"] > 0


def test_a_script_for_tables_that_is_not_there_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "reader.lua").write_text(READER)
    (tmp_path / "films.toml").write_text(STUDY.replace("kv_update", "kv_updat"))

    checked = dbdyno("check", "films.toml", folder=tmp_path)

    assert "films.toml:9:" in checked.one_error()
    assert "kv_update" in checked.err
