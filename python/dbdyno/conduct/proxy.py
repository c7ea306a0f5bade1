"""What stands before a cell's server: checked with the file's line, before anything is started."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.design.cells import cells
from dbdyno.errors import LabError
from dbdyno.formats.study import StudyFile, deciding_level
from dbdyno.model import ENGINE, Cell
from dbdyno.servers import Source, parse_provision, parse_tool
from dbdyno.servers.proxy.proxy import Proxy, Wish, read_wish
from dbdyno.servers.proxy.registry import find_proxy
from dbdyno.servers.registry import tool_text


def proxy_wish(cell: Cell) -> Wish | None:
    """The proxy of a cell; `None`: clients reach the server itself."""
    return read_wish(cell.proxy) if cell.proxy else None


def program_of_proxy(cell: Cell) -> str | None:
    """The provision text of what stands before a cell's server, if anything does."""
    wish = proxy_wish(cell)
    return None if wish is None else tool_text(wish.kind, wish.version)


def check_proxies(loaded: StudyFile) -> None:
    """Raises `StudyError` with the line of a proxy that can't be."""
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
            for told in _wrong(cell, wish, proxy, prepared=loaded.study.load.prepared_statements):
                raise loaded.error(path, f"`proxy`: {told}")
        except ValueError as error:
            raise loaded.error(path, f"`proxy`: {error}") from error
        except LabError as error:
            if error.message.startswith(str(loaded.file)):
                raise
            raise loaded.error(path, error.message, hint=error.hint) from error


def _wrong(cell: Cell, wish: Wish, proxy: Proxy, *, prepared: bool) -> Iterator[str]:
    server = parse_provision(cell.provision)
    if server.source is Source.URL:
        yield "a server by URL has what stands before it; name that one's address"
    if server.kind not in proxy.kinds:
        yield f"{wish.kind} can't stand before `{server.kind}`; {' and '.join(proxy.kinds)} it can"
    if cell.connection.get("transport") == "unix":
        yield "it is reached over TCP"
    asked = [name for name in ("tls", "compression") if cell.connection.get(name)]
    if asked and proxy.reads:
        yield f"connections with {wish.kind} are plain, and this cell asks for {asked[0]}"
    if prepared and cell.generator == ENGINE and not proxy.keeps_statements(wish.settings):
        yield (
            f"{wish.kind} deals connections out anew for each transaction, and prepared statements "
            'are lost: say `statements = "text"` in [load], `pool_mode = "session"`, or, from '
            "1.21 on, `max_prepared_statements`"
        )
