"""What a cell's largest step needs of the machine: told with every cure, before a server starts."""

from __future__ import annotations

import pytest

from dbdyno.collect import MachineLimits
from dbdyno.conduct.room import require_room
from dbdyno.engine import find_engine
from dbdyno.errors import MachineError
from dbdyno.model import Cell, Load

SMALL = MachineLimits(files_of_all=30_000, ports=1_000, accept_queue=None)
POOL = {"kind": "pgbouncer", "processes": 8, "settings": {"max_client_conn": "2000"}}


def cell(**changes: object) -> Cell:
    return Cell({}, "postgresql:18.4", {}, "nothing", {}, **changes)  # type: ignore[arg-type]


def load(*clients: int) -> Load:
    return Load(clients=clients, warm_up_s=0.0, measure_s=1.0)


def told(clients: int, **changes: object) -> str:
    with pytest.raises(MachineError) as caught:
        require_room(cell(**changes), load(1, clients), SMALL, find_engine())
    assert caught.value.hint
    return caught.value.message


def test_ports_count_where_clients_use_tcp() -> None:
    assert "1,001 needed, 1,000 available" in told(1001, connection={"transport": "tcp"})
    require_room(cell(), load(1001), SMALL, find_engine())
    network = cell(host={"network": {"mtu": 1500}})
    require_room(network, load(1001), SMALL, find_engine())


def test_clients_are_dealt_out_over_the_processes_of_a_proxy() -> None:
    require_room(cell(proxy=POOL), load(8_000), SMALL, find_engine())
    said = told(8_001, proxy=POOL)

    assert "each of 8 server addresses: 1,001 needed" in said


def test_a_proxy_has_limits_of_its_own() -> None:
    said = told(16_001, proxy=POOL)

    assert "clients of 8 × pgbouncer (2,000 each): 16,001 needed, 16,000 available" in said
    assert "clients and proxies together: 32,002 needed, 30,000 available" in said


def test_steps_that_are_left_out_need_nothing() -> None:
    left_out = cell(most_clients=10, connection={"transport": "tcp"})
    require_room(left_out, load(10, 100_000), SMALL, find_engine())


def test_files_of_all_engine_processes_count() -> None:
    assert "open files of all processes" in told(30_001)
