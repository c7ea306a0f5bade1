"""The available DuckDB versions: wheels with its command-line program, which the lab asks, and JDBC
drivers with its library, which the engine loads."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.databases.duckdb.library import library_package
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Installation, Package, Server, ServerSpec, Source
from dbdyno.servers.sources.packaged import printed_by

_VERSIONS = ("1.5.6", "1.5.0", "1.4.4")
_SIZE_BYTES = 21_000_000


def _package(version: str) -> Package:
    is_newer = version.split(".") >= ["1", "5"]
    folder = "duckdb_cli" if is_newer else f"duckdb_cli-{version}.data/scripts"
    return Package(version, Source.WHEEL, f"duckdb-cli=={version}", folder, _SIZE_BYTES)


def _installed() -> Sequence[Installation]:
    found = shutil.which("duckdb")
    folder = Path(found).resolve().parent if found else None
    version = _version_of(folder) if folder else None
    return [Installation(version, Source.SYSTEM, folder)] if folder and version else []


def _installed_at(folder: Path) -> Installation:
    version = _version_of(folder)
    if version is None:
        raise ServerError(
            f"{folder} holds no DuckDB: {folder}/duckdb does not answer to -version",
            hint="name the folder of its command-line program",
        )
    return Installation(version, Source.PATH, folder)


def _version_of(folder: Path) -> str | None:
    numbers = re.search(r"\d+(\.\d+)+", printed_by(folder / "duckdb", "-version") or "")
    return numbers[0] if numbers else None


def _open(spec: ServerSpec, folder: Path) -> Server:
    from dbdyno.servers.databases.duckdb.server import DuckdbServer

    return DuckdbServer(spec, folder)


KIND = Kind(
    name="duckdb",
    open=_open,
    driver="duckdb",
    besides=lambda programs: [library_package(programs)],
    packages=tuple(map(_package, _VERSIONS)),
    installed=_installed,
    installed_at=_installed_at,
)
