"""db_bench's text, one benchmark a file, with `--histogram` and `--report_file` or without."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from dbdyno.bridges.bridge import Bridge, Result, Text, first, holding
from dbdyno.errors import EngineError
from dbdyno.generators.db_bench import GENERATOR, SUMMARY, outcome, own_warnings
from dbdyno.model import Metric

_VERSION = re.compile(r"^RocksDB: +version (\S+)", re.MULTILINE)
_HEAD = re.compile(r"^(?:RocksDB: +version|Keys: +\d+ bytes each)", re.MULTILINE)
_REPORT = "secs_elapsed,interval_qps"
_SIZES = {
    "keys": re.compile(r"^Keys: +(\d+) bytes each", re.MULTILINE),
    "values": re.compile(r"^Values: +(\d+) bytes each", re.MULTILINE),
    "entries": re.compile(r"^Entries: +(\d+)", re.MULTILINE),
}


class DbBench:
    """Reads one benchmark."""

    tool: ClassVar[str] = "db_bench"
    metrics: ClassVar[tuple[Metric, ...]] = GENERATOR.metrics

    def recognises(self, content: str) -> bool:
        """By its head, its summary line, or a report's heading."""
        return content.startswith(_REPORT) or any(mark.search(content) for mark in (_HEAD, SUMMARY))

    def read(self, texts: Sequence[Text]) -> Result:
        """Figures of the summary and the histogram; lines over time of the report."""
        reports = [text for text in texts if text.content.startswith(_REPORT)]
        said = [text for text in texts if text not in reports]
        if not said:
            raise texts[0].error(
                "is a report over time, without the figures of the run",
                hint="name it with the text that db_bench printed: TEXT+REPORT",
            )
        main = holding(said, SUMMARY, self.tool) or said[0]
        content = "\n".join(text.content for text in said)
        lines = [line for text in reports for line in text.content.splitlines()]
        try:
            told = outcome(content, lines, 0, ())
        except EngineError as error:
            raise main.cut(self.tool, "a line `… micros/op … ops/sec`") from error
        summary = SUMMARY.search(content)
        sizes = {name: first(pattern, content) for name, pattern in _SIZES.items()}
        return Result(
            outcome=replace(told, warnings=tuple(own_warnings(content))),
            clients=None,
            version=first(_VERSION, content) or "",
            script=summary["name"] if summary else "",
            options={name: int(size) for name, size in sizes.items() if size},
            not_known=("errors",),
        )


BRIDGE: Bridge = DbBench()
