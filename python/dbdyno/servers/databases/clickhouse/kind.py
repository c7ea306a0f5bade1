"""The available ClickHouse servers: those that are installed, and those by URL."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.databases.clickhouse.program import COMPRESSIONS, PROGRAM
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import (
    Connection,
    Installation,
    Provision,
    Server,
    ServerSpec,
    Source,
)
from dbdyno.servers.sources.packaged import printed_by

_LIBRARY = re.compile(r"libclickhouse\S* => (\S+)")


def _version_of(folder: Path) -> str | None:
    """By the name of its library; newer releases have none of their own and print it. Asked first,
    Debian's 18.16 would be started in vain by whoever lists servers: it prints nothing of it."""
    program = folder / PROGRAM
    if not program.is_file():
        return None
    ldd = Path(shutil.which("ldd") or "ldd")
    library = _LIBRARY.search(printed_by(ldd, str(program)) or "")
    named = str(Path(library[1]).resolve()) if library else ""
    if numbers := re.search(r"\.so\.(\d+(\.\d+)+)$", named):
        return numbers[1]
    numbers = re.search(r"version (\d+(\.\d+)+)", printed_by(program, "--version") or "")
    return numbers[1] if numbers else None


def _installed() -> Sequence[Installation]:
    program = shutil.which(PROGRAM)
    folder = Path(program).parent if program else Path("/usr/sbin")
    version = _version_of(folder)
    return [Installation(version, Source.SYSTEM, folder)] if version else []


def _installed_at(folder: Path) -> Installation:
    for candidate in (folder, folder / "bin", folder / "sbin"):
        if version := _version_of(candidate):
            return Installation(version, Source.PATH, candidate)
    raise ServerError(
        f"{folder} holds no ClickHouse: there is no {PROGRAM} there or in its `bin` or `sbin` "
        "whose version could be read",
        hint=f"name the folder of {PROGRAM} (newer releases: a link to the program `clickhouse`)",
    )


def _open(spec: ServerSpec, folder: Path) -> Server:
    from dbdyno.servers.databases.clickhouse.running import RunningClickhouse
    from dbdyno.servers.databases.clickhouse.server import ClickhouseServer

    if spec.provision.source is Source.URL:
        return RunningClickhouse(spec)
    return ClickhouseServer(spec, folder)


def _refuses(provision: Provision, wish: Connection) -> str | None:
    """Why such connections are impossible."""
    if wish.get("compression") not in (None, False, *COMPRESSIONS):
        return (
            "ClickHouse compresses blocks by lz4 or zstd, and not by zlib, which is what "
            '`compression = true` means: say `compression = "lz4"`'
        )
    if wish.get("transport") == "unix" and provision.source is not Source.URL:
        return "ClickHouse listens on no Unix socket: leave the transport out, or name `tcp`"
    return None


KIND = Kind(
    name="clickhouse",
    open=_open,
    driver="clickhouse",
    installed=_installed,
    installed_at=_installed_at,
    debian_package=PROGRAM,
    url_schemes=("clickhouse", "clickhouses"),
    refuses=_refuses,
)
