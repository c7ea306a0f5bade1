"""fio's JSON (`--output-format=json` or `json+`), with or without `--group_reporting`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from dbdyno.bridges.bridge import Bridge, Result, Text, single
from dbdyno.generators.fio import GENERATOR, outcome
from dbdyno.model import Metric, Option

_JSON = '"fio version"'
_PLAIN = re.compile(r"^fio-\d\S*$\n^Starting \d+ (?:process|thread)", re.MULTILINE)
_TOLD = ("rw", "bs", "iodepth", "ioengine", "direct", "rate_iops")
"""Options of jobs that say what load it was."""
_RUNTIME = re.compile(r"(\d+)(|s|m|h)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


class Fio:
    """Reads one run, whatever its jobs."""

    tool: ClassVar[str] = "fio"
    metrics: ClassVar[tuple[Metric, ...]] = GENERATOR.metrics

    def recognises(self, content: str) -> bool:
        """By the key of its version; its text for people is recognised to be refused."""
        return _JSON in content or bool(_PLAIN.search(content))

    def read(self, texts: Sequence[Text]) -> Result:
        """Clients are jobs: `numjobs`, added up. Its date is fio's own."""
        text = single(texts, self.tool)
        report = _document(text)
        if not report.get("jobs"):
            raise text.error("fio ran no job")
        try:
            jobs: Sequence[Mapping[str, Any]] = report["jobs"]
            told = outcome(report, ())
            ended_ns = int(report["timestamp_ms"]) * 10**6
            names = [str(one["jobname"]) for one in jobs]
            clients, options = _clients(report, names), dict(_options(report, told.window_s))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise text.error(
                f"fio's JSON has no {error}: it is of another version than 3, or was altered"
            ) from error
        if not told.events:
            raise text.error("no read and no write of fio ended")
        several = {name for name, number in Counter(names).items() if number > 1}
        figures = {
            name: value
            for name, value in told.figures.items()
            if name.partition(".")[2] not in several
        }
        return Result(
            outcome=replace(told, figures=figures, ended_unix_ns=ended_ns),
            clients=clients,
            version=str(report.get("fio version", "")).removeprefix("fio-"),
            script="+".join(dict.fromkeys(names)),
            options=options,
        )


def _document(text: Text) -> Mapping[str, Any]:
    """fio may print warnings before its JSON."""
    if _JSON not in text.content:
        raise text.error(
            "is fio's text for people", line=1, hint="run fio with --output-format=json"
        )
    start = text.content.find("{")
    try:
        found = json.loads(text.content[start:])
    except json.JSONDecodeError as error:
        line = text.line_of(start + error.pos)
        raise text.error(
            f"fio's JSON ends or breaks here: {error.msg}",
            line=line,
            hint="import the whole of what fio printed, one run a file",
        ) from error
    if not isinstance(found, dict):
        raise text.error("is no document of fio")
    return found


def _clients(report: Mapping[str, Any], names: Sequence[str]) -> int:
    """Of grouped jobs there is one entry, of others one a job."""
    shared = report.get("global options", {})
    entries = Counter(names)
    asked = {
        str(one["jobname"]): int({**shared, **one.get("job options", {})}.get("numjobs", 1))
        for one in report["jobs"]
    }
    return sum(max(entries[name], number) for name, number in asked.items())


def _options(report: Mapping[str, Any], window_s: float) -> Iterator[tuple[str, Option]]:
    """Those that all jobs share; how long, if time ended them and not the size of their data."""
    shared = report.get("global options", {})
    jobs = [{**shared, **one.get("job options", {})} for one in report["jobs"]]
    limits = [_RUNTIME.fullmatch(str(job.get("runtime", ""))) for job in jobs]
    known = [int(limit[1]) * _SECONDS[limit[2]] for limit in limits if limit]
    if known and len(known) == len(jobs) and window_s > 0.98 * max(known):
        yield "duration_s", max(known)
    for name in _TOLD:
        values = {str(job[name]) for job in jobs if name in job}
        if len(values) == 1:
            yield name, values.pop()


BRIDGE: Bridge = Fio()
