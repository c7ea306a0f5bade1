"""What collectors' queries cost the server, and how rarely a costly source is sampled."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dbdyno.collect import Sampler, Watched, collectors
from dbdyno.collect.pace import LONGEST_S, SHARE, Pace
from dbdyno.collect.served import Served
from dbdyno.servers import open_server
from moving import fetch_or_skip

SPIN_S = 0.3


class Session:
    """Served by a thread of ours, or by nobody knows whom."""

    def __init__(self, thread: int | None) -> None:
        self.thread = thread

    def rows(self, _statement: str) -> Sequence[Mapping[str, object]]:
        return ()

    def serving_thread(self) -> int | None:
        return self.thread

    def close(self) -> None:
        pass


def spin() -> None:
    end = time.thread_time() + SPIN_S
    while time.thread_time() < end:
        pass


def test_the_account_is_that_of_the_thread_that_serves() -> None:
    served = Served(lambda: Session(threading.get_native_id()))
    served.ask()
    spin()
    served.look()
    before = served.cpu_s()
    spin()
    after = served.cpu_s()

    assert before is not None
    assert after is not None
    assert before < SPIN_S
    assert SPIN_S <= after - before < SPIN_S + 0.05


def test_a_session_made_anew_adds_to_the_account() -> None:
    session = Session(threading.get_native_id())
    served = Served(lambda: session)
    served.ask()
    served.look()
    spin()
    gone = threading.Thread(target=lambda: setattr(session, "thread", threading.get_native_id()))
    gone.start()
    gone.join()
    session.thread = os.getppid()
    served.look()

    assert (served.cpu_s() or 0) >= SPIN_S


@pytest.mark.parametrize("thread", [None, 1 << 30])
def test_one_session_that_nobody_can_tell_of_makes_it_unknown(thread: int | None) -> None:
    sessions = [Session(threading.get_native_id()), Session(thread)]
    served = Served(lambda: sessions.pop())
    served.ask()
    served.ask()
    served.look()

    assert served.cpu_s() is None


def test_nobody_asked_is_no_cost() -> None:
    served = Served(lambda: None)

    assert served.ask() is None
    served.look()
    assert served.cpu_s() == 0.0


def test_a_cheap_source_is_sampled_at_every_second_and_a_hiccup_changes_nothing() -> None:
    pace = Pace()
    for cpu_s in (0.5, 0.001, 0.3, 0.001):
        pace.sampled(cpu_s)

    assert pace.due_s(1700000000.25) == 1700000001
    assert pace.longest_s == 1


@pytest.mark.parametrize(("cpu_s", "period_s"), [(3.5 * SHARE, 4), (1.0, LONGEST_S)])
def test_a_costly_source_is_sampled_more_rarely(cpu_s: float, period_s: float) -> None:
    pace = Pace()
    for _ in range(3):
        pace.sampled(cpu_s)

    assert pace.due_s(1700000000.25) == 1700000000 + period_s
    assert pace.longest_s == period_s


@pytest.mark.parametrize(("second", "due"), [(0.25, 1), (0.7, 2)])
def test_a_source_of_an_idle_server_is_sampled_rarely_until_load_comes(
    second: float, due: int
) -> None:
    pace = Pace()
    pace.idle = True
    assert pace.due_s(1700000000 + second) == 1700000010
    assert pace.longest_s == 1, "of load"

    pace.idle = False
    assert pace.due_s(1700000000 + second) == 1700000000 + due


@pytest.mark.slow
@pytest.mark.parametrize(
    "provision",
    ["postgresql@system", "postgresql:9.6@maven", "mariadb@system", "mysql@sid"],
)
def test_servers_tell_which_thread_serves(provision: str, tmp_path: Path) -> None:
    """What it did while it was asked is what its processes did: nobody else asks it anything."""
    if provision.endswith("@sid"):
        fetch_or_skip(provision)
    kind = provision.partition(":")[0].partition("@")[0]
    with open_server(provision, {}, tmp_path) as server:
        server.start()
        served = Served(server.database.ask)
        session = served.ask()
        assert session is not None
        session.rows("SELECT 1")
        served.look()
        session.rows(_WORK[kind])
        asked_s = served.cpu_s()
        watched = Watched(kind=kind, server_pids=server.node.processes, ask=server.database.ask)
        with Sampler(collectors("run"), watched) as sampler:
            sampler.edge()
            sampler.edge()
        costs = sampler.costs()
        session.close()

    assert asked_s is not None
    assert asked_s > 0.01  # Of work that takes tenths of a second on the slowest of machines.
    source = "postgresql" if kind == "postgresql" else "mysql"
    assert 0 < (costs[source].server_cpu_s or 0) < 1
    assert costs["process"].server_cpu_s == 0
    assert sampler.server_cpu_s() == costs[source].server_cpu_s


_WORK = {
    "postgresql": "SELECT count(*) FROM generate_series(1, 3000000)",
    "mariadb": "SELECT BENCHMARK(20000000, 1 + 1)",
    "mysql": "SELECT BENCHMARK(20000000, 1 + 1)",
}


@pytest.mark.slow
def test_a_thread_pool_serves_nobody_alone(tmp_path: Path) -> None:
    with open_server("mariadb@system", {"thread_handling": "pool-of-threads"}, tmp_path) as server:
        server.start()
        session = server.database.ask()
        assert session is not None
        assert session.serving_thread() is None
        session.close()


@pytest.mark.slow
@pytest.mark.parametrize("provision", ["postgresql@system", "mariadb@system"])
def test_a_server_on_this_machine_is_known_over_tcp(provision: str, tmp_path: Path) -> None:
    with open_server(provision, {}, tmp_path) as server:
        server.start()
        target: Any = server.entry.target("tcp")
        (place,) = [endpoint["tcp"] for endpoint in target["endpoints"]]
        scheme = "postgresql" if target["driver"] == "postgresql" else "mysql"
        login = f"{target['user']}:{target['password']}@{place['host']}:{place['port']}"
        url = f"url:{scheme}://{login}/{target['database']}"
        with open_server(url, {}, tmp_path / "elsewhere") as running:
            running.start()
            session = running.database.ask()
            assert session is not None
            thread = session.serving_thread()
            threads = {
                int(task.name)
                for pid in server.node.processes()
                for task in Path(f"/proc/{pid}/task").iterdir()
            }
            session.close()

    assert thread in threads
