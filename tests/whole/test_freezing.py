"""Servers that are stopped while it is not their turn."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import cast

import psutil
import pytest

from dbdyno.conduct import conduct_study, open_study
from dbdyno.conduct.freezing import frozen
from dbdyno.design import plan
from dbdyno.engine import find_engine
from dbdyno.servers import Server, open_server
from dbdyno.store import Store

STUDY = """\
question = "Is a server faster than itself?"
server = { one = { provision = "postgresql@system" }, two = { provision = "postgresql@system" } }
workload = { script = "oltp_read_write", options = { tables = 1, table_size = 1000 } }
load = { clients = [4], warm_up = "100 ms", measure = "800 ms" }

[design]
blocks = 1
turn = "100 ms"
lead_in = "20 ms"
freeze = true
baseline = { server = "one" }
"""


def stopped(server: Server) -> set[bool]:
    states = {psutil.Process(pid).status() for pid in server.node.processes()}
    return {state == psutil.STATUS_STOPPED for state in states}


@pytest.mark.slow
def test_only_the_server_whose_turn_it_is_runs(tmp_path: Path) -> None:
    with (
        open_server("postgresql@system", {}, tmp_path / "a") as one,
        open_server("postgresql@system", {}, tmp_path / "b") as two,
    ):
        one.start()
        two.start()
        with frozen([one, two], wanted=True) as freezer:
            assert (stopped(one), stopped(two)) == ({True}, {True})
            with freezer.let_go_on(one):
                assert (stopped(one), stopped(two)) == ({False}, {True})
            assert stopped(one) == {True}
        assert (stopped(one), stopped(two)) == ({False}, {False})
        with frozen([one], wanted=False) as freezer, freezer.let_go_on(one):
            assert stopped(one) == {False}
        assert one.database.inside().rows("SELECT 1 AS one") == [{"one": 1}]


class ForksMeanwhile:
    """A server one of whose two processes does not exist yet when they are first listed."""

    def __init__(self, *pids: int) -> None:
        self._pids, self._listed = pids, 0
        self.node = self.entry = self

    def processes(self) -> tuple[int, ...]:
        self._listed += 1
        return self._pids[: self._listed]

    def proxies(self) -> tuple[int, ...]:
        return ()


def test_a_process_forked_while_its_server_is_stopped_stops_too() -> None:
    ours = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    try:
        server = cast(Server, ForksMeanwhile(*(one.pid for one in ours)))
        with frozen([server], wanted=True):
            assert [psutil.Process(one.pid).status() for one in ours] == [
                psutil.STATUS_STOPPED,
                psutil.STATUS_STOPPED,
            ]
    finally:
        for one in ours:
            one.kill()
            one.wait()


@pytest.mark.slow
def test_a_study_of_frozen_servers_measures(tmp_path: Path) -> None:
    file = tmp_path / "frozen.toml"
    file.write_text(STUDY)
    loaded = open_study(str(file))
    store = Store(tmp_path / "store")
    made = plan(loaded.study, seed=5)
    outcome = conduct_study(loaded, made, store, find_engine(), observe=lambda _: None)
    assert outcome.failures == ()
    for run in store.study("frozen").runs().values():
        assert len(run.turns) == 8
        assert sum(turn.events for turn in run.turns) > 0
