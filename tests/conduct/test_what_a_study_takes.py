"""What a study will take, told before anything is run: of every bundled one, and by which rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from dbdyno.cli.check import explanation
from dbdyno.cli.check_document import Takes
from dbdyno.conduct import bundled_studies, open_study
from dbdyno.conduct.estimate import estimate
from dbdyno.conduct.needs import Machine
from dbdyno.design import plan
from dbdyno.formats.study import read_study
from dbdyno.model import (
    Design,
    Factor,
    Level,
    Load,
    Needs,
    Option,
    Study,
    Tables,
    Workload,
)
from dbdyno.servers import provisions_remembered

MB, GB = 1 << 20, 1 << 30
LAPTOP = Machine(cores=2, memory_bytes=8 * GB)
NO_NEEDS, ONCE = Needs(), Design(blocks=1)
LOAD = Load(clients=(1,), warm_up_s=0.0, measure_s=60.0)
SCALES = [
    (name, scale)
    for name, file in bundled_studies().items()
    for scale in read_study(file).study.scales
]


@pytest.mark.parametrize(("name", "scale"), SCALES)
def test_every_bundled_study_says_what_it_takes_at_every_scale(name: str, scale: str) -> None:
    study = open_study(name, scale=scale).study
    with provisions_remembered():  # As `check` does.
        cost = estimate(study, plan(study))
        told = "\n".join(explanation(study, plan(study), Takes(cost, LAPTOP, 10 * GB)))

    assert cost.unknown == ()
    assert cost.time_s > 5
    assert cost.disk_bytes > MB
    assert re.search(r"^time     (at most )?about [1-9]", told, re.MULTILINE)
    assert re.search(r"^disk     about [1-9].* at a time; 10 GB are free", told, re.MULTILINE)
    assert ("\nneeds    " in told) == (study.needs != Needs())


def of(
    provision: str = "mysql:5.6.14",
    script: str = "micro",
    options: Mapping[str, Option] | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    tables: Tables | None = None,
    host: Mapping[str, object] | None = None,
    generator: str = "engine",
    load: Load = LOAD,
    needs: Needs = NO_NEEDS,
    design: Design = ONCE,
) -> Study:
    """A study of one cell."""
    level = Level("it", provision=provision, settings=settings or {}, host=host or {})
    return Study(
        name="example",
        question="What does it take?",
        factors=(Factor("server", (level,)),),
        workload=Workload(script, options or {}, generator, tables),
        load=load,
        needs=needs,
        design=design,
    )


def taken(study: Study) -> tuple[float, int]:
    cost = estimate(study, plan(study))
    assert cost.unknown == ()
    return cost.time_s, cost.disk_bytes


def test_rows_count_whatever_the_options_are_called() -> None:
    little_s, little = taken(of(options={"table_size": 1}))
    time_s, size = taken(of(options={"tables": 4, "table-size": 1_000_000}))

    assert size - little == pytest.approx(4_000_000 * 260, rel=0.01)
    assert time_s > little_s + 30


def test_tables_of_another_script_are_its_own() -> None:
    made = Tables("imdb_like", {"titles": 1_000_000, "users": 10})
    _, size = taken(of(script="film_script", options={"ids": 5}, tables=made))

    assert 400 * MB < size < 700 * MB


def test_a_script_that_does_not_tell_its_size_is_named() -> None:
    study = of(script="./mine.lua", options={"rows": 10})
    cost = estimate(study, plan(study))
    told = "\n".join(explanation(study, plan(study), Takes(cost, LAPTOP, GB)))

    assert cost.unknown == ("mine",)
    assert told.count("without the data of `mine`, whose size is not known") == 2
    asked = replace(study, needs=Needs(disk_bytes=3 * GB))
    cost = estimate(asked, plan(asked))
    told = "\n".join(explanation(asked, plan(asked), Takes(cost, LAPTOP, GB)))
    assert told.count("`mine`") == 1
    assert "disk     about 3 GB at a time; 1 GB are free: too little" in told


def test_a_step_of_events_lasts_as_long_as_they_do_and_leaves_their_rows() -> None:
    load = replace(LOAD, measure_s=None, events=10)
    short_s, small = taken(of("postgresql:18.4", "trigger_load", {"rows": 1_000}, load=load))
    long_s, large = taken(of("postgresql:18.4", "trigger_load", {"rows": 1_000_000}, load=load))

    assert 10 < long_s - short_s < 40
    assert large - small > 10 * 1_000_000 * 40


@pytest.mark.parametrize(
    ("provision", "settings", "log_bytes"),
    [
        ("mysql:5.6.14", {"innodb_log_file_size": "512M"}, GB),
        ("mysql:5.6.14", {"innodb_log_file_size": "1G", "innodb_log_files_in_group": "3"}, 3 * GB),
        ("mysql:9.7", {"innodb_redo_log_capacity": str(GB)}, GB),
        ("mariadb:10.2.11", {"innodb_log_file_size": "1G"}, 2 * GB),
        ("mariadb:10.5", {"innodb_log_file_size": "1G"}, GB),
        ("postgresql:18.4", {"max_wal_size": "2GB"}, 0),
    ],
)
def test_what_logs_reserve_counts(
    provision: str, settings: Mapping[str, str], log_bytes: int
) -> None:
    without = taken(of(provision, options={"table_size": 1}))[1]
    size = taken(of(provision, options={"table_size": 1}, settings=settings))[1]

    assert size - without == pytest.approx(log_bytes, abs=MB)


def test_a_file_system_is_as_large_as_it_is_made() -> None:
    image = {"filesystem": {"kind": "ext4", "size": "2 GB"}}

    assert taken(of(host=image))[1] == 2 * GB
    fio = of("files", "", {"jobfile": "innodb_io.fio"}, host=image, generator="fio")
    assert taken(fio)[1] == 2 * GB
    untold = of("files", "", {"jobfile": "innodb_io.fio"}, generator="fio")
    assert estimate(untold, plan(untold)).unknown == ("fio",)


def test_filling_in_order_takes_each_client_as_long() -> None:
    def time_s(kind: str, clients: int) -> float:
        options: dict[str, Option] = {"benchmark": kind, "num": 10_000_000}
        load = replace(LOAD, clients=(clients,))
        return taken(of("files", "", options, generator="db_bench", load=load))[0]

    assert time_s("fillseq", 4) - time_s("fillseq", 1) == pytest.approx(3 * 40)
    assert time_s("overwrite", 4) == time_s("overwrite", 1)


def test_turns_take_their_lead_ins_and_canaries() -> None:
    two = (Level("a", settings={"x": "1"}), Level("b", settings={"x": "2"}))
    study = of("sqlite", "kv_update", design=Design(blocks=1, turn_s=2.0, lead_in_s=0.5))
    study = replace(study, factors=(*study.factors, Factor("two", two)))
    turns, runs = plan(study), replace(plan(study), order="runs")

    assert turns.order == "turns"
    extra_s = estimate(study, turns).time_s - estimate(study, runs).time_s
    canaries_s = 0.2 * 2.5 / 4.0  # a turn takes 2.5 s, and they run every 4 s
    assert extra_s == pytest.approx(2 * 30 * (0.5 + canaries_s))


@pytest.mark.parametrize(
    ("machine", "lacking"),
    [
        (Machine(8, 32 * GB), ()),
        (Machine(8, 31 * GB), ()),
        (Machine(7, 28 * GB), ("cores", "memory")),
    ],
)
def test_a_machine_is_held_against_what_is_needed(
    machine: Machine, lacking: tuple[str, ...]
) -> None:
    study = of("sqlite", needs=Needs(cores=8, memory_bytes=32 * GB, also="a spinning disk"))
    takes = Takes(estimate(study, plan(study)), machine, GB)
    told = "\n".join(explanation(study, plan(study), takes))

    assert takes.lacking(study.needs) == lacking
    assert "needs    8 cores, 32 GB of memory, a spinning disk; " in told
    assert ("too few cores, too little memory" in told) == bool(lacking)
