"""Any program: options checked, what it says understood, told of the step; a real server asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from jobs import STEP

from dbdyno.errors import EngineError, ScriptError
from dbdyno.generators.command import GENERATOR, outcome, url
from dbdyno.generators.generator import Job
from dbdyno.model import Option
from dbdyno.servers import open_server

SAID = "10 orders/s\n20 orders/s\ndone: 31 orders in 2.5 s, p99 1.5e1 ms, queue 4 us\n"
FIGURES = ["events = done: # orders", "window_s = in # s", "p99_ms = p99 # ms", "queue_us=queue #"]


def told(*figures: str, **options: Option) -> object:
    return outcome(SAID, {"figures": list(figures), **options}, 10**18, 10**18 + 4 * 10**9, ("x",))


def test_what_it_says_is_read_by_the_expressions() -> None:
    found = outcome(
        SAID, {"figures": FIGURES, "each_second": "^# orders/s"}, 10**18, 10**18 + 4 * 10**9, ("x",)
    )

    assert (found.events, found.window_s, found.errors) == (31, 2.5, 0)
    assert found.latency_us == {"p99": 15_000}
    assert found.figures == {"queue_us": 4}
    assert [(s.unix_ns - 10**18, s.value) for s in found.samples] == [(10**9, 10), (2 * 10**9, 20)]


def test_a_rate_counts_the_events_of_as_long_as_it_ran() -> None:
    found = outcome(SAID, {"figures": ["events_per_s = ^# orders/s"]}, 0, 4 * 10**9, ("x",))

    assert (found.events, found.window_s) == (80, 4)


@pytest.mark.parametrize(
    ("figure", "said"),
    [("events = done: # apples", "no output of the program"), ("events = (ord)", "a number")],
)
def test_what_is_not_found_is_told(figure: str, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        told(figure)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"figures": ["events = #"]}, "expected `program`, a list"),
        ({"program": "x", "figures": ["events = #"]}, "expected `program`, a list"),
        ({"program": ["x"]}, "`figures` needs `events` or `events_per_s`"),
        ({"program": ["x"], "figures": ["events"]}, "NAME = EXPRESSION"),
        ({"program": ["x"], "figures": ["events = a"]}, "expected one # or one group"),
        ({"program": ["x"], "figures": ["events = # #"]}, "expected one # or one group"),
        ({"program": ["x"], "figures": ["events = (#"]}, "no regular expression"),
        ({"program": ["x"], "figures": ["events = #"], "a-b": 1}, "environment's variable"),
    ],
)
def test_wrong_options_are_told(options: Mapping[str, Option], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GENERATOR.read(options)


def test_a_server_is_told_as_a_url() -> None:
    account = {"user": "u", "password": "a/b", "database": "d"}
    tcp = {"endpoints": [{"tcp": {"host": "h", "port": 1}}], **account}
    unix = {"endpoints": [{"unix": "/s/.s.PGSQL.5432"}], "user": "u", "database": "d"}

    assert url({"driver": "mysql", **tcp}) == "mysql://u:a%2Fb@h:1/d"
    assert url({"driver": "postgresql", **unix}) == "postgresql://u@/d?host=/s&port=5432"
    assert url({"driver": "sqlite", "path": "/x.db"}) == "sqlite:///x.db"
    assert url({"driver": "null"}) == ""


def job(folder: Path, program: list[str]) -> Job:
    scratch = folder / "scratch"
    scratch.mkdir()
    options: dict[str, Option] = {"program": program, "figures": ["events = ^events #"], "rows": 7}
    return replace(
        STEP,
        options=options,
        clients=3,
        warm_up_s=0.5,
        data_folder=folder,
        scratch=scratch,
        folders=(folder,),
    )


def test_a_program_beside_the_study_is_told_of_the_step(tmp_path: Path) -> None:
    script = tmp_path / "load.sh"
    script.write_text('#!/bin/sh\necho "$CLIENTS $RUNTIME $RAMP $ROWS $1"\necho events $CLIENTS\n')
    script.chmod(0o755)

    found = GENERATOR.run(job(tmp_path, ["./load.sh", "fast"]))

    assert found.events == 3
    assert (tmp_path / "scratch" / "stdout").read_text().startswith("3 2 0.5 7 fast\n")
    assert found.command_line == ("load.sh", "fast")


def test_a_program_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"^sh ended with code 3: no rows$") as caught:
        GENERATOR.run(job(tmp_path, ["sh", "-c", "echo no rows >&2; exit 3"]))

    kept = f"{tmp_path.name}/scratch of the run's folder"
    assert caught.value.hint == f"all that it said is in {kept}"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("events = 1e400", "expected a number from 0; found '1e400'"),
        ("events = -5", "expected a number from 0; found '-5'"),
        ("events = 5\nwindow_s = -1", "expected a number from 0; found '-1'"),
        ("events = 5\nqueue_us = -1e999", "expected a finite number; found '-1e999'"),
    ],
)
def test_a_number_that_nothing_can_count_is_the_programs_fault(output: str, message: str) -> None:
    names = [line.partition(" ")[0] for line in output.splitlines()]
    expressions = [f"{name} = ^{name} = #" for name in names]
    with pytest.raises(EngineError, match=re.escape(message)):
        outcome(output, {"figures": expressions}, 0, 10**9, ("x",))


def test_a_program_without_its_interpreter_is_no_fault_of_the_server(tmp_path: Path) -> None:
    script = tmp_path / "load.sh"
    script.write_text("#!/nonexistent/interpreter\n")
    script.chmod(0o755)
    with pytest.raises(ScriptError, match=r"load\.sh can't be started: .*No such file") as caught:
        GENERATOR.run(job(tmp_path, ["./load.sh"]))
    assert "its first line names" in str(caught.value.hint)


@pytest.mark.slow
def test_a_program_reaches_the_server_by_its_url(tmp_path: Path) -> None:
    with open_server("postgresql@system", {}, tmp_path / "logs") as server:
        server.start()
        ask = """psql "$DATABASE_URL" -AtF ' ' -c "SELECT 'events', 6 * 7" """
        found = GENERATOR.run(replace(job(tmp_path, ["sh", "-c", ask]), target=server.entry.target))

    assert found.events == 42
