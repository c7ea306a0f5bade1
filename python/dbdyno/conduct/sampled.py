"""Stores the samples taken during a run, and the cost of sampling."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from dbdyno.collect import OwnCollector, Sampler, total_s
from dbdyno.model import LabCost, Metric, Sample
from dbdyno.store import RunWriter


def keep_samples(
    writer: RunWriter,
    samplers: Sequence[Sampler],
    own: Sequence[OwnCollector],
    tool_samples: Sequence[Sample] = (),
    tool_metrics: Mapping[str, Sequence[Metric]] | None = None,
) -> Mapping[str, Mapping[str, object]]:
    """Writes all samples, and those that a program reported of itself (`tool_samples`); returns for
    each source the cost of sampling, and why it, or some of it, was not read. Raises
    `StoreError`."""
    known = {name: metrics for sampler in samplers for name, metrics in sampler.metrics().items()}
    samples = (sample for sampler in samplers for sample in sampler.samples())
    writer.metrics((*samples, *tool_samples), known | dict(tool_metrics or {}))
    collected: dict[str, Mapping[str, object]] = {}
    for sampler in samplers:
        collected |= {name: asdict(cost) for name, cost in sampler.costs().items()}
        for name, why in sampler.missing.items():
            collected[name] = {**collected.get(name, {}), **asdict(why)}
    for collector in own:
        proof = {"file": collector.file, "sha256": collector.sha256}
        collected[collector.collector.source] = {
            **collected.get(collector.collector.source, {}),
            **proof,
        }
    return collected


@dataclass(slots=True)
class Stopwatch:
    """Counts the processor time of the lab itself, its collectors' threads and programs included,
    and what their queries take of the server."""

    cpu_s: float = 0.0
    server_cpu_s: float | None = 0.0
    wall_s: float = 0.0

    @contextmanager
    def counted(
        self, samplers: Sequence[Sampler], helper_cpu_s: Callable[[], float] = float
    ) -> Iterator[None]:
        """Adds what the block takes, the queries of `samplers` included.

        `helper_cpu_s`: processor time so far of the lab's other programs that run beside the load.
        """
        cpu_s, served_s = _lab_cpu_s(samplers) + helper_cpu_s(), _served_s(samplers)
        wall_s = time.monotonic()
        try:
            yield
        finally:
            self.cpu_s += _lab_cpu_s(samplers) + helper_cpu_s() - cpu_s
            self.wall_s += time.monotonic() - wall_s
            before_s = None if served_s is None else -served_s
            self.server_cpu_s = total_s((self.server_cpu_s, before_s, _served_s(samplers)))

    def cost(self) -> LabCost:
        """All that was counted."""
        return LabCost(self.cpu_s, self.wall_s, self.server_cpu_s)


def _served_s(samplers: Sequence[Sampler]) -> float | None:
    return total_s(sampler.server_cpu_s() for sampler in samplers)


def _lab_cpu_s(samplers: Sequence[Sampler]) -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    programs_s = sum(sampler.programs_cpu_s() for sampler in samplers)
    return used.ru_utime + used.ru_stime + programs_s
