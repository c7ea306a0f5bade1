"""Cells whose file systems differ, up together for real: each server's data lies on its own."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.conduct import conduct_study, open_study
from dbdyno.design import plan
from dbdyno.engine import find_engine
from dbdyno.guard import sweep
from dbdyno.servers.nodes.place import DATA_VARIABLE
from dbdyno.store import Store

STUDY = """\
question = "Does the journal of the file system cost?"

[server.one]
provision = "postgresql@system"

[factor.journal.ordered]
host = { filesystem = { kind = "ext4", size = "128 MB" } }

[factor.journal.none]
host = { filesystem = { kind = "ext4", size = "128 MB", make_options = ["-O", "^has_journal"] } }

[workload]
script = "oltp_point_select"
options = { tables = 1, table_size = 100 }

[load]
clients = [2]
warm_up = "100 ms"
measure = "1 s"

[design]
blocks = 1
turn = "500 ms"
baseline = { journal = "ordered" }
"""


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder of this test alone, open to the servers' account: other tests mount, too."""
    with tempfile.TemporaryDirectory(dir=sweep.temporary_parents()[-1]) as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")
def test_each_cell_has_a_file_system_of_its_own(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "disks.toml"
    file.write_text(STUDY)
    loaded = open_study(str(file))
    made = plan(loaded.study, seed=5)
    assert made.order == "turns"

    monkeypatch.setenv(DATA_VARIABLE, str(data))
    store = Store(tmp_path / "store")
    outcome = conduct_study(loaded, made, store, find_engine(), observe=lambda _: None)

    assert outcome.failures == ()
    runs = dict(store.study("disks").runs())
    assert all(run.read("turns.parquet") for run in runs.values())
    devices = {
        dict(run.manifest.cell)["journal"]: json.loads(run.read("facts.json"))["host"]["storage"]
        for run in runs.values()
    }
    assert set(devices) == {"ordered", "none"}
    assert devices["ordered"]["file_system"] == devices["none"]["file_system"] == "ext4"
    assert devices["ordered"]["source"] != devices["none"]["source"]
    assert str(data) not in Path("/proc/self/mounts").read_text()
    assert list(data.iterdir()) == []
