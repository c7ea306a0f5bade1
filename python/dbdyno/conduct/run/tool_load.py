"""The load of a run by an outside program, which starts, reports and ends by itself."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from dbdyno.conduct.ending import cause
from dbdyno.conduct.run.load import LoadAccount
from dbdyno.conduct.run.served import Served
from dbdyno.conduct.tool import drive_tool, tool_metrics, tool_result
from dbdyno.errors import InterruptedRunError, LabError
from dbdyno.generators.generator import Start
from dbdyno.model import Sample, Step


@dataclass(slots=True)
class ToolLoad:
    """Brings its own tables, if it needs any."""

    served: Served
    _pids: tuple[int, ...] = ()
    _tools: dict[str, Mapping[str, object]] = field(default_factory=dict)
    _samples: list[Sample] = field(default_factory=list)

    def check_fit(self) -> None:
        """Programs say themselves what they lack."""

    def make_tables(self) -> None:
        """Each step's program makes what it needs."""

    def drop_tables(self) -> None:
        """There are none of ours."""

    def client_pids(self) -> Sequence[int]:
        """That of the program that runs, or ran last."""
        return self._pids

    def account(self) -> LoadAccount:
        """The programs used, and what they sampled."""
        generator = self.served.identity.cell.generator
        return LoadAccount(
            tools=dict(self._tools), samples=tuple(self._samples), metrics=tool_metrics(generator)
        )

    def step(self, step: Step) -> None:
        """One call of the program. Raises `LabError`."""
        identity, served = self.served.identity, self.served
        served.begin_counting()
        try:
            with served.lab_counted():
                done = drive_tool(
                    identity.cell,
                    step,
                    identity.load,
                    server=served.server,
                    scratch=identity.writer.logs / f"step-{step.index}",
                    folders=identity.setting.script_path,
                    start=Start(served.host.client, self._watch),
                )
        except InterruptedRunError:
            raise
        except LabError as error:
            raise cause(error, served.server) from error
        served.server.check()
        self._tools[identity.cell.generator] = done.tool
        self._samples += done.outcome.samples
        self._keep(done.outcome.samples)
        kept, window_s = done.distribution(), done.outcome.window_s
        served.measured.add(tool_result(step, done), done.summary(step, kept))
        if kept is not None:
            ended_ns = done.outcome.ended_unix_ns or time.time_ns()
            began_s = ended_ns / 1e9 - window_s
            identity.writer.distribution(step.index, kept, start_unix_s=began_s, length_s=window_s)
        served.end_counting(step)

    def _keep(self, samples: Sequence[Sample]) -> None:
        journal = self.served.identity.writer.journal
        journal.metrics(tool_metrics(self.served.identity.cell.generator))
        by_instant = sorted(samples, key=lambda sample: (sample.source, sample.unix_ns))
        for _, there in groupby(by_instant, key=lambda sample: (sample.source, sample.unix_ns)):
            journal.samples(list(there))

    def _watch(self, pid: int) -> None:
        self._pids = (pid,)
