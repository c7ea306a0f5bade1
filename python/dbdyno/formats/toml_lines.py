"""Finds the line of each key in a TOML document.

The standard parser returns values without positions. This one walks a document already known to be
valid and records positions without values, so it only needs to recognise where keys, strings and
brackets begin and end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Path = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""+|\'\'\'.*?\'\'\'+|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL
)


def key_lines(text: str) -> Mapping[Path, int]:
    """Path of every key, table and array element → its line, from 1. `text` is valid TOML."""
    return _Walker(text).walk()


class _Walker:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self.arrays: dict[Path, int] = {}

    def walk(self) -> Mapping[Path, int]:
        table: Path = ()
        self.skip(_BLANK)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip(_BLANK)
        return self.lines

    def header(self) -> Path:
        line = self.line()
        is_array = self.text.startswith("[[", self.at)
        self.at += 2 if is_array else 1
        path = self.resolve(self.key())
        self.at += 2 if is_array else 1
        if is_array:
            index = self.arrays.get(path, -1) + 1
            self.arrays[path] = index
            self.note(path, line)
            path = (*path, str(index))
        self.note(path, line)
        return path

    def resolve(self, key: Path) -> Path:
        """`[chart.axis]` under `[[chart]]` belongs to the chart begun last."""
        path: Path = ()
        for position, part in enumerate(key):
            path = (*path, part)
            if position < len(key) - 1 and path in self.arrays:
                path = (*path, str(self.arrays[path]))
        return path

    def pair(self, table: Path) -> None:
        line = self.line()
        key = self.key()
        for length in range(1, len(key) + 1):
            self.note((*table, *key[:length]), line)
        self.at += 1  # the equals sign
        self.value((*table, *key))

    def value(self, path: Path) -> None:
        self.skip(_SPACE)
        first = self.text[self.at]
        if first == "{":
            self.members("}", lambda _: self.pair(path))
        elif first == "[":
            self.members("]", lambda index: self.element((*path, str(index))))
        elif first in "\"'":
            self.skip(_STRING)
        else:
            self.skip(_SCALAR)

    def members(self, end: str, member: Callable[[int], None]) -> None:
        self.at += 1
        index = 0
        self.skip(_BLANK)
        while self.text[self.at] != end:
            if self.text[self.at] == ",":
                self.at += 1
            else:
                member(index)
                index += 1
            self.skip(_BLANK)
        self.at += 1

    def element(self, path: Path) -> None:
        self.note(path, self.line())
        self.value(path)

    def key(self) -> Path:
        """A possibly dotted key, and the space behind it."""
        parts: list[str] = []
        while True:
            self.skip(_SPACE)
            match = _STRING.match(self.text, self.at) or _BARE_KEY.match(self.text, self.at)
            assert match is not None, "the document was checked before"
            parts.append(match[0][1:-1] if match[0][0] in "\"'" else match[0])
            self.at = match.end()
            self.skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return tuple(parts)
            self.at += 1

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()

    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def note(self, path: Path, line: int) -> None:
        self.lines.setdefault(path, line)
