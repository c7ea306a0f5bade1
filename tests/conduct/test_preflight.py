"""Whether a run fits: every limit at its edge, and what is said of one that is too low."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lines
from dbdyno.collect import MachineLimits
from dbdyno.collect.limits import machine_limits
from dbdyno.collect.tree import Tree
from dbdyno.conduct.bottleneck import client_warnings
from dbdyno.conduct.preflight import Limit, limits
from dbdyno.engine import Outcome, find_engine, plan_engine
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.formats.records import parse_record
from dbdyno.model import Backlog, Hello, Summary
from dbdyno.servers import Capacity
from dbdyno.store import step_summary

ROOMY = MachineLimits(files_of_all=None, ports=None, accept_queue=None)


def spec(clients: int = 100, script: str = "work", **changes: Any) -> dict[str, Any]:
    group = {"script": f"/x/{script}.lua", "clients": clients, "options": {"tables": 4}}
    endpoint = {"tcp": {"host": "127.0.0.1", "port": 5432}}
    target = {"driver": "mysql", "endpoints": [endpoint], **changes}
    target |= {"user": "u", "database": "d"}
    return {"schema": SCHEMA, "target": target, "groups": [group], "shards": 1}


def limits_of(
    whole: dict[str, Any],
    machine: MachineLimits = ROOMY,
    capacity: Capacity | None = None,
    *,
    processes: int | None = None,
    **changes: Any,
) -> list[Limit]:
    """By the plan of the engine itself, `changes` of it aside."""
    plan = plan_engine(find_engine(), whole, processes=processes)
    plan = replace(plan, **{"open_files_limit": None, **changes})
    return list(limits(whole, plan, machine, capacity or Capacity()))


def missed(*arguments: Any, **changes: Any) -> list[tuple[str, int]]:
    found = limits_of(*arguments, **changes)
    return [(limit.code, limit.needed) for limit in found if not limit.is_met]


def test_what_is_not_known_is_not_judged() -> None:
    assert missed(spec(1_000_000)) == []


@pytest.mark.parametrize(("left", "expected"), [(100, []), (99, [("connections", 100)])])
def test_connections_count_against_what_the_server_has_left(
    left: int, expected: list[tuple[str, int]]
) -> None:
    assert missed(spec(), capacity=Capacity(connections=left)) == expected


@pytest.mark.parametrize(("left", "expected"), [(30, []), (29, [("loaders", 30)])])
def test_loaders_count_beside_the_clients_that_make_rows(
    left: int, expected: list[tuple[str, int]]
) -> None:
    whole = {**spec(10), "command": "prepare", "loaders": 20}
    assert missed(whole, capacity=Capacity(connections=left)) == expected


def test_open_files_are_shared_among_processes() -> None:
    one = plan_engine(find_engine(), spec(100)).open_files

    assert missed(spec(100), open_files_limit=one) == []
    assert missed(spec(101), open_files_limit=one) == [("open-files", one + 1)]
    assert missed(spec(200), processes=2, open_files_limit=one) == []


def test_ports_count_for_each_address_of_the_server() -> None:
    machine = MachineLimits(files_of_all=None, ports=50, accept_queue=None)
    two = [{"tcp": {"host": host, "port": 5432}} for host in ("127.0.0.1", "127.0.0.2")]

    assert missed(spec(100), machine) == [("ports", 100)]
    assert missed(spec(100, endpoints=two), machine) == []
    assert missed(spec(100, endpoints=[{"unix": "/run/s"}]), machine) == []


def test_prepared_statements_count_for_each_table() -> None:
    capacity = Capacity(statements=3799)

    assert missed(spec(100, "oltp_read_write"), capacity=capacity) == [("statements", 3800)]
    assert missed(spec(100, "oltp_insert"), capacity=capacity) == []
    plain = spec(100, "oltp_read_write", prepared_statements=False)
    assert missed(plain, capacity=capacity) == []


def test_queues_hold_what_is_connected_at_a_time() -> None:
    machine = MachineLimits(files_of_all=None, ports=None, accept_queue=5)

    assert ("accept-queue", 6) in missed(spec(6), machine)
    assert missed(spec(5), machine) == []
    assert missed(spec(100), capacity=Capacity(accept_queue=15)) == [("backlog", 16)]


def test_a_database_in_process_is_limited_by_open_files_alone() -> None:
    pragmas = [["journal_mode", "wal"]]
    whole = {**spec(), "target": {"driver": "sqlite", "path": "a.db"}}
    with_log = {**whole, "target": {"driver": "sqlite", "path": "a.db", "pragmas": pragmas}}

    (files,), (more_files,) = limits_of(whole), limits_of(with_log)
    assert files.code == more_files.code == "open-files"
    assert more_files.needed - files.needed == 100
    assert not limits_of(whole, open_files_limit=files.needed - 1)[0].is_met


def test_the_machine_is_read_as_it_is(tmp_path: Path) -> None:
    for name, text in (
        ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
        ("proc/sys/net/core/somaxconn", "4096\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = machine_limits(Tree(tmp_path))

    assert (found.ports, found.accept_queue, found.files_of_all) == (28_232, 4096, None)


def outcome(reactor: str, cpu_us: int, lag_ns: int) -> Outcome:
    """Two seconds on one shard."""
    lag = lines.histogram([lag_ns], label="lag", time="wait") | {"subject": "lag"}
    cpu = {"user_us": cpu_us, "system_us": 0}
    summary = parse_record(lines.summary(cpu=cpu, histograms=[lag]), number=1)
    hello = parse_record(lines.hello().replace(b'"none"', f'"{reactor}"'.encode()), number=1)
    assert isinstance(summary, Summary) and isinstance(hello, Hello)
    return Outcome(hello, summary, {}, (), None, False, Backlog())


@pytest.mark.parametrize(
    ("reactor", "cpu_us", "lag_ns", "codes"),
    [
        ("epoll", 1_800_000, 900_000, []),
        ("epoll", 1_950_000, 900_000, ["client-bound"]),
        ("epoll", 100_000, 1_100_000, ["client-late"]),
        ("none", 1_950_000, 0, []),
    ],
)
def test_a_client_that_sets_the_pace_is_called_so(
    reactor: str, cpu_us: int, lag_ns: int, codes: list[str]
) -> None:
    measured = outcome(reactor, cpu_us, lag_ns)
    assert measured.summary is not None
    summary = step_summary(0, measured.summary, {})

    assert [warning.code for warning in client_warnings(measured, summary)] == codes


@pytest.mark.parametrize(
    ("limit_cpus", "codes"), [(0.4, ["client-bound"]), (0.5, ["client-bound"]), (0.6, []), (4, [])]
)
def test_a_client_that_uses_its_limit_sets_the_pace(limit_cpus: float, codes: list[str]) -> None:
    measured = outcome("epoll", 960_000, 900_000)
    assert measured.summary is not None
    warnings = list(client_warnings(measured, step_summary(0, measured.summary, {}), limit_cpus))

    assert [warning.code for warning in warnings] == codes
    assert all(f"of the {limit_cpus:g} processors of its limit" in w.message for w in warnings)
