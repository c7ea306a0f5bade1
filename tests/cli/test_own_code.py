"""Which file is run, and what is not executed at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.cli import call
from dbdyno.conduct.opening import open_study, study_script_path, study_scripts
from dbdyno.engine import Outcome, run_engine
from dbdyno.engine.script import find_script, is_shipped, script_path
from dbdyno.errors import ScriptError
from dbdyno.servers import parse_provision, programs_not_asked

SCRIPT = """\
os.execute("touch '{place}'")
function prepare() end
function event() end
function cleanup() end
"""
COLLECTOR = "open({place!r}, 'w').close()\nCOLLECTOR = None\n"
STUDY = """\
question = "q?"
collect = ["./coll.py", "./load"]
primary = {{ metric = "throughput", better = "higher", smallest_effect = "5 %" }}
[server.sqlite]
provision = "sqlite"
[workload]
script = "./kv_update.lua"
[load]
clients = [1]
warm_up = "0 s"
measure = "1 s"
[load.group.other]
script = "other"
clients = 1
[[chart]]
kind = "metrics-over-time"
metrics = ["coll.depth", "load.one"]
"""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a study whose every piece of code leaves a file; the current one is another,
    with scripts of the same names."""
    folder = tmp_path / "study"
    folder.mkdir()
    place = f"{tmp_path}/executed"
    for name in ("kv_update.lua", "other.lua"):
        (folder / name).write_text(SCRIPT.format(place=f"{place}-{name}"))
    (folder / "coll.py").write_text(COLLECTOR.format(place=f"{place}-coll"))
    (folder / "load").write_text(f"#!/bin/sh\ntouch {place}-load\necho one 1\n")
    (folder / "load").chmod(0o755)
    (folder / "s.toml").write_text(STUDY.format())
    here = tmp_path / "here"
    here.mkdir()
    for name in ("kv_update.lua", "other.lua"):
        (here / name).write_text("function event() end\n")
    monkeypatch.chdir(here)
    return folder


def executed(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.parent.glob("executed*"))


def test_check_names_a_studys_code_and_executes_none(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["check", str(elsewhere / "s.toml")]) == 0
    told = capsys.readouterr().out
    for name in ("kv_update.lua", "other.lua", "coll.py", "load"):
        assert str(elsewhere / name) in told
    assert "`check` has only read it" in told
    assert call(["check", str(elsewhere / "s.toml"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["code_was_executed"] is False
    assert {one["what"] for one in document["code"]} == {"script", "collector"}
    assert call(["report", str(elsewhere / "s.toml")]) == 2
    assert executed(elsewhere) == []


def test_check_runs_no_load_in_place_of_a_script_that_it_does_not_execute(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: list[Outcome] = []

    def run(*arguments: Any, **keywords: Any) -> Outcome:
        outcomes.append(run_engine(*arguments, **keywords))
        return outcomes[-1]

    monkeypatch.setattr("dbdyno.conduct.examine.run_engine", run)
    assert call(["check", str(elsewhere / "s.toml")]) == 0
    assert [type(outcome.failure) for outcome in outcomes] == [ScriptError]


def test_check_executes_it_where_that_is_asked_for(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["check", str(elsewhere / "s.toml"), "--run-code"]) == 2
    assert "holds no collector" in capsys.readouterr().err
    assert executed(elsewhere) == ["executed-coll"]


def test_programs_in_a_folder_are_not_asked_for_their_version(tmp_path: Path) -> None:
    for name in ("postgres", "initdb", "pg_config", "mysqld", "mariadbd"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\necho {name} 17.1\n")
        program.chmod(0o755)
    with programs_not_asked():
        for kind in ("postgresql", "mysql", "mariadb"):
            assert parse_provision(f"{kind}@path:{tmp_path}").kind == kind
    assert not (tmp_path / "executed").exists()


TOOL = """\
question = "q?"
{head}
[server.s]
provision = "{provision}"
{proxy}
[workload]
{workload}
[load]
clients = [1]
measure = "1 s"
{load}
"""
PROGRAMS = ("fio", "pgbench", "pgbouncer", "haproxy", "postgres", "initdb", "mysqld", "mariadbd")
FIO = 'generator = "fio"\noptions = { jobfile = "j.fio", version = "3.41@path:PLACE" }'
PGBENCH = 'generator = "pgbench"\noptions = { script = "select-only", version = "16@path:PLACE" }'
COMMAND = """\
generator = "command"
options = { program = ["PLACE/fio"], figures = ['events_per_s = rate ([0-9.]+)'] }"""
MICRO = 'script = "micro"'
HOST = 'host.command = { apply = ["PLACE/fio"], undo = ["PLACE/pgbench"] }'


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("programs of a tool: PLACE", {"workload": FIO}),
        ("programs of a tool: PLACE", {"provision": "postgresql@system", "workload": PGBENCH}),
        *(
            (
                "programs of a proxy: PLACE",
                {
                    "provision": "postgresql@system",
                    "proxy": f'proxy = {{ kind = "{kind}", version = "2.1@path:PLACE" }}',
                    "load": 'statements = "text"',
                },
            )
            for kind in ("pgbouncer", "haproxy")
        ),
        *(
            ("programs of a server: PLACE", {"provision": f"{kind}@path:PLACE"})
            for kind in ("postgresql", "mysql", "mariadb")
        ),
        ("command: PLACE/fio", {"workload": COMMAND}),
        ("command to apply: PLACE/fio", {"provision": "sqlite", "head": HOST}),
        ("command to undo: PLACE/pgbench", {"provision": "sqlite", "head": HOST}),
    ],
)
def test_programs_that_a_study_names_by_their_place_are_its_code(
    what: str, changes: Mapping[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in PROGRAMS:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\necho {name} 3.41\n")
        program.chmod(0o755)
    (tmp_path / "j.fio").write_text("[a]\nrw=read\nsize=1M\n")
    usual = {"head": "", "provision": "files", "proxy": "", "workload": MICRO, "load": ""}
    file = tmp_path / "s.toml"
    file.write_text(TOOL.format(**{**usual, **changes}).replace("PLACE", str(tmp_path)))

    call(["check", str(file)])
    assert what.replace("PLACE", str(tmp_path)) in " ".join(capsys.readouterr().out.split())
    assert not (tmp_path / "executed").exists()


def test_a_studys_own_files_come_before_those_of_the_current_folder(elsewhere: Path) -> None:
    found: Mapping[str, Path] = study_scripts(open_study(str(elsewhere / "s.toml")))
    assert found == {
        "./kv_update.lua": elsewhere / "kv_update.lua",
        "other": elsewhere / "other.lua",
    }


def test_a_bundled_study_never_takes_a_file_of_the_current_folder(elsewhere: Path) -> None:
    loaded = open_study("quickstart")
    assert Path.cwd() not in study_script_path(loaded)
    assert all(map(is_shipped, study_scripts(loaded).values()))


@pytest.mark.parametrize(
    "name",
    [
        *("./tpcc_like", "./tpcc_like.lua", "sub/tpcc_like", "../tpcc_like", "/tpcc_like.lua"),
        *("./sub/../tpcc_like", ".//tpcc_like", "./tpcc_like/", "tpcc_like/", "sub/tpcc_like.lua"),
        *("./../tpcc_like.lua", "tpcc_like.lua/", "~/tpcc_like", "./tpcc_like.LUA"),
    ],
)
def test_a_path_never_means_a_bundled_script(name: str, elsewhere: Path) -> None:
    assert is_shipped(find_script("tpcc_like", script_path()))
    with pytest.raises(ScriptError, match="there is no script"):
        find_script(name, script_path())


@pytest.mark.parametrize("named", ["absolute", "relative", "bare", "link"])
def test_bench_runs_the_file_that_was_named(
    named: str, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = elsewhere / "kv_update.lua"
    own.write_text("function prepare() print('MINE') end\nfunction cleanup() print('MINE') end\n"
                   "function event() end\n")  # fmt: skip
    script = {
        "absolute": str(own),
        "relative": os.path.relpath(own),
        "bare": "mine",
        "link": "./linked.lua",
    }[named]
    shutil.copy(own, "mine.lua")
    Path("linked.lua").symlink_to(own)
    url = f"sqlite://{elsewhere}/x.db"
    assert call(["prepare", url, "--script", script]) == 0
    assert "MINE" in capsys.readouterr().err
    assert call(["cleanup", url, "--script", script]) == 0
    assert "MINE" in capsys.readouterr().err
    assert call(["bench", url, "--script", script, "--events", "1", "--discard", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    expected = Path("mine.lua").resolve() if named == "bare" else own
    assert (told["script"], told["events"]) == (str(expected), 1)
