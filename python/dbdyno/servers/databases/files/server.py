"""An empty folder for one run, on the study's file system; removed after the run."""

from pathlib import Path
from typing import ClassVar

from dbdyno.servers.nodes.no_database import NoDatabase


class FilesServer(NoDatabase):
    """A tool works in its folder, and there is no SQL."""

    _WHAT: ClassVar[str] = "the folder"
    _SETTINGS_HINT: ClassVar[str] = (
        "options of the tool that works in it stand in `[workload] options`"
    )

    def start(self) -> None:
        """Makes the folder."""
        self._path = self._make_folder()

    def size_bytes(self) -> int:
        """Allocated size of the folder."""
        assert self._path is not None, "started"
        return sum(path.stat().st_blocks * 512 for path in self._path.rglob("*"))

    def data_folder(self) -> Path | None:
        """The folder that tools work in."""
        return self._path
