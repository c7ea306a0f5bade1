"""Reading small kernel files: what is absent or hidden is `None`, never an error.

The root is a parameter so that a recorded tree of another machine can be read in a test.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
"""Of processor time in the kernel's files."""

_CHOSEN = re.compile(r"\[([^\]]+)\]")


@dataclass(frozen=True, slots=True)
class Tree:
    """A root folder holding `proc`, `sys` and `etc`."""

    root: Path = Path("/")

    def path(self, name: str) -> Path:
        """A path below the root."""
        return self.root / name

    def text(self, name: str) -> str | None:
        """A file's content without its surrounding white space."""
        # Unbuffered and without a decoder in between: half of what `Path.read_text` takes, once a
        # second for some dozen files while a load is measured.
        try:
            with open(f"{self.root}/{name}", "rb", buffering=0) as file:  # noqa: PTH123
                content = file.readall()
        except OSError:
            return None
        return content.decode(errors="replace").replace("\0", "").strip()

    def number(self, name: str) -> int | None:
        """A file that holds one whole number."""
        text = self.text(name)
        try:
            return int(text) if text else None
        except ValueError:
            return None

    def chosen(self, name: str) -> str | None:
        """The word in brackets of a file like `always [madvise] never`, else its content."""
        text = self.text(name)
        if text and (match := _CHOSEN.search(text)):
            return match[1]
        return text

    def glob(self, pattern: str) -> Sequence[Path]:
        """Paths that match, in order, relative to the root."""
        return sorted(path.relative_to(self.root) for path in self.root.glob(pattern))

    def same(self, pattern: str) -> str | None:
        """The one content of all files that match; several contents are joined by commas."""
        contents = {text for path in self.glob(pattern) if (text := self.text(str(path)))}
        return ",".join(sorted(contents)) or None

    def fields(self, name: str) -> dict[str, str]:
        """A file of `name: value` lines; of several with one name the first."""
        by_name: dict[str, str] = {}
        for line in (self.text(name) or "").splitlines():
            key, colon, value = line.partition(":")
            if colon:
                by_name.setdefault(key.strip(), value.strip())
        return by_name
