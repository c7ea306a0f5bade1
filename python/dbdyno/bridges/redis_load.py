"""What redis-benchmark prints, releases 6.0 to 8: text, `--csv` and `-q`.

It has no JSON. Each command that it tests is a result; `--csv` and `-q` tell neither the number of
requests nor of clients (`--events`, `--clients`), unless their command line stands before.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from dbdyno.bridges.bridge import Bridge, Result, Text, absent, first, single, unread, whole
from dbdyno.bridges.parts import Shape, results_in
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Metric, Option

_TITLE = re.compile(r"^====== (.+) ======", re.MULTILINE)
_ROW = re.compile(r'^"([^"]+)","([\d.]+)"((?:,"[\d.]+")*)$', re.MULTILINE)
_HEADING = re.compile(r'^"test","rps".*$', re.MULTILINE)
_QUIET = re.compile(r"^(.+?): ([\d.]+) requests per second(?:, p50=([\d.]+) msec)?", re.MULTILINE)
_DONE = re.compile(r"^ *(\d+) requests completed in ([\d.]+) seconds", re.MULTILINE)
_CLIENTS = re.compile(r"^ *(\d+) parallel clients", re.MULTILINE)
_PAYLOAD = re.compile(r"^ *(\d+) bytes payload", re.MULTILINE)
_KEPT = re.compile(r"^ *keep alive: (\d)", re.MULTILINE)
_THREADS = re.compile(r"^ *threads: (\d+)", re.MULTILINE)
_SETTINGS = re.compile(r'^ *host configuration "(save|appendonly)": *(.*)$', re.MULTILINE)
"""Of the server, as it is asked for them."""
_ENDLESS = re.compile(
    r"^(?: *throughput summary: )?(?:inf|-?nan) requests per second", re.MULTILINE
)
_RATE = re.compile(r"^(?: *throughput summary: )?([\d.]+) requests per second", re.MULTILINE)
_TABLE = re.compile(r"^ +avg +min +p50 +p95 +p99 +max *\n *([\d. ]+)$", re.MULTILINE)
_ERRORS = re.compile(r"^(?:Error from server|Server returned an error)", re.MULTILINE)
_COMMAND = re.compile(r"^.*\b(?:redis|valkey)-benchmark (?:.* )?-.*$", re.MULTILINE)
"""As terminals show it before what it prints."""
_FLAGS = {
    "clients": re.compile(r" -c +(\d+)"),
    "requests": re.compile(r" -n +(\d+)"),
    "data_size": re.compile(r" -d +(\d+)"),
    "pipeline": re.compile(r" -P +(\d+)"),
    "threads": re.compile(r" --threads +(\d+)"),
}
_SHAPE = Shape(mark=_TITLE, opening=_TITLE, over=_RATE, begun=_DONE)
_COLUMNS = ("mean", "", "p50", "p95", "p99", "max")
_BY_NAME = {
    "avg_latency_ms": "mean",
    "p50_latency_ms": "p50",
    "p95_latency_ms": "p95",
    "p99_latency_ms": "p99",
    "max_latency_ms": "max",
}
_KNOWN = re.compile(
    r"=+ |\d+ requests completed|\d+ parallel clients|\d+ bytes payload|keep alive: |threads: |"
    r"multi-thread: |throughput summary: |[\d.]+ requests per second|Summary:|latency summary|"
    r'host configuration "(?:save|appendonly)":|'
    r"avg +min |[\d. ]+$|\w.*: (?:[\d.]+|rps=.*)$|WARNING: |Error from server"
)
_USUAL = {"parallel clients": _CLIENTS, "bytes payload": _PAYLOAD, "keep alive": _KEPT}
_DISTRIBUTION = re.compile(r"^[\d.]+% <= [\d.]+ milliseconds", re.MULTILINE)


class RedisLoad:
    """Reads the test of one command."""

    tool: ClassVar[str] = "redis-benchmark"
    metrics: ClassVar[tuple[Metric, ...]] = ()

    def recognises(self, content: str) -> bool:
        """By a test's title, its table's heading or rows, or its short lines."""
        return bool(
            (_TITLE.search(content) and _DONE.search(content))
            or _HEADING.search(content)
            or _ROW.search(content)
            or _QUIET.search(content)
        )

    def parts(self, text: Text) -> Sequence[Text]:
        """A text, a row or a line for each command."""
        if _TITLE.search(text.content):
            return results_in(text, _SHAPE)
        heading = _HEADING.search(text.content)
        head = heading[0] if heading else ""
        rows = [*_ROW.finditer(text.content), *_QUIET.finditer(text.content)]
        calls = list(_COMMAND.finditer(text.content))
        return [
            replace(
                text,
                content=row[0],
                before=text.before + text.line_of(row.start()) - 1,
                head="\n".join([head, *[c[0] for c in calls if c.start() < row.start()][-1:]]),
            )
            for row in rows
            if row[0] != head
        ] or [text]

    def read(self, texts: Sequence[Text]) -> Result:
        """Its clients wait for each reply, or for those of a pipeline."""
        text = single(texts, self.tool)
        title = _TITLE.search(text.content)
        return _of_text(text, title[1]) if title else _of_line(text)


def _of_text(text: Text, title: str) -> Result:
    content = text.content
    done, rate = _DONE.search(content), first(_RATE, content)
    if done is None or rate is None or not float(rate):
        if _ENDLESS.search(content):
            raise text.nothing("its rate is infinite: the test was too short for its clock")
        raise text.cut(RedisLoad.tool, "`… requests per second`")
    events = int(done[1])
    table = first(_TABLE, content)
    times = [float(ms) * 1000 for ms in table.split()] if table else []
    errors = len(_ERRORS.findall(content))
    lines = content.splitlines()
    return Result(
        outcome=ToolOutcome(
            window_s=events / float(rate),
            events=events,
            errors=errors,
            latency_us={name: us for name, us in zip(_COLUMNS, times, strict=False) if name and us},
        ),
        clients=whole(_CLIENTS, content),
        script=title,
        options=dict(_options(content)),
        not_known=("pipeline",),
        arrival="closed",
        stated_per_s=float(rate),
        absent=absent(_USUAL, content),
        unread=tuple(_unread(lines, table is not None)),
    )


def _options(content: str) -> Iterator[tuple[str, Option]]:
    payload, kept, threads = (whole(p, content) for p in (_PAYLOAD, _KEPT, _THREADS))
    if payload is not None:
        yield "data_size", payload
    if kept == 0:
        yield "reconnect", "each request"
    if threads is not None:
        yield "threads", threads
    for name, value in _SETTINGS.findall(content):
        yield name, value or "never"


def _unread(lines: Sequence[str], has_table: bool) -> Iterator[str]:
    """The distribution by milliseconds is coarser than percentiles are."""
    if not has_table and any(_DISTRIBUTION.match(line) for line in lines):
        yield "… % <= … milliseconds"
    others = (line for line in lines if "% <= " not in line and "istribution" not in line)
    yield from unread(others, _KNOWN)


def _called(head: str) -> dict[str, int]:
    """What its command line says, where it stands before the line."""
    matched = {name: whole(pattern, head) for name, pattern in _FLAGS.items()}
    return {name: value for name, value in matched.items() if value is not None}


def _of_line(text: Text) -> Result:
    quiet = _QUIET.match(text.content)
    row = next(csv.reader([text.content]), []) if quiet is None else []
    if quiet is None and len(row) < 2:
        raise text.cut(RedisLoad.tool, "a row of a test")
    name, rate = (quiet[1], quiet[2]) if quiet else row[:2]
    if not float(rate):
        raise text.nothing(f"no request of {name} ended")
    if quiet:
        times = {"p50": float(quiet[3]) * 1000} if quiet[3] else {}
    else:
        heading = next(csv.reader([text.head.partition("\n")[0]]), [])
        measured = dict(zip(heading, row, strict=False))
        matched = {
            ours: float(measured[its]) * 1000 for its, ours in _BY_NAME.items() if its in measured
        }
        times = {what: us for what, us in matched.items() if us}
    options = _called(text.head.partition("\n")[2])
    clients, events = options.pop("clients", None), options.pop("requests", 0)
    return Result(
        outcome=ToolOutcome(window_s=events / float(rate), events=events, latency_us=times),
        clients=clients,
        script=name.strip(),
        options=options,
        not_known=("errors",) if "pipeline" in options else ("errors", "pipeline"),
        arrival="closed",
        stated_per_s=float(rate),
        absent=() if times else ("latencies",),
    )


BRIDGE: Bridge = RedisLoad()
