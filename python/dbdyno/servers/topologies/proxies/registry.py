"""The kinds of proxy, and which servers they support."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.errors import unknown_name
from dbdyno.servers.topologies.proxies.haproxy import PROXY as HAPROXY
from dbdyno.servers.topologies.proxies.pgbouncer import PROXY as PGBOUNCER
from dbdyno.servers.topologies.proxies.proxy import Proxy

PROXIES: Mapping[str, Proxy] = {proxy.name: proxy for proxy in (PGBOUNCER, HAPROXY)}


def find_proxy(name: str) -> Proxy:
    """The kind a study names; raises `UsageError` with the nearest and all there are."""
    if name not in PROXIES:
        raise unknown_name(f"there is no proxy `{name}`", name, PROXIES)
    return PROXIES[name]
