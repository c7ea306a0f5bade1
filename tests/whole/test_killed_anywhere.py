"""A lab killed at twenty random moments: what it had in its journals is a stored run."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from product import LIMIT_S, start, wait_until

from dbdyno.store import StoredRun
from dbdyno.store.recovery import recover_runs
from dbdyno.store.run_journal import journalled
from traces import descendants, wait_until_gone

STUDY = """\
question = "What does a mode cost?"

[server.sqlite]
provision = "sqlite"

[factor.journal]
delete = { settings = { journal_mode = "delete" } }
wal = { settings = { journal_mode = "wal" } }

[workload]
script = "kv_update"
options = { tables = 1, table_size = 1000 }

[load]
clients = [1, 2]
warm_up = "500 ms"
measure = "6 s"

[design]
blocks = 2
order = "turns"
turn = "2 s"
baseline = { journal = "delete" }
"""


@pytest.mark.nightly
@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("moment", range(20))
def test_whatever_the_moment_nothing_in_a_journal_is_lost(moment: int, tmp_path: Path) -> None:
    (tmp_path / "modes.toml").write_text(STUDY)
    runs = tmp_path / "results/modes/runs"
    journals = "*.partial/journal-host.log"
    lines = random.Random(moment).randrange(1, 60)

    def is_time() -> bool:
        sizes = [path.read_bytes().count(b"\n") for path in runs.glob(journals)]
        return process.poll() is not None or (bool(sizes) and min(sizes) >= lines)

    with start("run", "modes.toml", folder=tmp_path) as process:
        wait_until(f"{lines} samples of the host are kept", is_time, limit_s=LIMIT_S)
        below = descendants(process.pid)[1:]
        process.kill()
        process.communicate()
    wait_until_gone(below)
    left = {path.name.removesuffix(".partial"): journalled(path) for path in runs.glob("*.partial")}
    recovered = {run.id: run for run in recover_runs(runs)}
    heads = {name for name, journal in left.items() if journal.manifest is not None}

    assert set(recovered) == heads
    for name in heads:
        stored = StoredRun(runs / name)
        stored.check(whole=True)
        assert stored.turns == tuple(left[name].turns)
        assert [span.name for span in stored.manifest.phases] == [
            name for name, _ in left[name].phases
        ]
        assert stored.metrics is not None
        assert stored.metrics[0].num_rows == len(left[name].samples) > 0
    assert not list(runs.glob("*.partial"))
