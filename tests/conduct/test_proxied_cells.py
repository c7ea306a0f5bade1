"""Proxies of a study: what can't be is told with its line; steps that a server can't have are left
out."""

from __future__ import annotations

from pathlib import Path

import pytest
from two_ways import assert_refused, study

from dbdyno.conduct.opening import open_study
from dbdyno.design import plan
from dbdyno.formats.study import StudyFile

STEPS = 'clients = [10, 100], measure = "8 s"'
POOL = 'proxy = { kind = "pgbouncer" }'


def loaded(folder: Path, level: str) -> StudyFile:
    return open_study(str(study(folder, level, load=f'{STEPS}, statements = "text"')))


@pytest.mark.parametrize(
    ("level", "provision", "told"),
    [
        ('proxy = { kind = "pgbouncr" }', "postgresql:18.4", "did you mean `pgbouncer`"),
        ('proxy = { kind = "pgbouncer", version = "0.1" }', "postgresql:18.4", "no such pgbouncer"),
        ('proxy = { kind = "pgbouncer", processes = 0 }', "postgresql:18.4", "greater than"),
        (
            'proxy = { kind = "pgbouncer", settings = { listen_port = 1 } }',
            "postgresql:18.4",
            "`listen_port` is set by dbdyno itself",
        ),
        (POOL, "postgresql:18.4", "prepared statements are lost"),
        (POOL, "mariadb:11.4.5", "does not support `mariadb`"),
        (POOL, "sqlite", "does not support `sqlite`"),
        (POOL, "url:postgresql://u@h/d", "a server by URL"),
        (f'{POOL}, connection = {{ transport = "unix" }}', "postgresql:18.4", "over TCP"),
        (f"{POOL}, connection = {{ tls = true }}", "postgresql@system", "asks for tls"),
        ("most_clients = 9", "postgresql:18.4", "leaves no step"),
    ],
)
def test_what_can_not_be_is_told_with_its_line(
    level: str, provision: str, told: str, tmp_path: Path
) -> None:
    assert_refused(study(tmp_path, level, provision, STEPS), told)


@pytest.mark.parametrize(
    "level",
    [
        'proxy = { kind = "pgbouncer", settings = { pool_mode = "session" } }',
        'proxy = { kind = "pgbouncer", settings = { max_prepared_statements = 100 } }',
        'proxy = { kind = "haproxy" }, connection = { tls = true }',
    ],
)
def test_what_keeps_statements_may_have_them(level: str, tmp_path: Path) -> None:
    open_study(str(study(tmp_path, level, "postgresql@system", STEPS)))


def test_a_proxy_is_part_of_what_a_study_is(tmp_path: Path) -> None:
    one = loaded(tmp_path, 'proxy = { kind = "pgbouncer" }')
    two = loaded(tmp_path, 'proxy = { kind = "pgbouncer", processes = 2 }')

    assert plan(one.study).fingerprint != plan(two.study).fingerprint


def test_steps_beyond_a_level_s_most_clients_are_left_out(tmp_path: Path) -> None:
    made = plan(loaded(tmp_path, "most_clients = 10").study)
    steps = {run.cell.levels["way"]: [(s.index, s.clients) for s in run.steps] for run in made.runs}

    assert steps == {"direct": [(0, 10), (1, 100)], "other": [(0, 10)]}


def test_a_step_keeps_its_number_where_others_are_left_out(tmp_path: Path) -> None:
    file = study(tmp_path, "most_clients = 10", load=f'{STEPS}, statements = "text"')
    file.write_text(file.read_text().replace("[10, 100]", "[100, 10]"))
    made = plan(open_study(str(file)).study)
    (run,) = [run for run in made.runs if run.cell.levels["way"] == "other" and run.block == 1]

    assert run.step(1).clients == 10


def test_cells_of_other_steps_are_not_up_together(tmp_path: Path) -> None:
    assert plan(loaded(tmp_path, "options = {}").study).order == "turns"
    assert plan(loaded(tmp_path, "most_clients = 10").study).order == "runs"
