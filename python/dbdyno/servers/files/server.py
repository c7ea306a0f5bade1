"""An empty folder for one run, on the study's file system; removed after the run."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from dbdyno.errors import ServerError
from dbdyno.servers.contents import Contents
from dbdyno.servers.process_free import ProcessFree
from dbdyno.servers.protocol import Provision, Transport


class FilesServer(ProcessFree):
    """Takes the place of a server: a tool works in its folder, and there is no SQL."""

    _WHAT: ClassVar[str] = "the folder"

    def __init__(self, provision: Provision, settings: Mapping[str, str], folder: Path) -> None:
        if settings:
            raise ServerError(
                f"settings ({', '.join(sorted(settings))}) were asked of `files`, which is a "
                "folder and no database",
                hint="options of the tool that works in it stand in `[workload] options`",
            )
        super().__init__(provision, folder)

    def start(self) -> None:
        """Makes the folder."""
        self._path = self._make_folder()

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """Raises: there is nothing to connect to."""
        return {"driver": "null"}

    def facts(self) -> Mapping[str, object]:
        """Facts: there is no database."""
        return {"kind": "files", "version": ""}

    def settings(self) -> Mapping[str, str]:
        """None."""
        return {}

    def counters(self) -> Mapping[str, int]:
        """None."""
        return {}

    def size_bytes(self) -> int:
        """Allocated size of the folder."""
        assert self._path is not None, "started"
        return sum(path.stat().st_blocks * 512 for path in self._path.rglob("*"))

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Raises: there are no tables."""
        raise ServerError(f"a folder of files has no table `{table}`")

    def tables(self) -> Mapping[str, str]:
        """None."""
        return {}

    def data_folder(self) -> Path | None:
        """The folder."""
        return self._path
