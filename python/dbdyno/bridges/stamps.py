"""Takes off what others put before each line of a tool's text: the time stamps of a CI's log or of
the program ts, a quotation's mark, colours."""

from __future__ import annotations

import re
import textwrap

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|_[^\x07]*\x07)")
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
_DATE = r"\d{4}-\d\d-\d\d"
_ISO = rf"{_DATE}T{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"
_STAMPS = tuple(
    re.compile(pattern)
    for pattern in (
        # GitLab: the stream's number and a mark for the rest of a line that was divided.
        rf"{_ISO} \d\d[OE][ +]",
        # GitHub, Azure, Kubernetes, Docker; behind job and step where GitHub's client wrote it.
        rf"(?:[^\t\n]*\t[^\t\n]*\t)?\ufeff?{_ISO}(?:[ \t]|$)",
        # Jenkins; ts "[%F %T]".
        rf"\[(?:{_ISO}|{_DATE} {_CLOCK}|{_CLOCK})\](?:[ \t]|$)",
        rf"{_DATE} {_CLOCK}(?: ?[+-]\d\d:?\d\d| UTC)?(?:[ \t]|$)",
        # The program ts, syslog.
        rf"[A-Z][a-z]{{2}} [ \d]\d {_CLOCK}(?:[ \t]|$)",
        # Jenkins by default; ts -s.
        rf"{_CLOCK}(?:  ?|\t|$)",
        # ts %.s.
        r"\d{10}\.\d+(?:[ \t]|$)",
        # Docker Compose: the service.
        r"[\w.-]+ +\| ?",
        # A quotation.
        r">(?: |$)",
    )
)
_ENOUGH = 0.9
"""Share of a text's lines that have the same kind of stamp, if each has one."""
_FIRST = 5
"""Lines of which one at least has a stamp if the text has."""
_MOST = 3
"""Stamps before one another: a job's own and its CI's."""


def bare(content: str) -> tuple[str, bool]:
    """The text as the tool printed it, line by line, and whether a stamp was taken off."""
    text = content.removeprefix("\ufeff")
    if "\r" in text:
        text = _shown(text)
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    stamped = False
    for _ in range(_MOST):
        lines = text.split("\n")
        stamp = _stamp_of(lines)
        if stamp is None:
            break
        text = "\n".join(
            stamp.sub("", line, count=1) if stamp.match(line) else line for line in lines
        )
        stamped = True
    text = _without_ends(text)
    if text[:1] in "\n \t" or any(mark in text for mark in _BEFORE_BLOCKS):
        text = _BLOCK.sub(lambda block: textwrap.dedent(block[0]), text)
    return text, stamped


def _shown(text: str) -> str:
    """What a terminal shows of lines that were written over, such as a counter's."""
    if "\n" not in text:
        return text.replace("\r", "\n")
    return _OVERWRITTEN.sub("", text.replace("\r\n", "\n")).replace("\r", "")


_OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\n\r])")


def _stamp_of(lines: list[str]) -> re.Pattern[str] | None:
    first = [line for line in lines[:_FIRST] if line.strip()]
    for stamp in _STAMPS:
        if any(stamp.match(line) for line in first):
            measured = [line for line in lines if line.strip()]
            if sum(1 for line in measured if stamp.match(line)) >= _ENOUGH * len(measured):
                return stamp
    return None


def _without_ends(text: str) -> str:
    """Without blanks at the ends of lines, as copies from pages have them."""
    return _BLANKS.sub("", text)


_BLOCK = re.compile(r"(?:\A\n*|(?<=\n\n)|(?<=\n>\n))[ \t]+\S.*(?:\n(?:[ \t].*)?(?=\n|\Z))*")
"""Indented lines behind an empty one, such as Markdown's code. No tool that is read here prints
such."""
_BEFORE_BLOCKS = ("\n\n ", "\n\n\t", "\n>\n ")
"""Without one of these there is none: a log of a gigabyte is not looked through for it."""
_BLANKS = re.compile(r"[ \t]+$", re.MULTILINE)
