"""Network interfaces: bytes and packets, from /proc/net/dev."""

from __future__ import annotations

from collections.abc import Iterable

import psutil

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.model import Metric, Missing, Reading


class _Network:
    def sample(self) -> Iterable[Reading]:
        for name, io in psutil.net_io_counters(pernic=True).items():
            yield Reading("received_bytes", io.bytes_recv, name)
            yield Reading("sent_bytes", io.bytes_sent, name)
            yield Reading("received_packets", io.packets_recv, name)
            yield Reading("sent_packets", io.packets_sent, name)
            yield Reading("dropped_packets", io.dropin + io.dropout, name)

    def close(self) -> None:
        """Nothing to free: no file stays open."""


def _open(_watched: Watched) -> Readings | Missing | None:
    return _Network()


COLLECTOR = Collector(
    "network",
    "host",
    (
        Metric("received_bytes", "B", "counter", "Bytes received"),
        Metric("sent_bytes", "B", "counter", "Bytes sent"),
        Metric("received_packets", "", "counter", "Packets received"),
        Metric("sent_packets", "", "counter", "Packets sent"),
        Metric("dropped_packets", "", "counter", "Packets dropped, both ways"),
    ),
    _open,
)
