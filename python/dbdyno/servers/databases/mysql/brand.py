"""Tells MySQL servers from MariaDB servers before they run, and finds both."""

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.protocol import Connection, Installation, Provision, Source
from dbdyno.servers.sources.packaged import printed_by

_ZSTD_SINCE = (8, 0, 18)
_TLS_1_2_SINCE = {"mysql": (5, 7), "mariadb": (10, 3)}
"""Of the packages that can be had: older ones carry yaSSL."""
_MAKES_CERTIFICATE_SINCE = (11, 4)
_TLS_SETTINGS = frozenset({"ssl", "skip_ssl", "ssl_ca", "ssl_capath", "ssl_cert", "ssl_key"})


@dataclass(frozen=True, slots=True)
class Brand:
    """One of the two families of servers that speak MySQL's protocol."""

    kind: str
    title: str
    programs: Sequence[str]
    """Names of the server program, the current one first."""
    example: str
    """A provision text that needs no installation."""

    @property
    def is_mariadb(self) -> bool:
        """Whether it is MariaDB."""
        return self.kind == "mariadb"

    def program(self, folder: Path) -> Path:
        """The server within a folder of programs."""
        return next((folder / n for n in self.programs if (folder / n).exists()), folder)

    def version_of(self, folder: Path) -> str | None:
        """The release in a folder; `None` if there is none, or one of the other family."""
        program = self.program(folder)
        if program == folder:
            return None
        output = printed_by(program, "--no-defaults", "--version") or ""
        numbers = re.search(r"Ver (\d+(\.\d+)*)", output)
        same_family = ("MariaDB" in output) == self.is_mariadb
        return numbers[1] if numbers and same_family else None

    def makes_certificate(self, version: str, asked: Iterable[str]) -> bool:
        """Whether such a server makes certificate and key itself whenever it starts, which takes 3
        to 10 s of processor time (4,096 bits): MariaDB, unless it is `asked` otherwise."""
        since = self.is_mariadb and release_numbers(version) >= _MAKES_CERTIFICATE_SINCE
        return since and _TLS_SETTINGS.isdisjoint(asked)

    def refuses(self, provision: Provision, wish: Connection) -> str | None:
        """Why such connections are impossible; a server by URL reports that itself."""
        name = f"{self.title} {provision.version}"
        release = release_numbers(provision.version or "")
        if wish.get("compression") in ("lz4", "snappy", "zstd") and self.is_mariadb:
            return "MariaDB compresses its connections by zlib only"
        if (asked := wish.get("compression")) in ("lz4", "snappy"):
            return f"{name} compresses its connections by zlib or zstd, not by {asked}"
        if wish.get("compression") == "zstd" and release and release < _ZSTD_SINCE:
            return f"{name} compresses its connections by zlib only; zstd came with 8.0.18"
        if wish.get("tls") and release and release < _TLS_1_2_SINCE[self.kind]:
            return f"{name} has no TLS 1.2, and the engine speaks nothing older"
        return None

    def installed(self) -> Sequence[Installation]:
        """Servers on the path, and in /usr/sbin, where distributions put them."""
        folders = [Path("/usr/sbin"), Path("/usr/libexec")]
        folders += [Path(f).resolve().parent for n in self.programs if (f := shutil.which(n))]
        return [
            Installation(version, Source.SYSTEM, folder)
            for folder in dict.fromkeys(folders)
            if (version := self.version_of(folder))
        ]

    def installed_at(self, folder: Path) -> Installation:
        """The server in a folder named by the user, or in its `bin` or `sbin`."""
        for candidate in (folder, folder / "bin", folder / "sbin"):
            if version := self.version_of(candidate):
                return Installation(version, Source.PATH, candidate)
        raise ServerError(
            f"{folder} holds no {self.title}: no {' or '.join(self.programs)} there or in its "
            f"`bin` answers to --version as {self.title}",
            hint="name the folder that was unpacked, or given as --basedir",
        )


MYSQL = Brand("mysql", "MySQL", ("mysqld",), "mysql:5.6.14")


def release_numbers(version: str) -> tuple[int, ...]:
    """10.11.5 as (10, 11, 5), to be compared."""
    return tuple(map(int, re.findall(r"\d+", version)))
