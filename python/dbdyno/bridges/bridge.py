"""The interface of bridges: the files of one result in, its figures and load out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from dbdyno.errors import UsageError
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Metric, Option

ALWAYS_UNKNOWN = ("host", "server", "settings", "data", "order", "warm-up")
"""What no tool's text says. A tool may print a host's name, but not its hardware."""


@dataclass(frozen=True, slots=True)
class Text:
    """A file with what a tool printed."""

    path: Path
    content: str

    def error(self, told: str, *, line: int | None = None, hint: str | None = None) -> UsageError:
        """Why the file can't be imported, with the position in it."""
        place = f"{self.path}:{line}" if line else str(self.path)
        return UsageError(f"{place}: {told}", hint=hint)

    def cut(self, tool: str, missing: str) -> UsageError:
        """The text is the tool's but ends before its figures."""
        last = len(self.content.splitlines()) or 1
        told = f"the text ends without {missing}: {tool} was stopped, or the text was cut"
        return self.error(told, line=last, hint="import the whole of what the tool printed")

    def line_of(self, position: int) -> int:
        """The line, from 1, of a position in the content."""
        return self.content.count("\n", 0, position) + 1


@dataclass(frozen=True, slots=True)
class Result:
    """The content of one or more files about one run of a tool."""

    outcome: ToolOutcome
    clients: int | None
    """`None`: unknown."""
    version: str = ""
    script: str = ""
    """The tool's name for its workload; empty: unknown."""
    options: Mapping[str, Option] = field(default_factory=dict)
    """Properties of the load in the text: `duration_s`, scale, …"""
    not_known: tuple[str, ...] = ()
    """Beside `ALWAYS_UNKNOWN`."""


class Bridge(Protocol):
    """Reads the output of one tool."""

    tool: ClassVar[str]
    metrics: ClassVar[tuple[Metric, ...]]
    """Of the samples its outcomes have."""

    def recognises(self, content: str) -> bool:
        """Whether a file's content is this tool's, complete or not."""

    def read(self, texts: Sequence[Text]) -> Result:
        """One result, whose parts `texts` are. Raises `UsageError` with file and line."""


def holding(texts: Sequence[Text], summary: re.Pattern[str], tool: str) -> Text | None:
    """The one file with the summary. Raises `UsageError` with file and line of a second one."""
    found = [(text, match) for text in texts for match in summary.finditer(text.content)]
    if len(found) > 1:
        text, match = found[1]
        raise text.error(
            f"a second result of {tool} in this file; import one result per file",
            line=text.line_of(match.start()),
            hint="put each result into a file of its own, and name them apart: `a.txt` `b.txt`",
        )
    return found[0][0] if found else None


def single(texts: Sequence[Text], tool: str) -> Text:
    """The single file of a result of a tool that prints everything into one."""
    if len(texts) > 1:
        raise texts[1].error(
            f"a result of {tool} is one file, and this is a second one",
            hint=f"name them apart: `{texts[0].path}` `{texts[1].path}`",
        )
    return texts[0]


def first(pattern: re.Pattern[str], content: str) -> str | None:
    """The first group of the first match."""
    found = pattern.search(content)
    return found[1] if found else None


def whole(pattern: re.Pattern[str], content: str) -> int | None:
    """The same, as a whole number."""
    found = first(pattern, content)
    return int(found) if found else None
