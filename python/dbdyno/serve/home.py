"""The list of a store's studies, newest first. A study's folder is read again only when its files
have changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import unescape

from dbdyno.serve.inside import Inside
from dbdyno.serve.plan import declaration, number_of, read_json, text_of
from dbdyno.serve.stored import Effect, stored_answer
from dbdyno.serve.tails import JournalTail
from dbdyno.store.places import ANSWER, ATTEMPT, LIVE, PARTIAL, base_name
from dbdyno.store.study_journal import is_alive, process_of

_DESCRIPTION = re.compile(rb'<meta name="description" content="([^"]{1,2000})">')
_HEAD_BYTES = 4000
MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """A study in the list."""

    study: str
    question: str
    answer: str
    """Empty: no answer yet."""
    state: str
    """`running`, `killed`, `stopped`, `complete`, `idle`."""
    changed_unix_s: float
    machine: str
    runs: int
    planned: int
    effect: tuple[float, float, float] | None = None
    """The largest ratio to the baseline with its 95 % interval, for a small picture."""
    share: float | None = None
    """Of a running study: how much is done, from 0 to 1."""
    tags: tuple[str, ...] = ()
    """Its servers, its figure and its scale: words that find others like it."""


@dataclass(slots=True)
class Home:
    """The studies of a store."""

    inside: Inside
    _rows: dict[str, tuple[tuple[float, ...], Row]] = field(default_factory=dict)
    """Study → when its files last changed, and its row as of then."""

    def rows(self, words: str = "", most: int = MOST_ROWS) -> tuple[Sequence[Row], int]:
        """At most `most` rows that have all of `words`, running studies first, then the newest; and
        how many such rows there are."""
        names = self.inside.folders()
        rows = [row for name in names if (row := self._row(name)) is not None]
        wanted = words.lower().split()
        rows = [row for row in rows if all(word in _words(row) for word in wanted)]
        rows.sort(key=lambda row: (row.state != "running", -row.changed_unix_s, row.study))
        return rows[:most], len(rows)

    def row(self, study: str) -> Row | None:
        """The row of a study; `None` if there is none of this name."""
        return self._row(study) if study in self.inside.folders() else None

    def repeats(self, study: str) -> Sequence[Row]:
        """Rows of the studies that share a study's name (`NAME`, `NAME.2`, …)."""
        names = (name for name in self.inside.folders() if base_name(name) == base_name(study))
        return [row for name in names if (row := self._row(name)) is not None]

    def running(self) -> Sequence[Row]:
        """Rows of the running studies."""
        return [row for row in self.rows()[0] if row.state == "running"]

    def _row(self, study: str) -> Row | None:
        changed = self._changed(study)
        if not changed[0] and not changed[1]:
            return None
        kept, row = self._rows.get(study, ((), None))
        if row is None or kept != changed or row.state == "running":
            row = self._read(study, changed)
            self._rows[study] = changed, row
        return row

    def _changed(self, study: str) -> tuple[float, ...]:
        """When the files behind a row last changed: `study.json`, `runs`, then the rest."""
        times = []
        for name in ("study.json", "runs", ANSWER, LIVE, "report.html"):
            at = 0.0
            with suppress(OSError):
                at = self.inside.state(study, name).st_mtime
            times.append(at)
        return tuple(times)

    def _read(self, study: str, changed: tuple[float, ...]) -> Row:
        declared, answer = declaration(self.inside, study), read_json(self.inside, study, ANSWER)
        folders = self.inside.folders(study, "runs")
        whole = [name for name in folders if not name.endswith(PARTIAL)]
        ended = set(map(_run_of, whole))
        planned = declared.needed
        process, share, over = self._command(study)
        if process and not over:
            state = "running" if is_alive(process) else "killed"
        elif planned and planned <= ended and planned <= self._complete(study, whole):
            state = "complete"
        else:
            state = "stopped" if folders else "idle"
        return Row(
            study=study,
            question=declared.question or study,
            answer=text_of(answer.get("text")) or self._described(study),
            state=state,
            changed_unix_s=max(changed),
            machine=self._machine(study, sorted(ended)),
            runs=len(ended & planned) if planned else len(ended),
            planned=len(planned),
            effect=_largest(stored_answer(self.inside, study).effects),
            tags=declared.tags,
            share=share if state == "running" else None,
        )

    def _complete(self, study: str, folders: Sequence[str]) -> set[str]:
        """Runs with an attempt that is complete, by their manifests."""
        manifests = (
            (name, read_json(self.inside, study, "runs", name, "manifest.json")) for name in folders
        )
        return {_run_of(name) for name, head in manifests if head.get("status") == "complete"}

    def _command(self, study: str) -> tuple[dict[str, object], float, bool]:
        """The last command's process, its share done, and whether it has logged its end."""
        entries = JournalTail(self.inside, study, LIVE).fresh()[0]
        share = 0.0
        for entry in reversed(entries):
            progress = entry.get("progress")
            if isinstance(progress, dict):
                share = number_of(progress.get("share"))
                break
        return dict(process_of(entries)), share, any("ended" in entry for entry in entries)

    def _described(self, study: str) -> str:
        """The answer in a report's head, for studies of versions that wrote no `answer.json`."""
        with suppress(OSError):
            head = self.inside.read(study, "report.html", most=_HEAD_BYTES)
            match = _DESCRIPTION.search(head)
            if match:
                return text_of(unescape(match[1].decode(errors="replace")))
        return ""

    def _machine(self, study: str, folders: Sequence[str]) -> str:
        for name in folders[:1]:
            facts = read_json(self.inside, study, "runs", name, "facts.json")
            host = facts.get("host")
            processor = host.get("processor") if isinstance(host, dict) else None
            if isinstance(processor, dict):
                return text_of(processor.get("model"))
        return ""


def _run_of(folder: str) -> str:
    return folder.partition(ATTEMPT)[0]


def _largest(effects: Sequence[Effect]) -> tuple[float, float, float] | None:
    """The ratio that is farthest from 1, with its interval."""
    ratios = (effect.ends for effect in effects)
    return max(ratios, key=lambda ends: max(ends[1], 1 / ends[1]), default=None)


def _words(row: Row) -> str:
    return " ".join(
        (row.study, row.question, row.answer, row.state, row.machine, *row.tags)
    ).lower()
