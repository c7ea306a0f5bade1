"""The interface of bridges: the files of one result in, its figures and load out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from dbdyno.errors import UsageError
from dbdyno.formats.passwords import without_passwords
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Metric, Option

ALWAYS_UNKNOWN = ("host", "server", "settings", "data", "order", "warm-up")
"""What no tool's text says. A tool may print a host's name, but not its hardware."""

Arrival = Literal["closed", "open", "unknown"]
"""How events started, if the text says it: after the one before, or at a rate or with pauses."""

_SHOWN = 60
"""Characters of a line that wasn't read."""


class CutError(UsageError):
    """A text without a figure that a result must have: others of its file are imported."""


@dataclass(frozen=True, slots=True)
class Text:
    """What a tool printed: a file, or the part of one that is a single result."""

    path: Path
    content: str
    before: int = 0
    """Lines of the file before it."""
    head: str = ""
    """What an earlier part of the file says of this one too: version, options, clients."""
    name: str = ""
    """What tells it from other parts of the file, where its own words don't."""

    def error(
        self, measured: str, *, line: int | None = None, hint: str | None = None
    ) -> UsageError:
        """Why the file can't be imported, with the position in it."""
        return UsageError(f"{self._place(line)}: {measured}", hint=hint)

    def cut(self, tool: str, missing: str) -> CutError:
        """The text is the tool's but ends before its figures."""
        last = len(self.content.splitlines()) or 1
        measured = f"the text ends without {missing}: {tool} was stopped, or the text was cut"
        return CutError(
            f"{self._place(last)}: {measured}", hint="import the whole of what the tool printed"
        )

    def broken(self, measured: str, *, line: int, hint: str) -> CutError:
        """The text breaks off within its figures."""
        return CutError(f"{self._place(line)}: {measured}", hint=hint)

    def nothing(self, measured: str) -> CutError:
        """The text is whole, and says that nothing was measured."""
        return CutError(f"{self._place(None)}: {measured}")

    def uncounted(self, tool: str, script: str) -> CutError:
        """The text has a rate, and no number of events."""
        measured = f"{tool} does not say how many events{script and ' of '}{script} there were"
        return CutError(
            f"{self._place(1)}: {measured}", hint="name the number of each result with --events"
        )

    def _place(self, line: int | None) -> str:
        if line is None:
            line = 1 if self.before else 0
        return f"{self.path}:{self.before + line}" if line else str(self.path)

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
    arrival: Arrival = "unknown"
    stated_per_s: float | None = None
    """The throughput that the text states; `None`: it states none."""
    absent: tuple[str, ...] = ()
    """Lines that a text of this tool and release usually has and this one hasn't."""
    unread: tuple[str, ...] = ()
    """Lines of the result, or what they are about, that aren't understood."""


class Bridge(Protocol):
    """Reads the output of one tool."""

    tool: ClassVar[str]
    metrics: ClassVar[tuple[Metric, ...]]
    """Of the samples its outcomes have."""

    def recognises(self, content: str) -> bool:
        """Whether a file's content is this tool's, complete or not."""

    def parts(self, text: Text) -> Sequence[Text]:
        """The results that a file holds, in its order; one that was cut is there too."""

    def read(self, texts: Sequence[Text]) -> Result:
        """One result, told by `texts` together. Raises `UsageError` with file and line."""


def holding(texts: Sequence[Text], summary: re.Pattern[str], tool: str) -> Text | None:
    """The one file with the summary. Raises `UsageError` with file and line of a second one."""
    matched = [(text, match) for text in texts for match in summary.finditer(text.content)]
    if len(matched) > 1:
        text, match = matched[1]
        raise text.error(
            f"a second result of {tool}, and `+` joins the files of a single one",
            line=text.line_of(match.start()),
            hint="name results apart: `a.txt` `b.txt`; a file with several is named alone",
        )
    return matched[0][0] if matched else None


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
    matched = pattern.search(content)
    return matched[1] if matched else None


def whole(pattern: re.Pattern[str], content: str) -> int | None:
    """The same, as a whole number."""
    matched = first(pattern, content)
    return int(matched) if matched else None


def absent(usual: Mapping[str, re.Pattern[str]], content: str) -> tuple[str, ...]:
    """Names of the lines that aren't there."""
    return tuple(name for name, pattern in usual.items() if not pattern.search(content))


_OTHER_LENGTH = 0.1


def other_length(what: str, window_s: float, told_s: float) -> tuple[str, ...]:
    """A warning where `what` was counted, at the rate that a text states, took a tenth more or less
    than the time that it tells; nothing where it tells none."""
    if not told_s or abs(window_s - told_s) <= _OTHER_LENGTH * told_s:
        return ()
    return (f"its {what} at its rate took {window_s:.3g} s of {told_s:.3g} s",)


def unread(lines: Iterable[str], known: re.Pattern[str]) -> tuple[str, ...]:
    """The lines that aren't understood, each once and shortened; empty ones are no lines."""
    matched = (line.strip() for line in lines)
    strange = (
        without_passwords(line)[:_SHOWN] for line in matched if line and not known.match(line)
    )
    return tuple(dict.fromkeys(strange))
