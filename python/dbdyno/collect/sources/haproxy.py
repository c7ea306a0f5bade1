"""HAProxy: clients, queues, and which of its servers it calls up, as its statistics have it.

Several processes are added up. Instances are the servers behind it, by HAProxy's names: `node-1` is
the first member of a topology.
"""

from __future__ import annotations

import csv
import socket
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from dbdyno.collect.collector import of_a_program
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Reading

_ANSWER_LIMIT_S = 5.0
_SIDES = ("FRONTEND", "BACKEND")
_OF_CLIENTS: Mapping[str, Metric] = {
    "scur": Metric("clients", "", "gauge", "Connected clients"),
    "stot": Metric("connections", "", "counter", "Connections of clients accepted"),
}
"""Column of the clients' side → its metric. Bytes are left out: without `option contstats`, HAProxy
counts those of a connection when it ends."""
_OF_ALL_SERVERS: Mapping[str, Metric] = {
    "qcur": Metric("queued", "", "gauge", "Clients that wait for a server"),
    "econ": Metric("connect_errors", "", "counter", "Connections that servers did not take"),
    "wretr": Metric("retries", "", "counter", "Attempts to connect again"),
    "wredis": Metric("redispatches", "", "counter", "Clients sent to another server"),
}
_OF_A_SERVER: Mapping[str, Metric] = {
    "scur": Metric("server_clients", "", "gauge", "Clients that a server has, by server"),
    "chkfail": Metric("check_failures", "", "counter", "Failed checks of its health, by server"),
    "chkdown": Metric("downs", "", "counter", "Times that it was called down, by server"),
    "downtime": Metric("down_s", "s", "counter", "Whole seconds for which it was, by server"),
}
_UP = Metric("up", "", "gauge", "Processes of HAProxy that send clients to it, by server")
_CALLED_UP = ("UP", "no check", "OPEN")


def _read(addresses: Sequence[str]) -> Sequence[Reading]:
    """Of all processes, by one command each."""
    sums: defaultdict[tuple[str, str], float] = defaultdict(float)
    for address in addresses:
        for reading in _readings(_rows(address)):
            sums[reading.metric, reading.instance] += reading.value
    return [Reading(metric, value, instance) for (metric, instance), value in sums.items()]


def _rows(address: str) -> Sequence[Mapping[str, str]]:
    """Raises `OSError` if nobody answers, `ServerError` for an answer without statistics."""
    with socket.socket(socket.AF_UNIX) as commands:
        commands.settimeout(_ANSWER_LIMIT_S)
        commands.connect(address)
        commands.sendall(b"show stat\n")
        with commands.makefile("r", errors="replace") as answer:
            text = answer.read()
    if not text.startswith("# pxname,"):
        raise ServerError(f"HAProxy answers `show stat` with `{text.strip()[:100]}`")
    return [*csv.DictReader(text.removeprefix("# ").splitlines())]


def _readings(rows: Sequence[Mapping[str, str]]) -> Iterator[Reading]:
    for row in rows:
        name = row["svname"]
        known = {"FRONTEND": _OF_CLIENTS, "BACKEND": _OF_ALL_SERVERS}.get(name, _OF_A_SERVER)
        instance = "" if name in _SIDES else name
        for column, metric in known.items():
            if value := row.get(column):
                yield Reading(metric.name, float(value), instance)
        if instance:
            yield Reading(_UP.name, float(row["status"].startswith(_CALLED_UP)), instance)


COLLECTOR = of_a_program(
    "haproxy",
    (*_OF_CLIENTS.values(), *_OF_ALL_SERVERS.values(), *_OF_A_SERVER.values(), _UP),
    _read,
    program="haproxy",
    what="HAProxy's statistics",
)
