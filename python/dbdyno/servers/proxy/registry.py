"""The kinds of proxy there are, and whether one can stand before a server."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from dbdyno.errors import UsageError
from dbdyno.servers.proxy.haproxy import PROXY as HAPROXY
from dbdyno.servers.proxy.pgbouncer import PROXY as PGBOUNCER
from dbdyno.servers.proxy.proxy import Proxy

PROXIES: Mapping[str, Proxy] = {proxy.name: proxy for proxy in (PGBOUNCER, HAPROXY)}


def find_proxy(name: str) -> Proxy:
    """The kind a study names; raises `UsageError` with the nearest and all there are."""
    if name not in PROXIES:
        close = difflib.get_close_matches(name, PROXIES, n=1)
        guess = f"; did you mean `{close[0]}`?" if close else ""
        raise UsageError(
            f"there is no proxy `{name}`{guess}", hint=f"there are: {', '.join(PROXIES)}"
        )
    return PROXIES[name]
