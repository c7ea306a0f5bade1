"""DuckDB's library, which the engine loads: the JDBC driver of a release carries it, with the C
interface, for every machine."""

from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.protocol import Package, Provision, Source
from dbdyno.servers.sources.packaged import fetch

_BESIDE = "libduckdb.so"
"""Where DuckDB was not fetched, beside its command-line program."""
_IN_DRIVER = "libduckdb_java.so_linux_*"
_DRIVER_BYTES = 85_000_000


def library_package(programs: Package) -> Package:
    """The JDBC driver of the release whose command-line program a package holds."""
    name = f"org.duckdb:duckdb_jdbc:{programs.version}.0"
    return Package(programs.version, Source.MAVEN, name, ".", _DRIVER_BYTES)


def library_of(provision: Provision, programs: Path) -> Path:
    """The library of the release that a provision means, downloaded if need be; of an installed
    DuckDB, the one beside its programs.

    # Errors
    `ServerError` when there is none, or it can't be had.
    """
    if provision.package is not None:
        driver = fetch(library_package(provision.package))
        (library,) = driver.folder.glob(_IN_DRIVER)
        return library
    found = [folder / _BESIDE for folder in (programs, programs.parent / "lib")]
    for library in found:
        if library.exists():
            return library
    raise ServerError(
        f"{programs} has no {_BESIDE}, which the engine needs to drive DuckDB",
        hint="put it there (DuckDB's releases have it), or name a version: `duckdb:1.5.6`",
    )
