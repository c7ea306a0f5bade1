"""The proxy in front of a cell's server: checked, with the file's line, before anything is
started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dbdyno.conduct.host import check_own
from dbdyno.design.cells import cells
from dbdyno.errors import LabError
from dbdyno.formats.study import StudyFile, deciding_level
from dbdyno.model import Cell, load_of
from dbdyno.servers import Source, parse_provision, parse_tool
from dbdyno.servers.protocol import Wish
from dbdyno.servers.sources.tool import tool_text
from dbdyno.servers.topologies.proxies.proxy import Proxy, read_wish
from dbdyno.servers.topologies.proxies.registry import find_proxy
from dbdyno.setters.limits import LIMITS


def proxy_wish(cell: Cell) -> Wish | None:
    """The proxy of a cell; `None`: clients connect to the server directly."""
    return read_wish(cell.proxy) if cell.proxy else None


def program_of_proxy(cell: Cell) -> str | None:
    """The provision text of the proxy in front of a cell's server, if there is one."""
    wish = proxy_wish(cell)
    return None if wish is None else tool_text(wish.kind, wish.version)


def check_proxies(loaded: StudyFile) -> None:
    """Raises `StudyError`, with the file's line, for an impossible proxy."""
    for cell in cells(loaded.study):
        wish = proxy_wish(cell)
        if wish is None:
            continue
        table = deciding_level(loaded.study, cell, lambda level: level.proxy)
        path = (*table, "proxy") if table else ("server",)
        try:
            proxy = find_proxy(wish.kind)
            parse_tool(tool_text(wish.kind, wish.version))
            proxy.check(wish.settings)
            for name, problem in _wrong_host(cell):
                raise loaded.error((*path, "host", name), f"`proxy.host.{name}`{problem}")
            prepared = load_of(loaded.study.load, cell).prepared_statements
            for problem in _wrong(cell, wish, proxy, prepared=prepared):
                raise loaded.error(path, f"`proxy`: {problem}")
        except ValueError as error:
            raise loaded.error(path, f"`proxy`: {error}") from error
        except LabError as error:
            if error.message.startswith(str(loaded.file)):
                raise
            raise loaded.error(path, error.message, hint=error.hint) from error


def _wrong_host(cell: Cell) -> Iterator[tuple[str, str]]:
    """Setter of what proxies can't have, and why."""
    asked = cell.proxy.get("host", {})
    assert isinstance(asked, Mapping), "its schema has seen to it"
    for name, wish in asked.items():
        if name != LIMITS:
            yield name, f" can't be set for proxies; `{LIMITS}` can"
            continue
        try:
            check_own(name, wish)
        except ValueError as error:
            yield name, f": {error}"


def _wrong(cell: Cell, wish: Wish, proxy: Proxy, *, prepared: bool) -> Iterator[str]:
    server = parse_provision(cell.provision)
    if server.source is Source.URL:
        yield "for a server by URL, give the address of its own proxy instead"
    if server.kind not in proxy.kinds:
        yield f"{wish.kind} does not support `{server.kind}`, only {' and '.join(proxy.kinds)}"
    if cell.connection.get("transport") == "unix":
        yield "clients connect to a proxy over TCP"
    asked = [name for name in ("tls", "compression") if cell.connection.get(name)]
    if asked and proxy.reads:
        yield f"connections with {wish.kind} are plain, and this cell asks for {asked[0]}"
    if prepared and cell.abilities.takes_every_key and not proxy.keeps_statements(wish.settings):
        yield (
            f"{wish.kind} assigns server connections per transaction, and prepared statements "
            'are lost: say `statements = "text"` in [load], `pool_mode = "session"`, or, from '
            "1.21 on, `max_prepared_statements`"
        )
