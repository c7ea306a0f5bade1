"""sysbench's text, releases 1.0 and 1.1: `run` of any script, with or without `--histogram`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from dbdyno.bridges.bridge import (
    Bridge,
    Result,
    Text,
    first,
    holding,
    single,
    whole,
)
from dbdyno.errors import EngineError
from dbdyno.generators.sysbench import GENERATOR, outcome
from dbdyno.model import Metric

_BANNER = re.compile(r"^sysbench (\d\S*)", re.MULTILINE)
_THREADS = re.compile(r"^Number of threads: (\d+)", re.MULTILINE)
_SUMMARY = re.compile(r"^ *total number of events: +\d+", re.MULTILINE)
_SHOWN = re.compile(r"^ *(\d+)(?:st|nd|rd|th) percentile: +([\d.]+)", re.MULTILINE)
_RANKS = {"50": "p50", "95": "p95", "99": "p99"}


class Sysbench:
    """Reads one `run`."""

    tool: ClassVar[str] = "sysbench"
    metrics: ClassVar[tuple[Metric, ...]] = GENERATOR.metrics

    def recognises(self, content: str) -> bool:
        """By its banner, or by its summary where the banner was left out."""
        return bool(_BANNER.search(content)) or (
            "General statistics:" in content and "total number of events:" in content
        )

    def read(self, texts: Sequence[Text]) -> Result:
        """Figures of the summary; percentiles of the histogram, or the one it shows."""
        text = single(texts, self.tool)
        holding(texts, _SUMMARY, self.tool)
        try:
            told = outcome(text.content, 0, ())
        except EngineError as error:
            raise text.cut(self.tool, "`General statistics` of events that ended") from error
        if "execution time (avg/stddev)" not in text.content:
            raise text.cut(self.tool, "`Threads fairness`, its last paragraph")
        shown = {
            _RANKS[rank]: float(ms) * 1000
            for rank, ms in _SHOWN.findall(text.content)
            if rank in _RANKS
        }
        return Result(
            outcome=replace(told, latency_us={**shown, **told.latency_us}),
            clients=whole(_THREADS, text.content),
            version=first(_BANNER, text.content) or "",
        )


BRIDGE: Bridge = Sysbench()
