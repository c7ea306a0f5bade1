"""An error that the study names ends a window, whose figures count."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct import conduct_study, open_study
from dbdyno.design import plan
from dbdyno.engine import find_engine
from dbdyno.errors import StudyError
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather
from dbdyno.store import Store

SCRIPT = """\
function prepare()
   sysbench.sql.driver():connect():query("CREATE TABLE t (id INTEGER PRIMARY KEY, pad TEXT)")
end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("INSERT INTO t (pad) VALUES ('" .. string.rep("x", 3000) .. "')") end
"""
STUDY = """\
question = "How long until the file is full?"
[server.sqlite]
provision = "sqlite"
settings = { max_page_count = 300, synchronous = "off" }
[workload]
script = "fill"
[load]
clients = [1, 2]
measure = "10 min"
[[load.errors.rule]]
codes = 13
action = "end-load"
[design]
blocks = 1
"""


def written(tmp_path: Path, study: str = STUDY) -> Path:
    (tmp_path / "fill.lua").write_text(SCRIPT)
    file = tmp_path / "fill.toml"
    file.write_text(study)
    return file


@pytest.mark.slow
def test_a_window_ends_with_the_error_that_the_study_names(tmp_path: Path) -> None:
    loaded, store = open_study(str(written(tmp_path))), Store(tmp_path / "store")

    outcome = conduct_study(
        loaded, plan(loaded.study), store, find_engine(), observe=lambda _: None
    )

    assert (outcome.complete, outcome.failures) == (1, ())
    [run] = store.study("fill").runs().values()
    first, second = run.summaries
    assert 200 < first.events < 300, "each row takes a page of 4 KiB"
    assert 0 < first.window_s < 600
    assert first.errors_by_code == {"13": 1}
    [warning] = run.manifest.steps[0].warnings
    assert warning["code"] == "ended"
    message = str(warning["message"])
    assert message.startswith("the window ended after ")
    assert message.endswith("s by an error: database or disk is full (number 13)")
    assert not first.interrupted and not second.interrupted
    analysis = analyse(gather(store.root, "fill"))
    [gate] = [gate for gate in gates(analysis) if gate.name == "Ended early"]
    assert gate.brief == "2 windows ended early"


@pytest.mark.slow
def test_outside_of_a_window_the_error_ends_the_run(tmp_path: Path) -> None:
    study = STUDY.replace('measure = "10 min"', 'warm_up = "10 min"\nmeasure = "1 s"')
    loaded, store = open_study(str(written(tmp_path, study))), Store(tmp_path / "store")

    outcome = conduct_study(
        loaded, plan(loaded.study), store, find_engine(), observe=lambda _: None
    )

    [failure] = outcome.failures
    assert failure.error is not None
    assert "database or disk is full" in failure.error.message


def test_a_search_has_no_such_end(tmp_path: Path) -> None:
    study = STUDY.replace("clients = [1, 2]", 'clients = 1\nfind_max = { p99 = "10 ms" }')
    with pytest.raises(StudyError, match="`end-load` would leave a search without its window"):
        open_study(str(written(tmp_path, study)))


def test_cells_with_such_an_end_take_no_turns(tmp_path: Path) -> None:
    levels = "[factor.sync]\na = { settings = { cache_size = 1 } }\nb = {}\n[workload]"
    loaded = open_study(str(written(tmp_path, STUDY.replace("[workload]", levels))))

    assert plan(loaded.study).order == "runs"
