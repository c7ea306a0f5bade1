"""Cells that differ in options, up together and in turns: each on a server and data of its own."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from dbdyno.conduct import conduct_study, open_study
from dbdyno.design import plan
from dbdyno.engine import find_engine
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.material.gather import gather
from dbdyno.stats import Verdict
from dbdyno.store import Store
from dbdyno.store.turns import from_parquet

SCRIPT = """\
sysbench.cmdline.options = {
   rows = {"Rows", 2000},
   unused = {"Changes nothing", 0},
}
function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
   con:bulk_insert_init("INSERT INTO t (id, n) VALUES")
   for i = 1, sysbench.opt.rows do con:bulk_insert_next(("(%d, 0)"):format(i)) end
   con:bulk_insert_done()
end
function thread_init()
   con = sysbench.sql.driver():connect()
end
function event()
   con:query("SELECT n FROM t WHERE id = " .. sysbench.rand.uniform(1, sysbench.opt.rows))
end
"""

STUDY = """\
question = "Does an option that changes nothing matter?"
primary = {{ metric = "throughput", better = "higher", smallest_effect = "10 %" }}

[server.postgresql]
provision = "postgresql@system"
settings = {{ fsync = false }}

[factor.option]
zero = {{ options = {{ unused = 0 }} }}
one = {{ options = {{ unused = 1, rows = 2000 }} }}

[workload]
script = "same"

[load]
clients = [2]
warm_up = "200 ms"
measure = "{measure}"

[design]
together = "all"
blocks = {blocks}
turn = "{turn}"
lead_in = "100 ms"
baseline = {{ option = "zero" }}
"""


def run(folder: Path, *, measure: str, blocks: int, turn: str, seed: int) -> Store:
    folder.mkdir(exist_ok=True)
    (folder / "same.lua").write_text(SCRIPT)
    file = folder / "unlike.toml"
    file.write_text(STUDY.format(measure=measure, blocks=blocks, turn=turn))
    loaded = open_study(str(file))
    store = Store(folder / "store")
    made = plan(loaded.study, seed=seed)
    assert made.order == "turns"
    outcome = conduct_study(loaded, made, store, find_engine(), observe=lambda _: None)
    assert outcome.failures == ()
    return store


@pytest.mark.slow
def test_cells_with_other_options_take_turns(tmp_path: Path) -> None:
    store = run(tmp_path, measure="1200 ms", blocks=1, turn="300 ms", seed=5)

    turns = sorted(
        (turn.start_unix_ns, turn.drained_unix_ns, turn.round, name)
        for name, stored in store.study("unlike").runs().items()
        for turn in from_parquet(stored.read("turns.parquet"))
    )
    assert [number for *_, number, _ in turns] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert all(before[1] <= after[0] for before, after in pairwise(turns))
    options = {
        str(stored.manifest.options["unused"]) for stored in store.study("unlike").runs().values()
    }
    assert options == {"0", "1"}


def judged(store: Store) -> Analysis:
    return analyse(gather(store.root, "unlike"))


def verdict_of_the_same(folder: Path, seed: int) -> Verdict:
    store = run(folder, measure="2 s", blocks=3, turn="100 ms", seed=seed)
    (comparison,) = judged(store).comparisons
    return comparison.judgement.verdict


@pytest.mark.nightly
@pytest.mark.slow
def test_two_cells_that_do_the_same_are_not_called_different(tmp_path: Path) -> None:
    """Of ten studies; by the rate of wrong verdicts a single one may, in one of four nights."""
    verdicts = [verdict_of_the_same(tmp_path / str(seed), seed) for seed in range(10)]

    calm = [verdict for verdict in verdicts if verdict in (Verdict.EQUIVALENT, Verdict.CANNOT_TELL)]
    assert len(calm) >= 9, verdicts
