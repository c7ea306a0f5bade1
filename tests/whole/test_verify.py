"""Tables are looked at after they were loaded, and what is not as it should be is said."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql
import pytest
from product import dbdyno

from dbdyno.engine import find_engine, find_script, run_engine, run_spec
from dbdyno.engine.process import Call
from dbdyno.engine.script import script_path
from dbdyno.model import Loaded, Record
from dbdyno.servers import open_server
from traces import no_trace

pytestmark = pytest.mark.slow

STUDY = """\
question = "Is it the same data?"

[server.it]
provision = "{provision}"

[workload]
script = "thousand"
options = {{ mark = "{mark}", then = "{then}" }}

[load]
clients = 1
events = 5
{load}

[design]
blocks = 2
"""

SCRIPT = """\
sysbench.cmdline.options = { mark = { "A file", "" }, ["then"] = { "What is done behind", "" } }

function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE thousand (id int PRIMARY KEY, c varchar(90))")
  con:bulk_insert_init("INSERT INTO thousand(id, c) VALUES")
  for id = 1, 1000 do
    con:bulk_insert_next(("(%d, '%s')"):format(id, sysbench.rand.string(("@"):rep(50))))
  end
  con:bulk_insert_done()
  local mark = io.open(sysbench.opt.mark)
  if mark then
    mark:close()
    if sysbench.opt["then"] ~= "" then con:query(sysbench.opt["then"]) end
  else
    io.open(sysbench.opt.mark, "w"):close()
  end
end

function cleanup() sysbench.sql.driver():connect():query("DROP TABLE thousand") end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
"""


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Every test leaves the machine as it found it."""
    with no_trace():
        yield


def carry_out(
    folder: Path, provision: str, then: str, load: str = "", script: str = SCRIPT
) -> tuple[Any, str, str]:
    """Two runs, of which the second does more once it has loaded: what is kept of them, what was
    said, and the report's line on data."""
    (folder / "thousand.lua").write_text(script)
    text = STUDY.format(provision=provision, mark=folder / "mark", then=then, load=load)
    (folder / "same.toml").write_text(text)
    told = dbdyno("run", "same.toml", folder=folder)
    assert told.code == 0, told.err
    runs = folder / "results/same/runs"
    manifests = [json.loads((run / "manifest.json").read_text()) for run in sorted(runs.iterdir())]
    summary = (folder / "results/same/report/summary.md").read_text()
    (line,) = (line for line in summary.splitlines() if line.startswith("| Data |"))
    return manifests, told.err, line


@pytest.mark.parametrize("provision", ["postgresql@system", "mariadb@system", "sqlite"])
def test_runs_on_other_rows_than_the_first_are_found(tmp_path: Path, provision: str) -> None:
    changed = "UPDATE thousand SET c = 'x' WHERE id = 7"
    manifests, said, line = carry_out(tmp_path, provision, changed)

    first, second = (manifest["loads"] for manifest in manifests)
    for (load,) in (first, second):
        assert (load["table"], load["sent"], load["rows"]) == ("thousand", 1000, 1000)
        assert load["took_s"] > 0 and load["problem"] is None
    assert first[0]["checksum"] != second[0]["checksum"]
    assert "`thousand`" not in said, "one run alone is as it should be"
    assert "| failed | `thousand` differs between runs" in line
    assert first[0]["checksum"] in line and second[0]["checksum"] in line
    phases = [phase["name"] for phase in manifests[0]["phases"]]
    assert phases[1:4] == ["prepare", "verify", "step 0"]


@pytest.mark.parametrize("provision", ["postgresql@system", "mariadb@system", "sqlite"])
def test_tables_that_no_bulk_insert_filled_are_looked_at_too(
    tmp_path: Path, provision: str
) -> None:
    made = 'con:query("CREATE TABLE other AS SELECT id, c FROM thousand WHERE id <= 10")'
    script = SCRIPT.replace("  local mark", f"  {made}\n  local mark")
    changed = "UPDATE other SET c = 'x' WHERE id = 7"
    manifests, said, line = carry_out(tmp_path, provision, changed, script=script)

    (_, first), (_, second) = (manifest["loads"] for manifest in manifests)
    for load in (first, second):
        assert (load["table"], load["sent"], load["rows"]) == ("other", None, 10)
    assert first["checksum"] != second["checksum"]
    assert "`other`" not in said, "one run alone is as it should be"
    assert "| doubtful | `other` differs between runs" in line


def test_the_same_rows_pass_and_a_row_too_few_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    manifests, said, line = carry_out(tmp_path / "a", "sqlite", "")
    assert "| ok | All 2 tables, over 2 runs, have as many rows as were sent; the same" in line
    assert manifests[0]["loads"][0]["checksum"] == manifests[1]["loads"][0]["checksum"]

    deleted = "DELETE FROM thousand WHERE id = 7"
    manifests, said, line = carry_out(tmp_path / "b", "sqlite", deleted, 'verify = "counts"')
    assert "note: `thousand` has 999 rows; bulk inserts sent 1,000" in said
    assert manifests[1]["load_warnings"][0]["code"] == "rows"
    assert [load["checksum"] for manifest in manifests for load in manifest["loads"]] == [None] * 2
    assert "| failed |" in line and "`thousand` has 999 rows, " in line


def test_nothing_is_looked_at_where_that_is_asked_for(tmp_path: Path) -> None:
    manifests, _, line = carry_out(tmp_path, "sqlite", "", 'verify = "none"')
    assert [manifest["loads"] for manifest in manifests] == [[], []]
    assert "| not judged |" in line


def bench(folder: Path, address: str, options: Sequence[str], *more: str) -> Mapping[str, Any]:
    arguments = ["--script", "thousand", *options, "--events", "5", "--json", *more]
    told = dbdyno("bench", address, *arguments, "--prepare", "--cleanup", folder=folder)
    assert told.code == 0, told.err
    found: Mapping[str, Any] = json.loads(told.out)
    return found


def test_a_bench_tells_what_it_loaded(tmp_path: Path) -> None:
    (tmp_path / "thousand.lua").write_text(SCRIPT)
    more = "then=INSERT INTO thousand VALUES (0, 'one more')"
    options = ["--option", f"mark={tmp_path / 'mark'}", "--option", more]
    address = f"sqlite://{tmp_path / 'it.db'}"

    fine = bench(tmp_path, address, options, "--verify", "checksums")
    (load,) = fine["loads"]
    assert (load["sent"], load["rows"], len(load["checksum"])) == (1000, 1000, 16)
    assert fine["warnings"] == []
    again = bench(tmp_path, address, options)
    (load,) = again["loads"]
    assert (load["rows"], load["checksum"]) == (1001, None)
    (warning,) = again["warnings"]
    assert "`thousand` has 1,001 rows; bulk inserts sent 1,000" in warning["message"]


def test_loaders_that_do_not_fit_are_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "thousand.lua").write_text(SCRIPT)
    text = STUDY.format(
        provision="postgresql@system",
        mark=tmp_path / "mark",
        then="",
        load='loaders = 500\n[settings.few]\nmax_connections = "20"',
    )
    (tmp_path / "same.toml").write_text(text)
    told = dbdyno("run", "same.toml", folder=tmp_path)

    assert told.code == 6
    makers = min(8, os.cpu_count() or 1)
    clients = f"{makers} of clients and 500 loaders, max_connections 20"
    said = told.one_error()
    assert f"connections to load tables over ({clients}" in said
    assert f"{500 + makers:,} needed, " in said and "fewer loaders" in said
    (run,) = (tmp_path / "results/same/runs").iterdir()
    phases = [phase["name"] for phase in json.loads((run / "manifest.json").read_text())["phases"]]
    assert phases == ["provision"], "no table was touched"


def test_loaders_that_cannot_connect_are_told(tmp_path: Path) -> None:
    """A limit of the account's own, which the server does not tell beforehand."""
    rows = SCRIPT.replace("1, 1000", "1, 50000")
    (tmp_path / "thousand.lua").write_text(rows)
    with open_server("mariadb@system", {}, tmp_path) as server:
        server.start()
        place = narrow_account(server.entry.target("tcp"))
        options = ["--option", f"mark={tmp_path / 'mark'}", "--loaders", "9"]
        found = bench(tmp_path, place, options, "--verify", "none")
        server.stop()
    (warning,) = (one for one in found["warnings"] if one["code"] == "loaders")
    assert "of 9 loaders load, no more can connect" in warning["message"]
    assert "max_user_connections" in warning["message"]


def narrow_account(target: Mapping[str, Any]) -> str:
    """The URL of somebody who may have four connections at a time."""
    (endpoint,) = target["endpoints"]
    port = endpoint["tcp"]["port"]
    account = {"user": target["user"], "password": target["password"]}
    with closing(pymysql.connect(host="127.0.0.1", port=port, **account)) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE USER narrow IDENTIFIED BY 'secret' WITH MAX_USER_CONNECTIONS 4")
        cursor.execute("GRANT ALL ON sbtest.* TO narrow")
    return f"mysql://narrow:secret@127.0.0.1:{port}/sbtest"


def test_old_and_new_servers_hold_the_same_rows_at_any_number_of_loaders(tmp_path: Path) -> None:
    found = set()
    folders = script_path()
    for number, provision in enumerate(("mysql:5.6.14@maven", "postgresql:9.6.24@maven")):
        with open_server(provision, {}, tmp_path / str(number)) as server:
            server.start()
            for loaders in (0, 3):
                for command in ("prepare", "cleanup"):
                    spec = run_spec(
                        command=command,
                        target=server.entry.target(),
                        script=find_script("oltp_point_select", folders),
                        script_path=folders,
                        options={"tables": 1, "table_size": 20_000},
                        clients=1,
                        seed=5,
                        loaders=loaders,
                    )
                    log = tmp_path / "engine.log"
                    outcome = run_engine(find_engine(), spec, listener=ignore, log=log)
                    assert (outcome.failure, outcome.warnings) == (None, ())
                    if command == "prepare":
                        assert outcome.loaded == (Loaded("sbtest1", 20_000),)
                        found.add(server.database.contents("sbtest1", checksum=True))
            server.stop()
    (contents,) = found
    assert contents.rows == 20_000


def ignore(_line: bytes, _record: Record, _call: Call) -> None:
    return None
