"""An empty folder of one run, on the file system that the study asks for; gone with its run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.guard.guarded import Guarded
from dbdyno.servers.contents import Contents
from dbdyno.servers.protocol import Capacity, Provision, Transport
from dbdyno.servers.setting import refuse_all


class FilesServer:
    """Stands where a server would: a tool finds its folder here, and nobody speaks SQL."""

    def __init__(self, provision: Provision, settings: Mapping[str, str], folder: Path) -> None:
        refuse_all(settings, "postgresql:18.4")
        self._parent = Path(provision.launch.data_parent or folder.absolute())
        self._guarded = Guarded()
        self._folder: Path | None = None

    def start(self) -> None:
        """Makes the folder."""
        self._parent.mkdir(parents=True, exist_ok=True)
        self._folder = self._guarded.folder(self._parent)

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """Nothing to connect to."""
        return {"driver": "null"}

    def facts(self) -> Mapping[str, object]:
        """That there is no database."""
        return {"kind": "files", "version": ""}

    def settings(self) -> Mapping[str, str]:
        """None."""
        return {}

    def counters(self) -> Mapping[str, int]:
        """None."""
        return {}

    def capacity(self) -> Capacity:
        """Nothing is limited."""
        return Capacity()

    def size_bytes(self) -> int:
        """What lies in the folder, as allocated."""
        assert self._folder is not None, "started"
        return sum(path.stat().st_blocks * 512 for path in self._folder.rglob("*"))

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """There is no table."""
        raise ServerError(f"a folder of files has no table `{table}`")

    def tables(self) -> Mapping[str, str]:
        """None."""
        return {}

    def alive(self) -> bool:
        """Whether the folder is there."""
        return self._folder is not None and self._folder.exists()

    def check(self) -> None:
        """Raises when somebody has removed it."""
        if self._folder is not None and not self._folder.exists():
            raise ServerError(f"the folder {self._folder} was removed while it was needed")

    def data_folder(self) -> Path | None:
        """The folder."""
        return self._folder

    def processes(self) -> Sequence[int]:
        """None."""
        return ()

    def ask(self) -> None:
        """Nobody."""

    def log_files(self) -> Sequence[Path]:
        """None."""
        return ()

    def stop(self) -> None:
        """Nothing runs."""

    def kill(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Removes the folder."""
        self._folder = None
        self._guarded.close()
