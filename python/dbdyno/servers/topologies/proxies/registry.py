"""Finds the kinds of proxy: the modules of this folder that have a `PROXY`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dbdyno.errors import unknown_name
from dbdyno.plugins import plugins
from dbdyno.servers.topologies import proxies
from dbdyno.servers.topologies.proxies.proxy import Proxy


@cache
def all_proxies() -> Mapping[str, Proxy]:
    """Each by its name in study files."""
    by_name: dict[str, Proxy] = {}
    for module, proxy in plugins(proxies, "PROXY"):
        assert proxy.name == module, "a proxy is called like its module"
        by_name[proxy.name] = proxy
    return by_name


def find_proxy(name: str) -> Proxy:
    """The kind a study names; raises `UsageError` with the nearest and all there are."""
    known = all_proxies()
    if name not in known:
        raise unknown_name(f"there is no proxy `{name}`", name, known)
    return known[name]
