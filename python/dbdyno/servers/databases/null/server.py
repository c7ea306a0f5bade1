"""Nothing: no process, no file, no table."""

from pathlib import Path
from typing import ClassVar

from dbdyno.servers.nodes.no_database import NoDatabase


class NullServer(NoDatabase):
    """Every statement succeeds at once within the engine."""

    _WHAT: ClassVar[str] = "the null driver"
    _SETTINGS_HINT: ClassVar[str] = "leave them out"

    def start(self) -> None:
        """Nothing to start."""

    def alive(self) -> bool:
        """Always true: there is nothing that could end."""
        return True

    def size_bytes(self) -> int:
        """Always 0: nothing is stored."""
        return 0

    def data_folder(self) -> Path | None:
        """`None`: nothing is stored."""
        return None
