"""What a place is: a host where programs are started, with lines in and lines out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Running(Protocol):
    """A program at a place."""

    host: str
    """Its host's name; empty: this machine."""

    @property
    def pid(self) -> int | None:
        """On this machine; `None`: it runs on another host."""

    @property
    def lost(self) -> str:
        """Why nothing more is heard of it, though it did not end in order; empty: it is not."""

    def lines(self) -> Iterator[bytes]:
        """What it prints, line by line, until it ends; the last may lack its end."""

    def send(self, text: bytes, *, more: bool = True) -> None:
        """Writes to its standard input, which is closed unless there is `more` to come. Nothing
        happens if it has ended."""

    def interrupt(self) -> None:
        """Sends SIGINT, unless it has ended."""

    def kill(self) -> None:
        """Ends it at once."""

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; `None` while it runs."""

    def wait(self) -> int:
        """Waits for its end."""

    def close(self) -> None:
        """Kills it if it still runs, and lets go of what belongs to it."""

    def ahead_ns(self) -> int:
        """How far its host's wall clock is ahead of this machine's; 0 on this machine."""

    def gained_ns(self, over_ns: int) -> int:
        """By how much its host's clock gains on this machine's over a time; 0 on this machine."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program printed that ran to its end."""

    code: int
    text: str
    error: str


class Place(Protocol):
    """A host where programs are started."""

    name: str
    """Empty: this machine."""

    @property
    def facts(self) -> Mapping[str, object]:
        """Cores, memory, limits, kernel; nothing of this machine, whose facts are collected."""

    def run(self, argv: Sequence[str | Path], error: Path) -> Running:
        """Starts a program, whose standard error is appended to a file here.

        # Errors
        `OSError` if it can't be started, `MachineError` if the host is lost.
        """

    def ask(self, argv: Sequence[str | Path], text: str, limit_s: float) -> Answer:
        """Runs a program to its end with `text` as its input. Raises like `run`, and
        `TimeoutError`."""

    def path(self, file: str) -> str:
        """Where a file or folder of this machine lies there, if it was put there; otherwise the
        same path."""
