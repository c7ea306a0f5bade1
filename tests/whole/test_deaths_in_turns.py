"""What ends a cell in turns has the same reason and exit code as in runs: the server's death, a
refused statement, the script's error."""

from __future__ import annotations

from pathlib import Path

import pytest
from product import dbdyno

from dbdyno.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

SCRIPT = """\
function prepare()
   con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE t (id INTEGER PRIMARY KEY)")
end
function thread_init()
   con = sysbench.sql.driver():connect()
   count = 0
end
function event()
   count = count + 1
   con:query("SELECT id FROM t")
   if count > 20 and tostring(LEVEL) == "BAD" then
      FAULT
   end
end
"""
STUDY = """\
question = "How does it end?"
[server.s]
provision = "PROVISION"
[factor.level]
good = { settings = { SETTING = "GOOD" } }
bad = { settings = { SETTING = "BAD" } }
[workload]
script = "work"
[load]
clients = [2]
measure = "600 ms"
[design]
blocks = 1
order = "ORDER"
turn = "200 ms"
lead_in = "0 s"
baseline = { level = "good" }
"""
IN_RUNS = 'turn = "200 ms"\nlead_in = "0 s"\n'

POSTGRESQL = {
    "PROVISION": "postgresql:18.0.0@maven",
    "SETTING": "work_mem",
    "LEVEL": 'con:query_row("SHOW work_mem")',
    "GOOD": "8MB",
    "BAD": "4MB",
}
MARIADB = {
    "PROVISION": "mariadb",
    "SETTING": "sort_buffer_size",
    "LEVEL": 'con:query_row("SELECT @@sort_buffer_size")',
    "GOOD": "4194304",
    "BAD": "2097152",
}
SQLITE = {
    "PROVISION": "sqlite",
    "SETTING": "cache_size",
    "LEVEL": 'con:query_row("PRAGMA cache_size")',
    "GOOD": "2000",
    "BAD": "1000",
}
PID_OF = {
    POSTGRESQL["PROVISION"]: "con:query_row(\"SELECT split_part(pg_read_file('postmaster.pid'), "
    'chr(10), 1)")',
    MARIADB["PROVISION"]: 'io.open(con:query_row("SELECT @@pid_file")):read("*l")',
}


def of_server(kind: dict[str, str], signal: str) -> str:
    return f'os.execute("kill -{signal} " .. {PID_OF[kind["PROVISION"]]})'


REFUSED = 'con:query("SELECT nothing FROM nowhere")'
RAISED = 'error("refused by the script")'
CRASHED = 'require("ffi").cast("int *", 8)[0] = 1'


def end(
    folder: Path, kind: dict[str, str], fault: str, order: str, *, both: bool = False
) -> tuple[int, str, str]:
    """Exit code, kind and message of the failure of the cell `bad`; with `both` all cells fail."""
    script, study = SCRIPT, STUDY.replace("ORDER", order)
    if order == "runs":
        study = study.replace(IN_RUNS, "")
    for name, value in {**kind, "FAULT": fault}.items():
        script, study = script.replace(name, value), study.replace(name, value)
    if both:
        script = script.replace("count > 20 and", "count > 20 or")
    (folder / "work.lua").write_text(script)
    (folder / "end.toml").write_text(study)

    told = dbdyno("run", "end.toml", "--store", order, "--no-pictures", folder=folder)

    runs = Store(folder / order).study("end").runs()
    good, bad = runs["b1-good"].manifest, runs["b1-bad"].manifest
    assert good.status == ("failed" if both else "complete"), told.err
    assert bad.error is not None
    assert "a bug in dbdyno" not in told.err
    return told.code, bad.error.kind, bad.error.message


@pytest.mark.parametrize(
    ("kind", "fault", "failure", "said"),
    [
        (SQLITE, REFUSED, "StatementError", "nothing"),
        (SQLITE, RAISED, "ScriptError", "work.lua:13: refused by the script"),
        (SQLITE, CRASHED, "ScriptError", "work.lua: the engine crashed (SIGSEGV)"),
        (POSTGRESQL, REFUSED, "StatementError", "nowhere"),
        (POSTGRESQL, of_server(POSTGRESQL, "SEGV"), "ServerError", "SIGSEGV"),
        (MARIADB, of_server(MARIADB, "KILL"), "ServerError", "SIGKILL"),
    ],
    ids=["refused", "raised", "crashed", "refused-postgresql", "segv-postgresql", "kill-mariadb"],
)
def test_a_cell_ends_in_turns_as_in_runs(
    tmp_path: Path, kind: dict[str, str], fault: str, failure: str, said: str
) -> None:
    in_turns = end(tmp_path, kind, fault, "turns")
    in_runs = end(tmp_path, kind, fault, "runs")

    assert in_turns[:2] == in_runs[:2] == (3 if failure == "ScriptError" else 1, failure)
    assert said in in_turns[2] and said in in_runs[2]


@pytest.mark.parametrize(
    ("kind", "fault", "code"),
    [(SQLITE, REFUSED, 5), (POSTGRESQL, of_server(POSTGRESQL, "SEGV"), 4)],
    ids=["refused", "segv"],
)
def test_a_study_whose_cells_all_fail_ends_with_the_failure_s_code(
    tmp_path: Path, kind: dict[str, str], fault: str, code: int
) -> None:
    assert [end(tmp_path, kind, fault, order, both=True)[0] for order in ("turns", "runs")] == [
        code,
        code,
    ]


def test_clients_that_all_end_by_themselves_are_the_script_s(tmp_path: Path) -> None:
    ended = end(tmp_path, SQLITE, "return true", "turns")

    assert ended[:2] == (3, "ScriptError")
    assert "ended before their turn was over" in ended[2]
