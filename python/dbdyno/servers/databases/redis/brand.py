"""Tells Redis from Valkey before they run, and finds both."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.protocol import Connection, Installation, Provision, Source
from dbdyno.servers.sources.packaged import printed_by


@dataclass(frozen=True, slots=True)
class Brand:
    """What tells Redis from Valkey, or Valkey from Redis: their names."""

    kind: str
    title: str

    @property
    def program(self) -> str:
        """Name of the server program."""
        return f"{self.kind}-server"

    @property
    def tls_scheme(self) -> str:
        """Scheme of URLs whose connections are encrypted from the first byte."""
        return f"{self.kind}s"

    @property
    def example(self) -> str:
        """A provision text that dbdyno starts."""
        return f"{self.kind}@system"

    def version_of(self, folder: Path) -> str | None:
        """The release in a folder; `None` without its program, or if that is the other brand."""
        printed = printed_by(folder / self.program, "--version") or ""
        numbers = re.match(rf"{self.title} server v=(\d+(\.\d+)*)", printed, re.IGNORECASE)
        return numbers[1] if numbers else None

    def installed(self) -> Sequence[Installation]:
        """The server on the path."""
        program = shutil.which(self.program)
        folder = Path(program).parent if program else None
        version = self.version_of(folder) if folder else None
        return [Installation(version, Source.SYSTEM, folder)] if folder and version else []

    def installed_at(self, folder: Path) -> Installation:
        """The server in a folder named by the user, or in its `bin` or `src`."""
        for candidate in (folder, folder / "bin", folder / "src"):
            if version := self.version_of(candidate):
                return Installation(version, Source.PATH, candidate)
        raise ServerError(
            f"{folder} holds no {self.title}: no {self.program} there or in its `bin` or `src` "
            f"answers to --version as {self.title}",
            hint="name the folder that the server was unpacked, built or installed in",
        )

    def refuses(self, _: Provision, wish: Connection) -> str | None:
        """Why such connections are impossible."""
        if wish.get("compression"):
            return f"{self.title} has no compression of its connections; MySQL and MariaDB do"
        return None
