"""What takes the place of a server where there is no database: no settings, counters or tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from dbdyno.errors import ServerError
from dbdyno.servers.contents import Contents
from dbdyno.servers.nodes.process_free import ProcessFree
from dbdyno.servers.protocol import ServerSpec, Transport


class NoDatabase(ProcessFree):
    """Statements go to the engine's null driver."""

    _SETTINGS_HINT: ClassVar[str]

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        if spec.settings:
            raise ServerError(
                f"settings ({', '.join(sorted(spec.settings))}) were asked of "
                f"`{spec.provision.kind}`, "
                "which is no database",
                hint=self._SETTINGS_HINT,
            )
        super().__init__(spec, folder)
        self._kind = spec.provision.kind

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The null driver."""
        return {"driver": "null"}

    def facts(self) -> Mapping[str, object]:
        """Facts: there is no database."""
        return {"kind": self._kind, "version": ""}

    def settings(self) -> Mapping[str, str]:
        """None: there is no database."""
        return {}

    def counters(self) -> Mapping[str, int]:
        """None: there is no database."""
        return {}

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Raises: there are no tables."""
        raise ServerError(f"`{self._kind}` has no table `{table}`")

    def tables(self) -> Mapping[str, str]:
        """None: there is no database."""
        return {}
