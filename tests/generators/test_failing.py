"""A program that fails is told by its own words, once, and never as a fault of ours."""

from __future__ import annotations

import pytest

from dbdyno.errors import ConnectError, LabError, MachineError, ScriptError, StatementError
from dbdyno.generators.failing import failure, telling_line

PGBENCH = """\
pgbench (15.18)
pgbench: error: client 0 script 0 aborted in command 0 query 0: ERROR:  relation "x" does not exist
LINE 1: SELECT * FROM nosuch;
                      ^
pgbench: error: Run was aborted; the above results are incomplete.
"""


@pytest.mark.parametrize(
    ("code", "said", "kind"),
    [
        (2, PGBENCH, StatementError),
        (1, 'pgbench: error: missing argument in command "set"', ScriptError),
        (1, 'pgbench: error: undefined variable "x"', ScriptError),
        (
            1,
            'pgbench: error: connection to server on socket "/s/.s.PGSQL.1" failed: No such file',
            ConnectError,
        ),
        (
            1,
            'pgbench: error: connection to server at "h", port 1 failed: FATAL:  sorry, too many '
            "clients already",
            ConnectError,
        ),
        (1, "FATAL: `thread_init' function failed: mine.lua:3: oh", ScriptError),
        (
            1,
            "FATAL: mysql_drv_query() returned error 1146 (Table 'a.b' doesn't exist)",
            StatementError,
        ),
        (
            1,
            "FATAL: unable to connect to MySQL server on host 'h', port 1, aborting...",
            ConnectError,
        ),
        (1, "ERROR 1064 (42000) at line 1: You have an error in your SQL syntax", StatementError),
        (1, "fio: pid=1, err=28/file:x, error=No space left on device", MachineError),
        (1, "fio: bad option <rw=sideways>", ScriptError),
        (127, "sh: 1: nosuch: not found", MachineError),
        (126, "", MachineError),
        (137, "Killed", MachineError),
        (143, "", MachineError),
        (139, "Segmentation fault", ScriptError),
        (1, "pgbench: error: client 1 aborted: server closed the connection", ConnectError),
        (
            1,
            "FATAL: mysql_drv_query() returned error 2013 (Lost connection to MySQL server)",
            ConnectError,
        ),
        (1, "ERROR 2006 (HY000): MySQL server has gone away", ConnectError),
        (1, 'FATAL:  no pg_hba.conf entry for host "h", user "u"', ConnectError),
        (1, "FATAL:  remaining connection slots are reserved", ConnectError),
        (1, "FATAL:  terminating connection due to administrator command", ConnectError),
        (1, 'psql: error: could not translate host name "h" to address', ConnectError),
        (1, "CommunicationsException: Communications link failure", ConnectError),
        (1, 'ERROR:  permission denied for table "accounts"', StatementError),
        (1, 'org.postgresql.util.PSQLException: ERROR: relation "x"', StatementError),
        (1, "java.sql.SQLException: Deadlock found", StatementError),
        (1, "sqlite3.OperationalError: database is locked", StatementError),
        (1, "psycopg.errors.UndefinedTable: relation", StatementError),
        (1, 'ERROR:  could not extend file "base/1": No space left on device', MachineError),
        (1, "FATAL: Cannot find benchmark 'x': no such built-in test", ScriptError),
        (2, "usage: bench [-h]\nbench: error: unrecognized arguments: --x", ScriptError),
        (-9, "", MachineError),
        (-15, "", MachineError),
        (-11, "", ScriptError),
        (3, "", ScriptError),
    ],
)
def test_what_went_wrong_decides_the_code(code: int, said: str, kind: type[LabError]) -> None:
    found = failure("it", code, said, "logs/step-0 of the run's folder")

    assert type(found) is kind
    assert found.exit_code in (3, 4, 5, 6)
    assert found.message.count("\n") == 0


def test_the_line_that_says_why_is_told_once() -> None:
    found = failure("pgbench", 2, PGBENCH, "logs/step-0 of the run's folder")

    why = 'client 0 script 0 aborted in command 0 query 0: ERROR:  relation "x" does not exist'
    assert found.message == f"pgbench ended with code 2: error: {why}"
    assert found.hint == "all that it said is in logs/step-0 of the run's folder"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("WARNING: failed to pin\nerror: no such table\n", "error: no such table"),
        ("number of failed transactions: 0 (0.000%)\nit stopped", "it stopped"),
        ("ignored errors: 0\nFATAL: oh\nbye", "FATAL: oh"),
        ("0 errors\n3 failed\nbye", "3 failed"),
        ("errors=0 failures=2\ngave up", "gave up"),
        ("note: error handling is on\nsegment not found\n", "segment not found"),
        (
            "begun\nTraceback (most recent call last):\n"
            '  File "b.py", line 3, in go\n    raise Oh("load failed")\nb.Oh: load failed\n',
            "b.Oh: load failed",
        ),
        (
            "Traceback (most recent call last):\n  x\nKeyError: 'a'\n\nDuring handling:\n"
            "Traceback (most recent call last):\n    fail('error')\nValueError: b",
            "ValueError: b",
        ),
        ("Error: one\nError: two", "Error: one"),
        ("\n\n  cannot open x  \n", "cannot open x"),
    ],
)
def test_the_telling_line(said: str, why: str) -> None:
    assert telling_line(said) == why


def test_without_a_word_of_an_error_it_is_the_last_line() -> None:
    assert telling_line("one\n two \n\n") == "two"
    assert telling_line("") == ""
    assert len(telling_line("x" * 5000)) == 501
