"""Servers without a process, such as an in-process database or a folder of files: a path in a
folder that is removed with the run."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.errors import ServerError
from dbdyno.guard.guarded import Guarded
from dbdyno.model.session import Session
from dbdyno.servers.nodes.direct import Direct
from dbdyno.servers.nodes.place import data_parent
from dbdyno.servers.protocol import Capacity, ServerSpec


class ProcessFree(Direct):
    """It can't be stopped or crash; its path can only be removed."""

    _WHAT: ClassVar[str]
    """Name of its path in messages: `the database file`."""

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        named = self._named = spec.launch.data_parent
        self._parent = Path(named) if named else data_parent(folder, None)
        self._guarded = Guarded()
        self._tried = folder if spec.only_tried else None
        self._path: Path | None = None

    def _make_folder(self) -> Path:
        """A folder of its own, which its guard removes; or whoever only tries its settings."""
        if self._tried is not None:
            return Path(tempfile.mkdtemp(dir=self._tried))
        self._parent.mkdir(parents=True, exist_ok=True)
        return self._guarded.folder(self._parent, locked=not self._named)

    def capacity(self) -> Capacity:
        """No limits apply in process."""
        return Capacity()

    def alive(self) -> bool:
        """Whether its path exists."""
        return self._path is not None and self._path.exists()

    def check(self) -> None:
        """Raises `ServerError` if its path was removed."""
        if self._path is not None and not self._path.exists():
            raise ServerError(f"{self._WHAT} {self._path} was removed while it was needed")

    def processes(self) -> Sequence[int]:
        """None: no process serves it."""
        return ()

    def ask(self) -> None:
        """`None`: a session of the lab's would hold a database file's locks."""

    def log_files(self) -> Sequence[Path]:
        """None: no process serves it."""
        return ()

    def stop(self) -> None:
        """Nothing to do: no process runs."""

    def kill(self) -> None:
        """Nothing runs; an in-process database crashes with the engine."""

    def drop(self) -> None:
        """Nothing to do: no process runs."""

    def restart(self, limit_s: float) -> None:
        """Nothing runs; its path must exist."""
        self.check()

    def inside(self) -> Session:
        """Raises: there is no database."""
        raise ServerError(f"{self._WHAT} has no database in it")

    def table_files(self, table: str) -> Sequence[Path]:
        """The file itself; none for a folder."""
        return [self._path] if self._path is not None and self._path.is_file() else []

    def ended_with(self) -> int | None:
        """It has no process."""
        return None

    def close(self) -> None:
        """Removes the file or folder."""
        self._path = None
        self._guarded.close()
