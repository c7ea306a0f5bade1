"""A workload's own check after each step: silent while its conditions hold, and a row that somebody
tampered with fails the run and stands in the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from product import dbdyno

from dbdyno.conduct import bundled_studies
from dbdyno.design.cells import cells
from dbdyno.formats.study import read_study

VANDAL = """\
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("UPDATE tpcc_district SET ytd = ytd + 5 WHERE w_id = 1") end
"""

STUDY = """\
question = "Are orders kept?"

[server.lite]
provision = "sqlite"
settings = { synchronous = "off" }

[workload]
script = "tpcc_like"
options = { warehouses = 1, reduction = 100, check_after = true }

[load]
clients = 1
measure = "500 ms"

[design]
blocks = 1
"""

GROUP = """
[load.group.vandal]
clients = 1
script = "vandal"
think_time = "50 ms"
"""


def test_every_study_with_orders_checks_them() -> None:
    unchecked = [
        f"{name}, {scale}: {cell.label}"
        for name, file in bundled_studies().items()
        for scale in read_study(file).study.scales
        for cell in cells(read_study(file, scale=scale).study)
        if cell.script == "tpcc_like" and cell.options.get("check_after") is not True
    ]

    assert unchecked == []


@pytest.mark.slow
def test_orders_are_found_as_they_must_be_after_a_step(tmp_path: Path) -> None:
    (tmp_path / "orders.toml").write_text(STUDY)

    told = dbdyno("run", "orders.toml", "--json", folder=tmp_path)

    assert told.code == 0, told.err
    assert json.loads(told.out)["failed"] == []


@pytest.mark.slow
def test_a_row_that_is_tampered_with_fails_the_run_which_says_why(tmp_path: Path) -> None:
    (tmp_path / "vandal.lua").write_text(VANDAL)
    (tmp_path / "orders.toml").write_text(STUDY + GROUP)

    told = dbdyno("run", "orders.toml", "--json", folder=tmp_path)

    assert told.code == 3, told.err  # the script found it
    (run,) = (tmp_path / "results/orders/runs").iterdir()
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "failed"
    for condition in (
        "condition 1, a warehouse was paid what its districts were paid",
        "condition 9, a district was paid what the history says",
    ):
        assert condition in manifest["error"]["message"]
