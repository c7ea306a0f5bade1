"""One run: a cell is set up, loaded, driven through all steps, inspected and taken down.

A run knows one cell; `batch.py` coordinates it with the others that are up.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field

from dbdyno.collect import Sampler
from dbdyno.conduct.events import HostInspected
from dbdyno.conduct.host import Host
from dbdyno.conduct.members import require_agreement
from dbdyno.conduct.run.engine_load import EngineLoad
from dbdyno.conduct.run.identity import Identity
from dbdyno.conduct.run.inspected import Inspected
from dbdyno.conduct.run.load import NO_ACCOUNT, LoadAccount, RunLoad
from dbdyno.conduct.run.manifest import manifest_of
from dbdyno.conduct.run.measured import Measured
from dbdyno.conduct.run.served import Served
from dbdyno.conduct.run.tool_load import ToolLoad
from dbdyno.conduct.sampled import keep_samples
from dbdyno.errors import LabError
from dbdyno.formats.passwords import words_without_passwords
from dbdyno.model import LabCost, RunManifest, Step


@dataclass(slots=True)
class Run:
    """Carries out one run and records it: `set_up`, the steps, `leave`, and finally, whatever
    happened, `take_down` and `finish`."""

    identity: Identity
    measured: Measured = field(init=False)
    _inspected: Inspected = field(default_factory=Inspected)
    _served: Served | None = None
    _load: RunLoad | None = None
    _failure: LabError | None = None
    _parts: ExitStack = field(default_factory=ExitStack)
    """Undone by `take_down`, the last first."""

    def __post_init__(self) -> None:
        self.measured = Measured(self.identity)
        self._note_head()

    @property
    def served(self) -> Served:
        """The run's server and what samples it, after `set_up`."""
        assert self._served is not None, "set_up() opens it"
        return self._served

    @property
    def load(self) -> RunLoad:
        """What puts load on it, after `set_up`."""
        assert self._load is not None, "set_up() makes it"
        return self._load

    @property
    def engine(self) -> EngineLoad:
        """The same, where the plan has seen to it that it is the engine."""
        assert isinstance(self.load, EngineLoad), "turns and searches are of the engine alone"
        return self.load

    @property
    def failure(self) -> LabError | None:
        """Why the run failed or ended early."""
        return self._failure

    @property
    def _may_end_load(self) -> bool:
        return self.identity.setting.study.load.errors.may_end_load

    @property
    def is_set_up(self) -> bool:
        """Whether `set_up` succeeded and the server still runs."""
        served = self._served
        return served is not None and served.is_sampled and served.server.alive()

    def fail(self, error: LabError | None) -> None:
        """Notes why it fails; the first reason stays."""
        self._failure = self._failure or error

    def set_up(self, host: Host, activity: Mapping[str, object]) -> None:
        """Does everything up to the first step, on this machine as `host` has set it, beside what
        else ran on it before (`activity`). Raises `LabError`."""
        setting, cell = self.identity.setting, self.identity.cell
        logs = self.identity.writer.logs
        opened = setting.open_server(cell, setting.script_path, logs, host)
        server = self._parts.enter_context(opened)
        served = self._served = Served(self.identity, server, host, self.measured)
        with self.measured.phase("provision"):
            server.start()
            self._inspected.before(server, cell.host, activity)
            setting.observe(HostInspected(self.identity.planned, self._inspected.red_flags))
            load = self._load = load_of(served)
            load.check_fit()
        load.make_tables()
        self._compare_members("after loading")
        self._inspected.prepared(server, may_end_load=self._may_end_load)
        self._note_head()
        self._parts.callback(served.stop_sampling)
        served.start_sampling(load.client_pids)

    def phase(self, step: Step) -> AbstractContextManager[None]:
        """The phase of a step."""
        return self.measured.phase(f"step {step.index}")

    def step(self, step: Step) -> None:
        """Runs one step as one window. Raises `LabError`; what was measured is kept."""
        self.served.host.before_step()
        with self.phase(step):
            self.load.step(step)

    def leave(self) -> None:
        """Inspects the server once more and, after a complete run, stops it in order."""
        served = self.served
        served.stop_sampling()
        with self.measured.phase("collect"):
            self._inspected.after(served.server, served.host, may_end_load=self._may_end_load)
        self._compare_members("after the load")
        self.load.drop_tables()
        if self._failure is None:
            with self.measured.phase("stop"):
                served.server.stop()

    def _account(self) -> LoadAccount:
        return NO_ACCOUNT if self._load is None else self._load.account()

    def _manifest(
        self, collected: Mapping[str, Mapping[str, object]], lab: LabCost | None
    ) -> RunManifest:
        setting = self.identity.setting
        return manifest_of(
            self.identity,
            self.measured,
            self._inspected,
            self._account(),
            command_line=setting.command_line or _typed(),
            collected=collected,
            lab=lab,
            failure=self._failure,
        )

    def _note_head(self) -> None:
        """Writes what is known so far into the journal."""
        facts = self._inspected.facts(self._account().tools)
        self.identity.writer.journal.head(self._manifest({}, None), facts)

    def _compare_members(self, when: str) -> None:
        server = self.served.server
        if server.members:
            loaded = [load.table for load in self._account().tables]
            with self.measured.phase("compare"):
                require_agreement(server, self.identity.setting.study.load.verify, when, loaded)

    def take_down(self) -> None:
        """Undoes the set-up; a failure in that is the run's failure."""
        try:
            self._parts.close()
        except LabError as error:
            self.fail(error)

    def finish(self, shared: Sampler) -> RunManifest:
        """Writes the remaining files and gives the run folder its final name; `shared` has sampled
        the host."""
        identity, inspected, served = self.identity, self._inspected, self._served
        account = self._account()
        samplers = [shared, *([served.sampler] if served and served.is_sampled else [])]
        collected = keep_samples(
            identity.writer, samplers, identity.setting.own, account.samples, account.metrics
        )
        inspected.in_any_case()
        identity.writer.document("facts.json", inspected.facts(account.tools))
        identity.writer.document("settings.json", dict(inspected.settings))
        lab = LabCost(0.0, 0.0, 0.0) if served is None else served.lab_cost()
        manifest = self._manifest(collected, lab)
        identity.writer.commit(manifest, tuple(self.measured.summaries))
        return manifest


def load_of(served: Served) -> RunLoad:
    """What a cell's load comes from."""
    by_script = served.identity.cell.abilities.takes_script
    return EngineLoad(served) if by_script else ToolLoad(served)


def _typed() -> str:
    """This process's command line, without passwords."""
    return shlex.join(["dbdyno", *words_without_passwords(sys.argv[1:])])
