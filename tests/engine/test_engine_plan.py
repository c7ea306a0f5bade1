"""What the engine says that it would do, and what it then does: without a server."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import Engine, find_engine, plan_engine, run_engine, run_spec
from dbdyno.engine.parts import split
from dbdyno.errors import EngineError, UsageError
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.guard.launch import Launch
from dbdyno.model import ErrorPolicy, Group, Hello, Load, Option

SQLITE = {"driver": "sqlite", "path": "absent.db"}
SERVER = {
    "driver": "mysql",
    "user": "u",
    "database": "d",
    "endpoints": [{"tcp": {"host": "db.example", "port": 3306}}],
}


def spec(target: Mapping[str, Any], clients: int, **changes: Any) -> dict[str, Any]:
    group = {"script": "absent", "clients": clients}
    return {"schema": SCHEMA, "target": target, "groups": [group], **changes}


@pytest.mark.parametrize(("clients", "processes"), [(1, 1), (16, 1), (16, 3), (1000, 1), (1000, 3)])
def test_a_run_has_the_processes_and_shards_of_its_plan(
    tmp_path: Path, clients: int, processes: int
) -> None:
    script = tmp_path / "work.lua"
    script.write_text("function event() end")
    whole = spec({"driver": "null"}, clients, measure_s=0.1)
    whole["groups"][0]["script"] = str(script)
    hellos: list[Hello] = []

    plan = plan_engine(find_engine(), whole, processes=processes)
    outcome = run_engine(
        find_engine(),
        whole,
        listener=lambda _line, record, _call: (
            hellos.append(record) if isinstance(record, Hello) else None
        ),
        log=tmp_path / "engine.log",
        processes=processes,
    )

    assert outcome.failure is None, outcome.failure
    assert outcome.summary is not None
    assert plan.processes == processes
    assert hellos[0].shards == plan.shards * processes
    assert outcome.summary.clients == plan.connections == clients


def test_each_part_of_a_run_has_the_plan_of_the_whole() -> None:
    whole = spec(SERVER, 11, shards=4)
    plan = plan_engine(find_engine(), whole, processes=3)
    parts = [plan_engine(find_engine(), part) for part in split(whole, 3)]

    assert {(part.processes, part.clients, part.shards) for part in parts} == {(3, 11, 3)}
    assert plan.shards == 3


def test_a_plan_is_of_the_processors_that_the_engine_will_have() -> None:
    one = Launch(cpus=(min(os.sched_getaffinity(0)),))
    plan = plan_engine(find_engine(), spec(SERVER, 1000, command="prepare"), launch=one)

    assert (plan.shards, plan.loaders) == (1, 2)


def test_where_the_server_is_tells_who_has_the_processors() -> None:
    def is_local(*hosts: str) -> bool:
        endpoints = [{"tcp": {"host": host, "port": 1}} for host in hosts]
        return plan_engine(find_engine(), spec({**SERVER, "endpoints": endpoints}, 1)).is_local

    assert is_local("127.0.0.1", "localhost")
    assert not is_local("127.0.0.1", "db.example")


@pytest.mark.parametrize(("set_s", "first_ms"), [(0.02, 20), (0.0, 1), (5.0, 250)])
def test_pauses_before_a_reconnect_are_those_of_the_study(
    tmp_path: Path, set_s: float, first_ms: int
) -> None:
    script = tmp_path / "work.lua"
    script.touch()
    policy = ErrorPolicy(back_off_s=set_s, reconnect_s=7.0)
    whole = run_spec(
        command="run",
        target=SQLITE,
        script=script,
        script_path=(),
        options={},
        clients=1,
        seed=1,
        load=Load((1,), warm_up_s=0.0, measure_s=1.0, errors=policy),
    )
    pauses = plan_engine(find_engine(), whole).back_off

    assert (pauses.first_ms, pauses.longest_ms, pauses.give_up_s) == (first_ms, 250, 7.0)


@pytest.mark.parametrize(
    ("value", "carried"),
    [
        (2**63 - 1, 2**63 - 1),
        (-(2**63), -(2**63)),
        (2**64 - 1, 2**64 - 1),
        (2**64, "18446744073709551616"),
        (-(2**63) - 1, "-9223372036854775809"),
        (10**30, "1" + "0" * 30),
        (0.1, 0.1),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (True, True),
        ("9007199254740993", "9007199254740993"),
        (["9007199254740993", "b"], ["9007199254740993", "b"]),
    ],
)
def test_an_option_that_json_can_t_carry_goes_as_its_text(value: Option, carried: Option) -> None:
    other = Group("other", 1, options={"o": value})
    made = run_spec(
        command="run",
        target=SQLITE,
        script=Path("work.lua"),
        script_path=(),
        options={"n": value},
        clients=1,
        seed=1,
        load=Load((1,), warm_up_s=0.0, measure_s=1.0, groups=(other,)),
    )
    groups = json.loads(json.dumps(made, allow_nan=False))["groups"]
    assert [group["options"] for group in groups] == [{"n": carried}, {"n": carried, "o": carried}]


def test_a_spec_that_can_t_be_run_is_refused_as_by_a_run(tmp_path: Path) -> None:
    broken = spec({"driver": "null"}, 1, shards=0)
    with pytest.raises(UsageError) as planned:
        plan_engine(find_engine(), broken)
    outcome = run_engine(
        find_engine(), broken, listener=lambda *_: None, log=tmp_path / "log", processes=1
    )

    assert type(outcome.failure) is UsageError
    assert planned.value.message == outcome.failure.message == "`shards` is 0; expected 1 or more"


def test_more_processes_than_clients_are_refused() -> None:
    with pytest.raises(UsageError, match="2 clients can't be divided among 3 processes"):
        plan_engine(find_engine(), spec(SQLITE, 2), processes=3)


def test_an_engine_that_knows_no_plan_is_told_with_its_cure(tmp_path: Path) -> None:
    program = tmp_path / "engine"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho 'no such verb' >&2\nexit 2\n")
    program.chmod(0o755)

    with pytest.raises(EngineError, match="does not answer `plan`: no such verb") as caught:
        plan_engine(Engine(program, "0.1.0"), spec(SQLITE, 1))
    assert caught.value.hint is not None and "make setup" in caught.value.hint
