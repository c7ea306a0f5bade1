"""What this machine and the server say of themselves, before the load and after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from dbdyno import collect
from dbdyno.conduct.host import Host
from dbdyno.errors import ServerError
from dbdyno.servers import Server


@dataclass(slots=True)
class Inspected:
    """Empty of what was not reached."""

    host_facts: Mapping[str, object] = field(default_factory=dict)
    """Facts about this machine, including its storage."""
    red_flags: tuple[collect.RedFlag, ...] = ()
    host_change: Mapping[str, object] = field(default_factory=dict)
    """What the batch has changed on this machine, once the load is over."""
    server_facts: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    """All settings in effect, as reported by the server."""
    size_bytes: dict[str, int] = field(default_factory=dict)
    """Size of the data by phase: `prepared`, `end`."""

    def before(
        self, server: Server, asked: Mapping[str, object], activity: Mapping[str, object]
    ) -> None:
        """Inspects machine and server once it has started; `asked`: the cell's host settings,
        `activity`: what else ran before."""
        self.host_facts = collect.host_facts(server.node.data_folder(), activity=activity)
        self.red_flags = tuple(collect.red_flags(self.host_facts, server.facts(), asked=asked))

    def prepared(self, server: Server, *, may_end_load: bool) -> None:
        """Notes the size of the tables as they were loaded. `may_end_load`: an error may end the
        load after which the server answers no such question, as one whose disk is full."""
        self.size_bytes["prepared"] = server.database.size_bytes()
        if may_end_load:
            self._ask(server)

    def after(self, server: Server, host: Host, *, may_end_load: bool) -> None:
        """Inspects both once more, when the load is over. What a server without room refuses to
        say stays as it was before the load, and is flagged."""
        self.host_change = host.facts(server.node.processes())
        try:
            self._ask(server)
            self.size_bytes["end"] = server.database.size_bytes()
        except ServerError as error:
            if not may_end_load or not server.alive():
                raise
            message = f"what is known of the server is from before its load: {error.message}"
            hint = "the error that ended the load is the likely cause"
            flag = collect.RedFlag("asked-before-load", message, hint)
            self.red_flags = (*self.red_flags, flag)

    def _ask(self, server: Server) -> None:
        self.server_facts = server.facts()
        self.settings = server.database.settings()

    def in_any_case(self) -> None:
        """Inspects the machine for a run that did not come to it."""
        self.host_facts = self.host_facts or collect.host_facts()

    def facts(self, tools: Mapping[str, Mapping[str, object]]) -> Mapping[str, object]:
        """As `facts.json` has them; `tools`: generator → the program used."""
        return {
            "host": self.host_facts,
            "host_change": self.host_change,
            "tools": tools,
            "server": self.server_facts,
            "red_flags": [asdict(flag) for flag in self.red_flags],
        }
