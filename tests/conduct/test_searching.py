"""Searches that come to no end: what was measured by then is kept, and what comes next goes on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from intervals import is_interval

from dbdyno.conduct import Event, conduct_study, open_study
from dbdyno.design import plan
from dbdyno.engine import find_engine
from dbdyno.errors import InterruptedRunError
from dbdyno.store import Store

pytestmark = pytest.mark.usefixtures("replay_engine")


@pytest.fixture
def searching(study_file: Path) -> Path:
    """Its probes all have the same recorded summary, with two errors."""
    table = '{ p50 = "1 s", from = 100, to = 400 }'
    text = study_file.read_text().replace("[1, 4]", f"4\nfind_max = {table}")
    study_file.write_text(text)
    return study_file


def with_act(file: Path, act: str) -> None:
    """Makes the cell `wal` play something else."""
    old = 'wal = { settings = { journal_mode = "wal" } }'
    new = old.removesuffix(" }") + f', options = {{ act = "{act}" }} }}'
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_server_that_is_lost_fails_its_own_search_only(searching: Path, tmp_path: Path) -> None:
    with_act(searching, "lose the server")
    store = Store(tmp_path / "store")
    loaded = open_study(str(searching))
    outcome = conduct_study(
        loaded, plan(loaded.study), store, find_engine(), observe=lambda _: None
    )

    assert outcome.complete == 1
    runs = store.study("example").runs()
    lost, whole = runs["b1-wal"], runs["b1-delete"]
    assert lost.manifest.status == "failed"
    assert [(one.interrupted, one.search and one.search.probes) for one in lost.summaries] == [
        (True, ())
    ]
    (summary,) = whole.summaries
    assert summary.search is not None
    assert [(probe.rate_per_s, probe.missed) for probe in summary.search.probes] == [
        (summary.search.first_per_s, ("errors",))
    ] * 2
    assert whole.series.num_rows == 3, "of the chosen probe alone"
    whole.verify()
    lost.verify()


def test_ctrl_c_keeps_what_was_measured(searching: Path, tmp_path: Path) -> None:
    with_act(searching, "wait")
    store = Store(tmp_path / "store")
    loaded = open_study(str(searching))

    def interrupt(event: Event) -> None:
        if is_interval(event) and event.run.cell.levels["journal"] == "wal":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(InterruptedRunError):
        conduct_study(loaded, plan(loaded.study), store, find_engine(), observe=interrupt)

    cut = store.study("example").runs()["b1-wal"]
    assert cut.manifest.status == "interrupted"
    assert [summary.interrupted for summary in cut.summaries] == [True]
    assert cut.series.num_rows > 0
    cut.verify()
