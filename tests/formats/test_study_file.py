"""Study files: what they say, and what is said about the ones that can't be run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbdyno.errors import StudyError
from dbdyno.formats.study import StudyFile, read_study
from dbdyno.model import (
    Arrival,
    Closed,
    Constant,
    ErrorPolicy,
    ErrorRule,
    Needs,
    Poisson,
    Ramp,
    Replay,
    Sine,
    Steps,
)

ROOT = Path(__file__).parents[2]

WHOLE = """\
question = "What does it cost?"
source = "somebody, 2019"
primary = { metric = "p99", smallest_effect = "2 %" }

[server.lite]
provision = "sqlite"
settings = { cache_size = -2000, foreign_keys = true }

[server.pg]
provision = "postgresql:18.0.0"

[factor.journal]
delete = { settings = { journal_mode = "delete" } }
wal = { settings = { journal_mode = "wal" } }

[workload]
script = ["oltp_read_write", "oltp_point_select"]
options = { tables = 4, skip_trx = "on" }

[load]
clients = [1, 8]
warm_up = "5 s"
measure = "2 min"

[design]
blocks = 4
baseline = { journal = "delete" }

[scale.small]
workload.options = { tables = 2 }
load = { clients = 2, measure = "10 s" }

[[chart]]
kind = "throughput-by-clients"
"""


def read(tmp_path: Path, text: str, scale: str | None = None) -> StudyFile:
    file = tmp_path / "example.toml"
    file.write_text(text)
    return read_study(file, scale=scale)


def complaint(tmp_path: Path, text: str, scale: str | None = None) -> StudyError:
    with pytest.raises(StudyError) as caught:
        read(tmp_path, text, scale)
    assert caught.value.exit_code == 2
    return caught.value


def test_every_key_reaches_the_study(tmp_path: Path) -> None:
    study = read(tmp_path, WHOLE).study

    assert study.name == "example"
    assert (study.primary.metric, study.primary.better) == ("p99", "lower")
    assert study.primary.smallest_effect == 0.02
    assert [factor.name for factor in study.factors] == ["server", "journal", "script"]
    lite = study.factor("server").levels[0]
    assert dict(lite.settings) == {"cache_size": "-2000", "foreign_keys": "on"}
    assert dict(study.workload.options) == {"tables": 4, "skip_trx": "on"}
    assert (study.load.clients, study.load.warm_up_s, study.load.measure_s) == ((1, 8), 5, 120)
    assert (study.design.blocks, dict(study.design.baseline)) == (4, {"journal": "delete"})
    assert study.scales == ("paper", "small")
    assert study.text == WHOLE


def test_servers_may_differ_in_what_they_ask_of_the_machine(tmp_path: Path) -> None:
    server = 'provision = "postgresql:18.0.0"\n'
    limited = WHOLE.replace(server, f"{server}host = {{ limits = {{ cpus = 2 }} }}\n")
    lite, pg = read(tmp_path, limited).study.factor("server").levels

    assert (dict(lite.host), dict(pg.host)) == ({}, {"limits": {"cpus": 2}})


def test_a_scale_overrides_tables_key_by_key(tmp_path: Path) -> None:
    study = read(tmp_path, WHOLE, "small").study

    assert dict(study.workload.options) == {"tables": 2, "skip_trx": "on"}
    assert (study.load.clients, study.load.warm_up_s, study.load.measure_s) == ((2,), 5, 10)
    assert study.scale == "small"


def test_what_a_scale_needs_no_other_inherits(tmp_path: Path) -> None:
    text = (
        WHOLE
        + """
[scale.paper]
needs = { cores = 24, memory = "48 GB", disk = "1.5 TB", also = "a spinning disk" }
"""
    )
    paper, small = (read(tmp_path, text, scale).study for scale in ("paper", "small"))

    assert paper.needs == Needs(24, 48 << 30, 3 << 39, "a spinning disk")
    assert small.needs == Needs()
    assert paper.scales == ("paper", "small")
    assert read(tmp_path, text).study.needs == paper.needs


@pytest.mark.parametrize(
    ("needs", "said", "hint"),
    [
        ("memory = 48", 'expected a size with its unit, such as "512 MB"; found 48', None),
        ('memory = "0 GB"', "`needs.memory`: input should be greater than 0", None),
        ('disc = "1 GB"', "unknown key `disc` in [needs]", "did you mean `disk`?"),
        ("cores = 0", "`needs.cores`: input should be greater than or equal to 1", None),
        ("cores = 1.5", "`needs.cores`: expected a whole number", None),
    ],
)
def test_what_no_machine_has_is_refused_with_its_line(
    tmp_path: Path, needs: str, said: str, hint: str | None
) -> None:
    text = WHOLE.replace("[scale.small]\n", f"[scale.small]\nneeds = {{ {needs} }}\n")
    error = complaint(tmp_path, text)

    assert said in error.message
    assert error.line == 30
    assert error.hint == hint


def test_a_scale_can_run_some_of_the_levels(tmp_path: Path) -> None:
    cell = '[[published]]\ncell = { server = "pg" }\nvalue = 11402\n'
    chosen = 'design.levels = { server = ["lite"], script = ["oltp_point_select"] }'
    text = WHOLE.replace("[scale.small]", f"{cell}[scale.small]\n{chosen}")

    paper, small = (read(tmp_path, text, scale).study for scale in ("paper", "small"))

    levels = {factor.name: [level.name for level in factor.levels] for factor in small.factors}
    assert levels == {
        "server": ["lite"],
        "journal": ["delete", "wal"],
        "script": ["oltp_point_select"],
    }
    assert [len(factor.levels) for factor in paper.factors] == [2, 2, 2]
    assert dict(small.published[0].cell) == {"server": "pg"}


def test_levels_that_are_run_must_exist_and_hold_the_baseline(tmp_path: Path) -> None:
    def told(levels: str) -> str:
        design = "[scale.small]\ndesign.levels = { " + levels + " }"
        return complaint(tmp_path, WHOLE.replace("[scale.small]", design)).message

    assert ":30: factor `journal` has no level `wall`" in told('journal = ["wall"]')
    assert ":30: `levels` names a factor `journl`" in told('journl = ["wal"]')
    assert "has no level `delete`; it has `wal`" in told('journal = ["wal"]')
    assert "`design.levels.journal`" in told("journal = []")


def test_what_never_ends_is_no_study() -> None:
    with pytest.raises(StudyError, match="no study file: it is longer than"):
        read_study(Path("/dev/zero"))


@pytest.mark.parametrize("name", ["quickstart", "postgresql-versions"])
def test_bundled_studies_are_valid(name: str) -> None:
    assert read_study(ROOT / "studies" / f"{name}.toml").study.question.endswith("?")


@pytest.mark.parametrize(
    ("old", "new", "line", "said", "hint"),
    [
        ('warm_up = "5 s"', 'warmup = "5 s"', 22, "unknown key `warmup` in [load]", "`warm_up`"),
        ("clients = ", "threads = ", 21, "unknown key `threads` in [load]", "mean `clients`?"),
        ("blocks = 4", "repeats = 4", 26, "unknown key `repeats` in [design]", "mean `blocks`?"),
        ("[design]", "[desing]", 25, "unknown key `desing`", "`design`"),
        ("{ settings = { journal_mode = ", "{ setings = { journal_mode = ", 13, "setings", "setti"),
        ('"5 s"', '"5"', 22, 'expected a duration with its unit, such as "5 s"', None),
        ('"5 s"', "5", 22, "expected a duration with its unit", None),
        ('"2 %"', '"two"', 3, "expected a share", None),
        ("blocks = 4", "reconnect = -1", 26, "greater than or equal to 0; found -1", None),
        ("blocks = 4", "reconnect = true", 26, "expected a whole number; found True", None),
        ("[1, 8]", "[1, 0]", 21, "`load.clients.1`: input should be greater than", None),
        ("[1, 8]", "[1, 1]", 21, "names a count twice", None),
        ("[1, 8]", "true", 21, "expected a whole number; found True", None),
        ('"p99"', '"p98"', 3, "`primary.metric`", None),
        ("blocks = 4", "blocks = 0", 26, "`design.blocks`", None),
        ('journal = "delete"', 'journl = "delete"', 27, "a factor `journl`", "`journal`"),
        ('journal = "delete"', 'journal = "delet"', 27, "no level `delet`", "`delete`"),
        (
            "[factor.journal]",
            "[factor.server]",
            12,
            "`server` is a factor already: write a [server.NAME] table",
            None,
        ),
        ('measure = "2 min"', "", 20, "neither `measure` nor `events`", None),
        ('measure = "10 s"', 'measure = "10"', 31, "expected a duration", None),
        ("workload.options = {", "workload.optoins = {", 30, "`optoins`", "`options`"),
        ("[server.pg]", '[server."p g"]', 9, "not a name a folder can have", None),
        ('"oltp_point_select"', '"x/oltp_read_write.lua"', 17, "two scripts of one name", None),
        ("blocks = 4", "blocks = ", 26, "not valid TOML", None),
        (
            "blocks = 4",
            'blocks = 5\nstop = { half_width = "2 %" }',
            25,
            "`stop`: a study may stop after 5 blocks",
            None,
        ),
        ("blocks = 4", 'blocks = 9\nstop = { width = "2 %" }', 27, "unknown key `width`", None),
        ("blocks = 4", 'blocks = 9\nstop = { half_width = "0 %" }', 27, "a share above 0", None),
        ('question = "What does it cost?"', "", None, "`question` is missing", None),
        ('provision = "postgresql:18.0.0"', "", 9, "`server.pg.provision` is missing", None),
    ],
)
def test_a_complaint_names_file_line_and_nearest_key(
    tmp_path: Path, old: str, new: str, line: int | None, said: str, hint: str | None
) -> None:
    error = complaint(tmp_path, WHOLE.replace(old, new, 1))

    assert said in error.message
    assert error.line == line
    assert error.message.startswith(f"{tmp_path / 'example.toml'}:" + (f"{line}:" if line else ""))
    assert hint is None or hint in (error.hint or "")


def test_a_matrix_beyond_measure_is_refused_before_it_is_made(tmp_path: Path) -> None:
    ten = "".join(f"l{level} = {{}}\n" for level in range(10))
    many = "".join(f"[factor.f{factor}]\n{ten}" for factor in range(6))
    error = complaint(tmp_path, WHOLE.replace("[factor.journal]", f"{many}[factor.journal]", 1))

    assert "cells; a study has at most 1,000" in error.message
    assert error.line


def test_a_study_needs_a_server_and_a_script(tmp_path: Path) -> None:
    load = '[load]\nclients = 1\nmeasure = "1 s"\n'

    assert "no server" in complaint(tmp_path, f'question = "q?"\n{load}').message
    server = '[server.a]\nprovision = "sqlite"\n'
    assert "no script" in complaint(tmp_path, f'question = "q?"\n{load}{server}').message


def test_an_unknown_scale_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    error = complaint(tmp_path, WHOLE, "smal")

    assert "`paper`, `small`" in error.message
    assert error.hint == "did you mean `small`?"


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(StudyError, match=str(path)):
            read_study(path)


OPEN = WHOLE.replace(
    'measure = "2 min"',
    """measure = "2 min"
arrival = { kind = "poisson", rate = 500 }
reconnect_every = 100
processes = 2
statements = "text"

[load.group.writer]
clients = 1
script = "kv_update"
options = { table_size = 10 }
prepare = true
think_time = "10 ms"

[load.group.crowd]
clients = 20_000
idle = true

[load.errors]
reconnect = "5 s"

[[load.errors.rule]]
codes = ["40P01", "40"]
action = "retry"
limit = 3

[[load.errors.rule]]
codes = 1213
action = "ignore"
""",
)


def test_groups_arrivals_and_error_rules(tmp_path: Path) -> None:
    load = read(tmp_path, OPEN).study.load

    assert (load.arrival, load.reconnect_every, load.processes) == (Poisson(500), 100, 2)
    assert not load.prepared_statements
    writer, crowd = load.groups
    assert (writer.name, writer.clients, writer.script, writer.prepare) == (
        "writer",
        1,
        "kv_update",
        True,
    )
    assert (writer.arrival, writer.think_time_s) == (Closed(), 0.01)
    assert (crowd.idle, crowd.script) == (True, None)
    assert load.all_clients(8) == 20_009
    assert load.errors == ErrorPolicy(
        (ErrorRule(("40P01", "40"), "retry", 3), ErrorRule(("1213",), "ignore")), 5.0
    )


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('{ kind = "constant", rate = 5 }', Constant(5)),
        ('{ kind = "ramp", from = 0, to = 9.5, over = "1 min" }', Ramp(0, 9.5, 60)),
        ('{ kind = "steps", steps = [["5 s", 10], ["1 s", 0]] }', Steps(((5, 10), (1, 0)))),
        ('{ kind = "sine", mean = 5, amplitude = 5, period = "2 s" }', Sine(5, 5, 2)),
        ('{ kind = "closed" }', Closed()),
    ],
)
def test_every_arrival_can_be_written(tmp_path: Path, table: str, expected: Arrival) -> None:
    text = OPEN.replace('{ kind = "poisson", rate = 500 }', table)

    assert read(tmp_path, text).study.load.arrival == expected


def test_times_to_replay_lie_beside_the_study(tmp_path: Path) -> None:
    table = '{ kind = "replay", file = "times.txt" }'
    load = read(tmp_path, OPEN.replace('{ kind = "poisson", rate = 500 }', table)).study.load

    assert load.arrival == Replay(tmp_path / "times.txt")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (", rate = 500", "", "kind `poisson` needs `rate`; its keys: rate"),
        ("rate = 500", 'rate = 500, over = "1 s"', "kind `poisson` has no `over`"),
        ('"poisson", rate = 500', '"sine", mean = 1, amplitude = 2, period = "1 s"', "at most the"),
        ("rate = 500", "rate = 0", "`load.arrival.rate`: input should be greater than 0"),
        ("rate = 500", "rat = 500", "unknown key `rat` in [load.arrival]"),
        ("reconnect_every = 100", 'think_time = "1 s"', "is a pause of a closed loop"),
        ("load.group.writer", "load.group.main", "`main` are the step's own clients"),
        ('"40P01", "40"', '"deadlock"', "expected a SQLSTATE"),
        ('"retry"', '"again"', "`load.errors.rule.0.action`"),
    ],
)
def test_each_mistake_in_the_load_has_its_line(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in OPEN
    error = complaint(tmp_path, OPEN.replace(old, new, 1))

    assert said in error.message
    line = OPEN[: OPEN.index(old)].count("\n") + 1
    assert error.line is not None and abs(error.line - line) <= 1


PUBLISHED = WHOLE + '\n[[published]]\ncell = { journal = "wal" }\nvalue = 12.5\nclients = 8\n'


def test_published_figures_reach_the_study(tmp_path: Path) -> None:
    text = PUBLISHED + '\n[[published]]\nagainst = { server = "pg" }\nvalue = [1.1, 1.2]\n'
    figure, range_told = read(tmp_path, text).study.published
    assert (figure.value, figure.high, figure.clients) == (12.5, None, 8)
    assert (range_told.value, range_told.high, range_told.against) == (1.1, 1.2, {"server": "pg"})


def test_a_comparison_may_be_told_without_a_figure(tmp_path: Path) -> None:
    text = WHOLE + '\n[[published]]\nagainst = { server = "pg" }\ndirection = "lower"\n'
    (published,) = read(tmp_path, text).study.published
    assert (published.value, published.direction) == (None, "lower")


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ('journal = "wal" }\nv', 'jurnal = "wal" }\nv', "names a factor `jurnal`"),
        ('journal = "wal" }\nv', 'journal = "val" }\nv', "has no level `val`"),
        ("clients = 8\n", 'clients = "eight"\n', "found 'eight'"),
        ("clients = 8\n", 'metric = "thruput"\n', "there is no figure `thruput`"),
        ("clients = 8\n", 'unit = "ms"\n', "can't tell it in `ms`"),
        ("value = 12.5", "value = -1", "greater than 0"),
        ("clients = 8\n", 'against = { journal = "wal" }\n', "the cell's own"),
        ("value = 12.5", 'direction = "lower"', "takes `against`"),
        ("clients = 8\n", 'direction = "higher"\n', "expected either `value`"),
        ("value = 12.5\n", "", "expected either `value`"),
    ],
)
def test_a_published_figure_that_fits_nothing_is_named_with_its_line(
    tmp_path: Path, wrong: str, right: str, message: str
) -> None:
    assert wrong in PUBLISHED
    found = complaint(tmp_path, PUBLISHED.replace(wrong, right))
    assert message in found.message
    first = PUBLISHED[: PUBLISHED.index("[[published]]")].count("\n") + 1
    line = re.search(r"example.toml:(\d+): ", found.message)
    assert line is not None
    assert first <= int(line[1]) <= first + 3


@pytest.mark.parametrize(
    ("chart", "message"),
    [
        ('kind = "metrics-over-time"', "expected `metrics = "),
        ('kind = "metrics-over-time"\nmetrics = ["p99"]', "found `p99`"),
        ('kind = "bars"', "expected `metric`"),
        ('kind = "bars"\nmetric = "thruput"', "there is no figure `thruput`"),
        ('kind = "bars"\nmetric = "mean.a over thruput"', "there is no figure `mean.a over"),
        ('kind = "bars"\nmetric = "mean.a over throughput"', "expected two figures in one unit"),
        ('kind = "bars"\nmetric = "mean.a over mean.b over mean"', "expected two figures"),
        ('kind = "latency-percentiles"\nmetric = "p99"', "takes no `metric`"),
        ('kind = "last-minutes"\ngroups = { a = ["wal"] }', "takes no `groups`"),
        (
            'kind = "metrics-over-time"\nmetrics = ["memory.free_bytes"]\nlead = true',
            "can't be the first picture",
        ),
        (
            'kind = "ratio-by-level"\nmetric = "p99"\ngroups = { a = ["val"] }',
            "no factor has a level `val`",
        ),
    ],
)
def test_a_chart_takes_the_metrics_of_its_kind(tmp_path: Path, chart: str, message: str) -> None:
    found = complaint(tmp_path, f"{WHOLE}\n[[chart]]\n{chart}\n")
    assert message in found.message
    first = WHOLE.count("\n") + 2
    line = re.search(r"example.toml:(\d+): ", found.message)
    assert line is not None
    assert first <= int(line[1]) <= first + 3


def test_one_chart_leads_and_a_second_is_named_with_its_line(tmp_path: Path) -> None:
    leading = '[[chart]]\nkind = "latency-percentiles"\nlead = true\n'
    text = f"{WHOLE}\n{leading}"
    charts = read(tmp_path, text).study.charts
    assert [chart.kind for chart in charts if chart.lead] == ["latency-percentiles"]
    again = complaint(tmp_path, text + '[[chart]]\nkind = "latency-over-time"\nlead = true\n')
    assert f"example.toml:{text.count(chr(10)) + 3}: `lead` is for one chart" in again.message


def test_charts_of_one_kind_have_names_of_their_own(tmp_path: Path) -> None:
    bars = '\n[[chart]]\nkind = "bars"\nmetric = "{}"\n'
    metrics = ("syncs_per_event", "mysql.history_list", "mean.writer/query 1")
    text = WHOLE + "".join(map(bars.format, metrics))
    assert [chart.name for chart in read(tmp_path, text).study.charts][1:] == [
        "bars-syncs_per_event",
        "bars-mysql-history_list",
        "bars-mean-writer-query-1",
    ]


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        (
            'statements = "text"',
            "`statements` is a key of [load]: write load = { statements = … }",
        ),
        (
            'measure = "1 s"',
            "`measure` is a key of [load]; a level can't change it: write two studies and "
            "`dbdyno compare` them",
        ),
        (
            "design = { blocks = 1 }",
            "[design] is a table of the study; a level can't change it: write two studies and "
            "`dbdyno compare` them",
        ),
        ("tls = true", "`tls` is a key of [connection]: write connection = { tls = … }"),
        ("setings = {}", "did you mean `settings`?"),
    ],
)
def test_a_key_that_belongs_elsewhere_is_told_where(tmp_path: Path, key: str, hint: str) -> None:
    file = tmp_path / "level.toml"
    file.write_text(
        'question = "?"\n[server.a]\nprovision = "sqlite"\n[factor.f]\n'
        f'x = {{ {key} }}\n[workload]\nscript = "kv_update"\n[load]\nclients = 1\n'
        'measure = "1 s"\n'
    )

    with pytest.raises(StudyError, match="unknown key") as caught:
        read_study(file)
    assert (caught.value.line, caught.value.hint) == (5, hint)
