"""A server without a process: what is the same for a database in the engine's own process and for a
folder of files. It has a path below a folder of its own, which goes with the run."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.errors import ServerError
from dbdyno.guard.guarded import Guarded
from dbdyno.servers.direct import Direct
from dbdyno.servers.place import data_parent
from dbdyno.servers.protocol import Asking, Capacity, Provision


class ProcessFree(Direct):
    """Nothing to stop or to die; its path can only be removed."""

    _WHAT: ClassVar[str]
    """Its path, for messages: `the database file`."""

    def __init__(self, provision: Provision, folder: Path) -> None:
        named = provision.launch.data_parent
        self._parent = Path(named) if named else data_parent(folder, None)
        self._guarded = Guarded()
        self._path: Path | None = None

    def _make_folder(self) -> Path:
        """One of its own, which its guard removes."""
        self._parent.mkdir(parents=True, exist_ok=True)
        return self._guarded.folder(self._parent)

    def capacity(self) -> Capacity:
        """Nothing is limited in process."""
        return Capacity()

    def alive(self) -> bool:
        """Whether its path is there."""
        return self._path is not None and self._path.exists()

    def check(self) -> None:
        """Raises when somebody has removed its path."""
        if self._path is not None and not self._path.exists():
            raise ServerError(f"{self._WHAT} {self._path} was removed while it was needed")

    def processes(self) -> Sequence[int]:
        """None."""
        return ()

    def ask(self) -> None:
        """Nobody: a session of the lab's would hold a database file's locks."""

    def log_files(self) -> Sequence[Path]:
        """None."""
        return ()

    def stop(self) -> None:
        """Nothing runs."""

    def kill(self) -> None:
        """Nothing runs; a crash of a database in process is a crash of the engine."""

    def drop(self) -> None:
        """Nothing runs."""

    def restart(self, limit_s: float) -> None:
        """Nothing runs; its path must be there."""
        self.check()

    def inside(self) -> Asking:
        """Nobody to ask."""
        raise ServerError(f"{self._WHAT} has no database in it")

    def table_files(self, table: str) -> Sequence[Path]:
        """The file itself; of a folder, none."""
        return [self._path] if self._path is not None and self._path.is_file() else []

    def ended_with(self) -> int | None:
        """No process of its own."""
        return None

    def close(self) -> None:
        """Removes it."""
        self._path = None
        self._guarded.close()
