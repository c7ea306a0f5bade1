"""What goes wrong in earnest: one clear message, its exit code, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from product import LIMIT_S, Told, dbdyno, start, under_load, url, wait_for_line, wait_until

from dbdyno.servers import Server, open_server
from traces import descendants, wait_until_gone

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

PROVISION = "postgresql:18.0.0@maven"

FINE = """\
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
function prepare() end
"""
LOAD = ("--clients", "2", "--warm-up", "1s", "--time", "1s")

STUDY = f"""\
question = "Does it end well?"

[server.pg]
provision = "{PROVISION}"

[workload]
script = "work"

[load]
clients = 2
warm_up = "60 s"
measure = "1 s"

[design]
blocks = 1
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with open_server(PROVISION, {}, tmp_path_factory.mktemp("server")) as server:
        server.start()
        yield server


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "work.lua"
    file.write_text(FINE)
    return file


def bench(address: str, script: str | Path, *arguments: str, folder: Path) -> Told:
    return dbdyno("bench", address, "--script", script, *LOAD, *arguments, folder=folder)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FINE + "function oops( end\n", ["work.lua:4:"]),
        (
            FINE.replace('con:query("SELECT 1")', "local row = nil; return row.id"),
            ["work.lua:2: attempt to index local 'row' (a nil value)", "stack traceback:"],
        ),
        ("function event() error('enough') end", ["work.lua:1: enough", "stack traceback:"]),
    ],
    ids=["syntax", "runtime", "thrown"],
)
def test_a_wrong_script_is_answered_with_its_line(
    server: Server, script: Path, text: str, expected: list[str]
) -> None:
    script.write_text(text)
    told = bench(url(server.entry.target()), script, "--json", folder=script.parent)

    assert (told.code, told.out) == (3, "")
    for part in expected:
        assert part in told.one_error()


def test_a_missing_script_is_answered_with_the_nearest(server: Server, tmp_path: Path) -> None:
    told = bench(url(server.entry.target()), "oltp_point_selct", folder=tmp_path)

    assert (told.code, told.out) == (3, "")
    assert "there is no script `oltp_point_selct`; searched" in told.one_error()
    assert "hint: did you mean `oltp_point_select`?" in told.err


def test_an_unknown_option_is_answered_with_the_known(server: Server, tmp_path: Path) -> None:
    address = url(server.entry.target())
    told = bench(address, "oltp_point_select", "--option", "table_sise=5", folder=tmp_path)

    assert (told.code, told.out) == (2, "")
    assert "table_sise" in told.one_error()
    assert "table_size" in told.err


def test_a_wrong_password_is_told_in_the_server_s_words(server: Server, script: Path) -> None:
    told = bench(url(server.entry.target("tcp"), password="wrong"), script, folder=script.parent)

    assert (told.code, told.out) == (4, "")
    assert "password authentication failed" in told.one_error()
    assert "wrong@" not in told.err


def test_a_right_password_gets_in(server: Server, script: Path) -> None:
    told = bench(url(server.entry.target("tcp")), script, "--json", folder=script.parent)

    assert told.code == 0, told.err
    assert str(server.entry.target("tcp")["password"]) not in told.out + told.err


def test_a_refused_connection_names_the_place(script: Path) -> None:
    address = "postgresql://dbdyno@127.0.0.1:1/sbtest"
    told = bench(address, script, folder=script.parent)

    assert (told.code, told.out) == (4, "")
    error = told.one_error()
    assert "127.0.0.1" in error and "refused" in error.lower()


def test_more_clients_than_connections_is_told_before_anything_is_loaded(
    server: Server, script: Path
) -> None:
    script.write_text(FINE.replace("function prepare() end", "function prepare() error('no') end"))
    crowd = ("--clients", "200", "--prepare")
    told = bench(url(server.entry.target()), script, *crowd, folder=script.parent)

    assert (told.code, told.out) == (6, "")
    said = (
        r"connections to the server \(max_connections 100, 0 reserved, \d in use\): 200 needed, 9\d"
    )
    assert re.search(said, told.one_error())
    assert "raise the server's max_connections" in told.err


def test_a_statement_the_server_rejects_stops_the_run(server: Server, script: Path) -> None:
    script.write_text(FINE.replace("SELECT 1", "SELECT nothing"))
    told = bench(url(server.entry.target()), script, folder=script.parent)

    assert told.code == 5
    assert 'column "nothing" does not exist' in told.one_error()


def test_bench_ends_when_the_server_stays_away(script: Path, tmp_path: Path) -> None:
    with open_server(PROVISION, {}, tmp_path / "server") as server:
        server.start()
        arguments = ("--script", script, "--warm-up", "60s", "--reconnect-for", "1s")
        with start("bench", url(server.entry.target()), *arguments, folder=tmp_path) as process:
            wait_for_line(process, "warm-up")
            server.node.kill()
            out, err = process.communicate(timeout=LIMIT_S)

    assert (process.returncode, out) == (4, "")
    assert Told(4, out, err).one_error().startswith("could not reconnect within")


def test_bench_keeps_what_was_measured_before_the_server_died(script: Path, tmp_path: Path) -> None:
    with open_server(PROVISION, {}, tmp_path / "server") as server:
        server.start()
        arguments = ("--script", script, "--time", "60s", "--reconnect-for", "1s", "--json")
        with start("bench", url(server.entry.target()), *arguments, folder=tmp_path) as process:
            results = tmp_path / "results"
            wait_until(
                "an interval is kept",
                lambda: any(under_load(runs) for runs in results.glob("*/runs")),
            )
            server.node.kill()
            out, err = process.communicate(timeout=LIMIT_S)

    assert json.loads(out), "the figures are told all the same"
    assert process.returncode == 4
    assert Told(4, out, err).one_error().startswith("could not reconnect within")
    (run,) = results.glob("*/runs/*")
    assert json.loads((run / "manifest.json").read_text())["status"] == "failed"


def test_a_study_s_server_that_dies_in_warm_up_fails_its_run(script: Path) -> None:
    folder = script.parent
    (folder / "work.toml").write_text(STUDY)
    with start("run", "work.toml", folder=folder) as process:
        wait_for_load(process, folder)
        below = descendants(process.pid)
        os.kill(next(filter(is_postmaster, below)), signal.SIGKILL)
        out, err = process.communicate(timeout=LIMIT_S)

    wait_until_gone(below[1:])
    assert (process.returncode, out) == (4, "")
    error = Told(4, out, err).one_error()
    assert "postgresql 18.0" in error and "killed by signal 9 (SIGKILL)" in error
    assert [path.name for path in (folder / "results/work/runs").iterdir()] == ["b1-all"]


def wait_for_load(process: subprocess.Popen[str], folder: Path) -> None:
    """Until the first interval is in the store."""
    runs = folder / "results/work/runs"
    wait_until(
        "an interval is kept",
        lambda: process.poll() is not None or under_load(runs),
        limit_s=LIMIT_S,
    )
    assert process.poll() is None, process.communicate()[1]


def is_postmaster(pid: int) -> bool:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return words[0].endswith(b"/postgres") and b"-D" in words
