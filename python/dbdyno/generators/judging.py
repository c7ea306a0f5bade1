"""Compares the rows of a ledger's table with what was acknowledged. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

GROUP = 2
"""Rows that one statement writes: all of them, or none."""

OUTCOMES = ("kept", "lost", "resurrected", "torn", "corrupt", "phantom", "not recovered")
"""What a crash did, from harmless to worst. `kept`: every acknowledged commit is there. `lost`: one
is not. `resurrected`: rows are back whose deletion was acknowledged, though later commits of the
same client are there; without, the deletion is `lost` like them. `torn`: a statement's rows are
there in part. `corrupt`: a row has another content. `phantom`: a row that nobody wrote.
`not recovered`: the server did not start again, or could not read the table."""


@dataclass(slots=True)
class Entry:
    """A statement of a client, noted before it is sent."""

    client: int
    first_id: int
    """Of its `GROUP` rows."""
    sent_ns: int
    deletes: bool = False
    acknowledged_ns: int | None = None
    """`None`: no answer came."""

    def acknowledged_by(self, cut_ns: int | None) -> bool:
        """Whether the answer came before the power failed; `None`: it did not fail."""
        answered = self.acknowledged_ns
        return answered is not None and (cut_ns is None or answered <= cut_ns)


@dataclass(frozen=True, slots=True)
class Judged:
    """One crash: what became of the commits before it."""

    commits: int = 0
    """How many were acknowledged."""
    in_doubt: int = 0
    """Sent and not acknowledged: they may be there or not."""
    found: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Outcome → the first id of each group of rows that has it (of `phantom`: each id); `kept` is
    left out."""
    oldest_lost_ns: int = 0
    """How long before the crash the first of the lost commits was acknowledged."""

    @property
    def outcome(self) -> str:
        """The worst that was found: one of `OUTCOMES`."""
        return next((name for name in reversed(OUTCOMES) if self.found.get(name)), OUTCOMES[0])


def judge(
    entries: Sequence[Entry],
    rows: Mapping[int, str],
    content: Callable[[int], str],
    *,
    crash_ns: int,
    cut_ns: int | None,
) -> Judged:
    """Compares every row of the table (`rows`: id → content) with the entries, each client's in
    order.

    `content`: id → the content that was written. `crash_ns`: when the crash began. `cut_ns`:
    acknowledgements after it don't count; `None`: all count.
    """
    found: dict[str, list[int]] = {name: [] for name in OUTCOMES}
    written = {entry.first_id: entry for entry in entries if not entry.deletes}
    deleted = {entry.first_id: entry for entry in entries if entry.deletes}
    newest = {entry.client: entry.first_id for entry in written.values() if entry.first_id in rows}
    lost: list[Entry] = []
    for first, entry in written.items():
        contents = {row: rows[row] for row in range(first, first + GROUP) if row in rows}
        removal = deleted.get(first)
        if any(text != content(row) for row, text in contents.items()):
            found["corrupt"].append(first)
        elif 0 < len(contents) < GROUP:
            found["torn"].append(first)
        elif contents and removal is not None and removal.acknowledged_by(cut_ns):
            if removal.sent_ns < written[newest[entry.client]].sent_ns:
                found["resurrected"].append(first)
            else:
                lost.append(removal)
        elif not contents and removal is None and entry.acknowledged_by(cut_ns):
            lost.append(entry)
    found["lost"] = [entry.first_id for entry in lost]
    known = {row for first in written for row in range(first, first + GROUP)}
    found["phantom"] = sorted(rows.keys() - known)
    commits, in_doubt = _counts(entries, cut_ns)
    return Judged(
        commits=commits,
        in_doubt=in_doubt,
        found={name: ids for name, ids in found.items() if ids},
        oldest_lost_ns=max((crash_ns - (e.acknowledged_ns or crash_ns) for e in lost), default=0),
    )


def not_recovered(entries: Sequence[Entry], crash: int, *, cut_ns: int | None) -> Judged:
    """A crash, by its number, after which no row could be read."""
    commits, in_doubt = _counts(entries, cut_ns)
    return Judged(commits, in_doubt, {OUTCOMES[-1]: [crash]})


def _counts(entries: Sequence[Entry], cut_ns: int | None) -> tuple[int, int]:
    """How many were acknowledged, and how many are in doubt."""
    states = Counter(entry.acknowledged_by(cut_ns) for entry in entries)
    return states[True], states[False]
