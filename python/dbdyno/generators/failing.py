"""How an outside program failed, as one of the lab's errors: by its exit code and what it said.

It is never a fault of our own. What a server answered, a connection that could not be made and what
the machine lacks are told apart by the usual words of PostgreSQL, MySQL and libc; anything else is
the program's or its script's.
"""

from __future__ import annotations

import re
import signal

from dbdyno.errors import ConnectError, LabError, MachineError, ScriptError, StatementError
from dbdyno.formats.passwords import without_passwords
from dbdyno.guard.family import CRASHES

_NOT_STARTED = (126, 127)
"""Exit codes of a shell that may not execute a program, or finds none."""
_BY_SIGNAL = 128
"""A shell adds it to the signal that ended what it called."""
_MEANINGS: tuple[tuple[type[LabError], re.Pattern[str]], ...] = (
    (
        MachineError,
        re.compile(
            r"No space left on device|Cannot allocate memory|[Oo]ut of memory|"
            r"Too many open files|Permission denied|Read-only file system"
        ),
    ),
    (
        ConnectError,
        re.compile(
            r"could not connect|unable to connect|can't connect|connection refused"
            r"|connection to (the )?(database|server) .*fail|password authentication failed"
            r"|access denied for user|too many (clients|connections)|unknown database"
            r"|FATAL:  ?(database|role) .*does not exist|no pg_hba\.conf entry"
            r"|remaining connection slots|the database system is (starting|shutting)"
            r"|terminating connection|closed the connection|lost connection|gone away"
            r"|connection (reset|timed out|is closed)|communications link failure"
            r"|could not translate host|unknown (mysql server )?host|name or service not known"
            r"|no route to host|unable to open database file",
            re.IGNORECASE,
        ),
    ),
    (
        StatementError,
        re.compile(
            r"\b(ERROR|FATAL|PANIC):  \S|returned error \d+ \(|\bERROR \d+ \([0-9A-Z]{5}\)"
            r"|SQL error, errno|\b(PSQLException|SQLException\w*|SQLSyntaxErrorException): "
            r"|\b(psycopg2?|sqlite3|pymysql|MySQLdb)\.[\w.]+: "
        ),
    ),
)
"""The first that matches decides; each by the words of servers and their client libraries."""
_SAYS_WHY = re.compile(r"\b(error|fatal|panic|failed|failure|can't|cannot)\b|not found", re.I)
_SAYS_NONE = re.compile(
    r"^\W*(?:warning|note|info|debug)\b|\b(?:errors?|failures?|failed[\w ]*)\W*[:=] *0\b"
    r"|\b(?:0|no) (?:errors?|failures?|failed)\b",
    re.IGNORECASE,
)
"""What only warns, or counts none."""
_TRACEBACK = "Traceback (most recent call last):\n"
_LONGEST = 500


def failure(program: str, code: int, output: str, kept: str) -> LabError:
    """The error for a program that ended with `code` (negative: by a signal); `said`: all that it
    said, errors first, which stands in the files `kept`."""
    line = without_passwords(telling_line(output).removeprefix(f"{program}: "))
    message = f"{program} ended with {_ending(code)}: {line or 'it said nothing'}"
    hint = f"all that it said is in {kept}" if output.strip() else None
    return _kind(code, output)(message, hint=hint)


def telling_line(output: str) -> str:
    """The first line that speaks of an error, otherwise the last one. In a traceback of Python that
    is the line after the calls, which may speak of errors themselves."""
    _, calls, behind = output.rpartition(_TRACEBACK)
    lines = [line for line in behind.splitlines() if line.strip()]
    if calls:
        lines = [line for line in lines if not line[0].isspace()]
    lines = [line.strip() for line in lines]
    telling = (line for line in lines if _SAYS_WHY.search(line) and not _SAYS_NONE.search(line))
    why = next(telling, lines[-1] if lines else "")
    return why if len(why) <= _LONGEST else f"{why[:_LONGEST]}…"


def _kind(code: int, output: str) -> type[LabError]:
    ended_by = -code if code < 0 else code - _BY_SIGNAL
    if ended_by in set(signal.Signals):
        return ScriptError if ended_by in CRASHES else MachineError
    if code in _NOT_STARTED:
        return MachineError
    return next((kind for kind, words in _MEANINGS if words.search(output)), ScriptError)


def _ending(code: int) -> str:
    if code >= 0:
        return f"code {code}"
    known = set(signal.Signals)
    return f"signal {signal.Signals(-code).name if -code in known else -code}"
