"""Opens the server of a cell with everything the cell configures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from dbdyno.conduct.connection import wants_tls
from dbdyno.conduct.opening import c_function_files
from dbdyno.conduct.proxy import proxy_wish
from dbdyno.formats.study_secrets import with_passwords
from dbdyno.model import Cell
from dbdyno.servers import InitialData, Server, ServerSpec, open_spec, resolve
from dbdyno.setters.outfit import UNCHANGED, Outfit

OpenServer = Callable[[Cell, Sequence[Path], Path, Outfit], AbstractContextManager[Server]]
"""Opens the server of a cell: with folders to search for its files, a folder for its logs, and this
machine as it was set for it. Raises `LabError`."""


def open_cell_server(
    cell: Cell,
    folders: Sequence[Path],
    logs: Path,
    host: Outfit = UNCHANGED,
    *,
    initial: InitialData | None = None,
    secrets: Mapping[str, str] | None = None,
    only_tried: bool = False,
) -> AbstractContextManager[Server]:
    """`open_spec` for a cell. Files that the cell names are searched in `folders`; the server's
    logs stay in `logs`; new data folders are shared by way of `initial`; `secrets` are provision
    texts with their passwords, by those without; `only_tried`: see there. Raises `LabError`."""
    spec = ServerSpec(
        resolve((secrets or {}).get(cell.provision, cell.provision)),
        cell.settings,
        host.server,
        launches=host.launches,
        tls=wants_tls(cell),
        c_functions=tuple(c_function_files(cell, folders)),
        proxy=proxy_wish(cell),
        topology=with_passwords(cell.topology, secrets or {}),
        initial=initial,
        only_tried=only_tried,
    )
    return open_spec(spec, logs)
