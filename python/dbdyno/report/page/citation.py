"""How a published study is cited: as text, as BibTeX, and by a digest of what is stored of it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Citation:
    """Of one study; what is not known is left out."""

    question: str
    author: str
    licence: str
    date: str
    """Day or days of the runs; empty: not known."""
    version: str
    """The version of dbdyno that writes the page."""
    digest: str
    """Of the stored runs, from `store_digest`."""
    url: str = ""

    @property
    def text(self) -> str:
        """A sentence for a list of references."""
        parts = [self.author, f"“{self.question}”", f"measured with dbdyno {self.version}"]
        parts += [self.date, self.url, f"SHA-256 of the runs {self.digest}"]
        return f"{', '.join(filter(None, parts))}."

    @property
    def bibtex(self) -> str:
        """An entry of type `misc`."""
        fields = {
            "title": self.question,
            "author": self.author,
            "year": (re.findall(r"\b\d{4}\b", self.date) or [""])[-1],
            "url": self.url,
            "note": f"measured with dbdyno {self.version}, SHA-256 of the runs {self.digest}",
        }
        lines = [f"  {name} = {{{_escaped(value)}}}," for name, value in fields.items() if value]
        return "\n".join((f"@misc{{dbdyno-{self.digest[:8]},", *lines, "}"))


def store_digest(folder: Path) -> str:
    """Of the checksums of all runs in a study's folder, by the runs' names: the same for any copy
    of the same runs."""
    digest = hashlib.sha256()
    for sums in sorted(folder.glob("runs/*/SHA256SUMS")):
        digest.update(sums.parent.name.encode() + b"\0" + sums.read_bytes())
    return digest.hexdigest()


def _escaped(text: str) -> str:
    return re.sub(r"([{}%&#$_])", r"\\\1", text)
