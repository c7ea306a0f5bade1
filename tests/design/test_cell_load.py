"""What clients do as a factor's level: each cell has the study's load with its levels' changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct import open_study
from dbdyno.design import cells, plan
from dbdyno.errors import StudyError
from dbdyno.formats.stored_study import Declared, dump_declared, parse_declared
from dbdyno.formats.study import read_study
from dbdyno.model import (
    Closed,
    Constant,
    Group,
    Load,
    Poisson,
    Ramp,
    Replay,
    Sine,
    Steps,
    Study,
    load_of,
)

BASE = """\
question = "What do clients do?"

[server.sqlite]
provision = "sqlite"

[factor.does]
plain = {{}}
{level}

[workload]
script = "kv_update"

[load]
clients = [2]
measure = "2 s"
reconnect_every = 7
{load}

[load.group.reader]
clients = 1
"""


def study(folder: Path, level: str, load: str = "") -> Study:
    file = folder / "does.toml"
    file.write_text(BASE.format(level=level, load=load))
    return read_study(file).study


def loads(asked: Study) -> list[Load]:
    return [load_of(asked.load, cell) for cell in cells(asked)]


def test_a_level_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    level = 'other = { load = { think_time = "10 ms", statements = "text", reconnect_every = 0 } }'
    asked = study(tmp_path, level)
    plain, other = loads(asked)

    assert plain == asked.load
    assert (other.think_time_s, other.prepared_statements, other.reconnect_every) == (
        0.01,
        False,
        0,
    )
    assert (other.clients, other.measure_s, other.groups) == (
        asked.load.clients,
        asked.load.measure_s,
        asked.load.groups,
    )


def test_groups_are_added_or_take_the_place_of_one_of_that_name(tmp_path: Path) -> None:
    group = '{ reader = { clients = 3 }, writer = { clients = 2, think_time = "1 ms" } }'
    plain, other = loads(study(tmp_path, f"other = {{ load = {{ group = {group} }} }}"))

    assert [(group.name, group.clients) for group in plain.groups] == [("reader", 1)]
    assert other.groups == (Group("reader", 3), Group("writer", 2, think_time_s=0.001))


@pytest.mark.parametrize(
    ("text", "arrival"),
    [
        ('{ kind = "closed" }', Closed()),
        ('{ kind = "constant", rate = 5 }', Constant(5.0)),
        ('{ kind = "poisson", rate = 5 }', Poisson(5.0)),
        ('{ kind = "ramp", from = 1, to = 9, over = "3 s" }', Ramp(1.0, 9.0, 3.0)),
        ('{ kind = "steps", steps = [["1 s", 2], ["2 s", 3]] }', Steps(((1.0, 2.0), (2.0, 3.0)))),
        ('{ kind = "sine", mean = 5, amplitude = 4, period = "2 s" }', Sine(5.0, 4.0, 2.0)),
        ('{ kind = "replay", file = "t.txt" }', None),
    ],
)
def test_every_arrival_is_that_of_the_file_also_from_the_store(
    tmp_path: Path, text: str, arrival: object
) -> None:
    asked = study(tmp_path, f"other = {{ load = {{ arrival = {text} }} }}")
    made = plan(asked, seed=1)
    stored = parse_declared(dump_declared(Declared(asked, made)), file=tmp_path / "study.json")
    expected = arrival or Replay((tmp_path / "t.txt").absolute())

    assert loads(asked)[1].arrival == expected
    assert loads(stored.study)[1].arrival == expected
    assert {load_of(asked.load, run.cell).arrival for run in stored.plan.runs} == {
        Closed(),
        expected,
    }
    assert plan(stored.study, seed=1).fingerprint == made.fingerprint
    assert asked.is_open == (not isinstance(expected, Closed))


def test_what_a_level_says_is_part_of_the_plan_and_what_it_leaves_is_not(tmp_path: Path) -> None:
    prints = [
        plan(study(tmp_path, level), seed=1).fingerprint
        for level in (
            "other = {}",
            "other = { load = {} }",
            "other = { load = { reconnect_every = 1 } }",
            "other = { load = { reconnect_every = 2 } }",
        )
    ]

    assert prints[0] == prints[1]
    assert len(set(prints)) == 3


@pytest.mark.parametrize(
    ("level", "load", "words"),
    [
        ('{ measure = "1 s" }', "", r"8: unknown key `measure` in \[factor.does.other.load\]"),
        ('{ arrival = { kind = "poisson" } }', "", "8: .*kind `poisson` needs `rate`"),
        (
            '{ arrival = { kind = "poisson", rate = 5 } }',
            'think_time = "1 s"',
            "8: `think_time` is a pause of a closed loop",
        ),
        (
            '{ think_time = "1 s" }',
            'arrival = { kind = "poisson", rate = 5 }',
            "8: `think_time` is a pause of a closed loop",
        ),
        ("{ group = { main = { clients = 1 } } }", "", "8: `main` are the step's own clients"),
        ('{ group = { w = { clients = 1, script = "nowhere" } } }', "", "8: .*nowhere"),
        ('{ statements = "text" }', 'find_max = { p99 = "9 ms" }', "8: .*find_max"),
    ],
)
def test_what_can_t_be_is_told_with_the_level_s_line(
    tmp_path: Path, level: str, load: str, words: str
) -> None:
    file = tmp_path / "does.toml"
    text = BASE.format(level=f"other = {{ load = {level} }}", load=load)
    file.write_text(text.split("[load.group")[0] if "find_max" in load else text)

    with pytest.raises(Exception, match=words):
        open_study(str(file))


def test_a_key_of_the_load_in_a_level_is_led_to_its_table(tmp_path: Path) -> None:
    with pytest.raises(StudyError) as raised:
        study(tmp_path, 'other = { statements = "text" }')

    assert raised.value.hint == "`statements` is a key of [load]: write load = { statements = … }"
