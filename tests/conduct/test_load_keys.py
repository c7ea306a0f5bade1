"""Where a program drives a study, each key is passed on to it or refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct.load_keys import passed_on
from dbdyno.conduct.opening import open_study
from dbdyno.errors import StudyError
from dbdyno.formats.load_schema import LoadTable
from dbdyno.generators.registry import generators

OPTIONS = {
    "pgbench": '{ script = "select-only" }',
    "sysbench": '{ script = "oltp_point_select" }',
    "fio": '{ jobfile = "a.fio" }',
    "db_bench": '{ benchmark = "readrandom" }',
    "command": '{ program = ["true"], figures = ["events = #"] }',
    "damage": "{}",
    "ledger": "{}",
}
VALUES = {
    "arrival": '{ kind = "constant", rate = 50 }',
    "think_time": '"5 ms"',
    "reconnect_every": "7",
    "warm_up": '"2 s"',
    "measure": '"3 s"',
    "events": "100",
    "find_max": '{ p99 = "10 ms" }',
    "interval": '"2 s"',
    "group": '{ w = { clients = 1, script = "kv_update" } }',
    "errors": '{ reconnect = "5 s" }',
    "statements": '"text"',
    "reactor": '"epoll"',
    "scheduling": '"inherit"',
    "bind": '"none"',
    "shards": "2",
    "loaders": "3",
    "verify": '"counts"',
    "processes": "2",
    "hosts": "1",
    "ledger": "2",
}
"""A value of each key that asks for something."""
CARRIED = {
    "pgbench": {"measure", "warm_up"},
    "sysbench": {"measure", "warm_up", "events"},
    "fio": {"measure", "warm_up"},
    "db_bench": {"measure", "warm_up"},
    "command": {"measure", "warm_up"},
    "damage": {"events"},
    "ledger": {"events"},
}


def study(
    folder: Path,
    generator: str,
    load: str,
    *,
    workload: str = "",
    clients: str = "1",
    more: str = "",
) -> str:
    kind = "files" if generator in ("fio", "db_bench") else "postgresql@system"
    (folder / "a.fio").write_text("[job]\n")
    file = folder / "tool.toml"
    file.write_text(
        f"""\
question = "Is the load the one that is told?"
server.one.provision = "{kind}"
workload.generator = "{generator}"
workload.options = {OPTIONS[generator]}
{workload}
[load]
clients = {clients}
{load}
{more}
"""
    )
    return str(file)


def extent(generator: str, key: str) -> str:
    """What a load needs besides the key."""
    trials = generator in ("damage", "ledger")
    if key in ("measure", "events") and trials == (key == "events"):
        return ""
    return "events = 20\n" if trials else 'measure = "1 s"\n'


@pytest.mark.parametrize("generator", sorted(generators()))
@pytest.mark.parametrize("key", sorted(set(LoadTable.model_fields) - {"clients"}))
def test_every_key_is_carried_out_or_refused_with_its_line(
    tmp_path: Path, generator: str, key: str
) -> None:
    text = f"{key} = {VALUES[key]}\n{extent(generator, key)}"
    file = study(tmp_path, generator, text)
    if key in CARRIED[generator]:
        words = passed_on(open_study(file).study)[generator]
        assert words[key]
        return
    with pytest.raises(StudyError) as caught:
        open_study(file)
    # A search is refused where the program is named, the end of a load where its other end is.
    lines = {"find_max": {3, 9}, "events": {8, 9}, "measure": {6, 8, 9}}.get(key, {8})
    assert caught.value.line in lines
    assert f"`{key}`" in caught.value.message or "`load.events` trials" in caught.value.message


@pytest.mark.parametrize(
    ("generator", "load", "words"),
    [
        ("pgbench", 'measure = "5 s"', {"measure": "--time=5"}),
        (
            "pgbench",
            'measure = "5 s"\narrival = { kind = "poisson", rate = 50 }',
            {"measure": "--time=5", "arrival": "--rate=50"},
        ),
        (
            "pgbench",
            'measure = "5 s"\narrival = { kind = "poisson", rate = 0.5 }',
            {"measure": "--time=5", "arrival": "--rate=0.5"},
        ),
        (
            "pgbench",
            "events = 100\nreconnect_every = 1",
            {"events": "--transactions", "reconnect_every": "--connect"},
        ),
        (
            "sysbench",
            'measure = "5 s"\nevents = 9\narrival = { kind = "poisson", rate = 50 }',
            {"measure": "--time=5", "events": "--events=9", "arrival": "--rate=50"},
        ),
        ("sysbench", "events = 9", {"events": "--events=9"}),
        (
            "pgbench",
            'events = 100\nwarm_up = "1 s"',
            {"events": "--transactions", "warm_up": "a call before, --time=1"},
        ),
        (
            "sysbench",
            'measure = "1 s"\nevents = 9\nwarm_up = "2 s"',
            {"measure": "--time=1", "events": "--events=9", "warm_up": "a call before, --time=2"},
        ),
        (
            "pgbench",
            'events = 100\narrival = { kind = "poisson", rate = 1e6 }',
            {"events": "--transactions", "arrival": "--rate=1000000"},
        ),
        ("sysbench", 'measure = "2 h"', {"measure": "--time=7200"}),
        # What asks for nothing is no complaint.
        (
            "pgbench",
            'measure = "5 s"\narrival.kind = "closed"\nthink_time = "0 s"\nreconnect_every = 0\n'
            'interval = "1 s"\nwarm_up = "0 s"\nverify = "none"',
            {"measure": "--time=5"},
        ),
        (
            "command",
            'measure = "2500 ms"\nwarm_up = "500 ms"',
            {"measure": "RUNTIME", "warm_up": "RAMP"},
        ),
    ],
)
def test_what_is_carried_out_is_told_by_its_words(
    tmp_path: Path, generator: str, load: str, words: dict[str, str]
) -> None:
    loaded = open_study(study(tmp_path, generator, load))

    assert passed_on(loaded.study) == {generator: words}


@pytest.mark.parametrize(
    ("generator", "clients", "load", "line", "said"),
    [
        ("pgbench", "2", 'measure = "2500 ms"', 8, "whole seconds only"),
        ("pgbench", "2", 'measure = "2 s"\nwarm_up = "500 ms"', 9, "whole seconds only"),
        ("sysbench", "2", 'measure = "1500 ms"', 8, "whole seconds only"),
        ("fio", "2", 'measure = "1500 ms"', 8, "whole seconds only"),
        ("db_bench", "2", 'measure = "1500 ms"', 8, "whole seconds only"),
        ("pgbench", "3", "events = 100", 8, "can't divide 100 equally among 3 clients"),
        ("pgbench", "2", 'events = 100\nmeasure = "1 s"', 8, "not by whichever comes first"),
        ("pgbench", "2", 'measure = "1 s"\nreconnect_every = 10', 9, "connects for each"),
        (
            "sysbench",
            "2",
            'measure = "1 s"\narrival = { kind = "poisson", rate = 0.5 }',
            9,
            "whole rates only",
        ),
        (
            "sysbench",
            "2",
            'measure = "1 s"\narrival = { kind = "ramp", from = 1, to = 9, over = "1 s" }',
            9,
            "not by `ramp`",
        ),
        ("damage", "2", "events = 5", 7, "one after the other"),
        ("pgbench", "[2, 3]", "events = 100", 8, "can't divide 100 equally among 3 clients"),
        ("fio", "2", "events = 100", 8, "ends by time"),
        ("db_bench", "2", "events = 100", 8, "ends by time"),
        ("command", "2", "events = 100", 8, "ends by time"),
        ("sysbench", "2", 'measure = "1 s"\nreconnect_every = 1', 9, "`reconnect_every`"),
        (
            "pgbench",
            "2",
            'measure = "1 s"\narrival = { kind = "constant", rate = 50 }',
            9,
            "not by `constant`",
        ),
        (
            "sysbench",
            "2",
            'measure = "1 s"\narrival = { kind = "sine", mean = 5, amplitude = 1, period = "1 s" }',
            9,
            "not by `sine`",
        ),
        (
            "pgbench",
            "2",
            'measure = "1 s"\n[load.group.w]\nclients = 1',
            9,
            "`group` is not carried",
        ),
        (
            "pgbench",
            "2",
            'measure = "1 s"\n[[load.errors.rule]]\ncodes = 1\naction = "stop"',
            9,
            "`errors`",
        ),
    ],
)
def test_a_value_that_it_can_not_carry_out_is_refused(
    tmp_path: Path, generator: str, clients: str, load: str, line: int, said: str
) -> None:
    with pytest.raises(StudyError, match=said) as caught:
        open_study(study(tmp_path, generator, load, clients=clients))

    assert caught.value.line == line


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ("[load.group.w]\nclients = 1", "group"),
        ('[[load.errors.rule]]\ncodes = 1\naction = "stop"', "errors"),
    ],
)
def test_a_table_of_the_load_is_refused_with_its_line(tmp_path: Path, more: str, key: str) -> None:
    file = study(tmp_path, "pgbench", 'measure = "1 s"', more=more)
    with pytest.raises(StudyError, match=f"`{key}` is not carried out") as caught:
        open_study(file)
    assert caught.value.line == 9


def test_a_key_of_the_scale_in_force_is_refused_with_its_line(tmp_path: Path) -> None:
    more = '[scale.small]\nload.think_time = "1 ms"'
    file = study(tmp_path, "pgbench", 'measure = "1 s"', more=more)

    open_study(file, scale="paper")
    with pytest.raises(StudyError, match="`think_time` is not carried out") as caught:
        open_study(file, scale="small")
    assert caught.value.line == 10


@pytest.mark.parametrize(
    ("generator", "workload", "line", "said"),
    [
        ("pgbench", 'workload.script = "kv_update"', 5, "`script` is the engine's"),
        ("pgbench", 'workload.script = ["kv_update", "kv_read"]', 5, "`script` is the engine's"),
        ("pgbench", 'workload.tables = { script = "kv_update" }', 5, "`tables` is the engine's"),
        ("pgbench", 'factor.f.a = { script = "kv_update" }', 5, "`script` is the engine's"),
        ("fio", "connection.tls = true", 5, "accepts no connections"),
        ("sysbench", 'connection = { transport = "tcp", tls = true }', 5, "`tls = true`"),
        ("damage", 'connection.transport = "tcp"', 5, '`transport = "tcp"`'),
    ],
)
def test_keys_of_workload_and_connection_too(
    tmp_path: Path, generator: str, workload: str, line: int, said: str
) -> None:
    load = "events = 5" if generator == "damage" else 'measure = "1 s"'
    with pytest.raises(StudyError, match=said) as caught:
        open_study(study(tmp_path, generator, load, workload=workload))

    assert caught.value.line == line


@pytest.mark.parametrize(
    ("generator", "connection"),
    [
        ("pgbench", '{ transport = "tcp", tls = true }'),
        ("command", '{ transport = "tcp", tls = true }'),
        ("sysbench", '{ transport = "tcp", tls = false }'),
    ],
)
def test_a_connection_that_it_can_make_is_let_through(
    tmp_path: Path, generator: str, connection: str
) -> None:
    open_study(study(tmp_path, generator, 'measure = "1 s"', workload=f"connection = {connection}"))


def test_how_the_engine_works_may_be_said_beside_a_program(tmp_path: Path) -> None:
    theirs = f'{{ generator = "sysbench", options = {OPTIONS["sysbench"]} }}'
    script = 'workload.script = "oltp_point_select"'
    both = f"{script}\nfactor.by = {{ ours = {{}}, theirs = {theirs} }}"
    file = Path(study(tmp_path, "sysbench", 'measure = "1 s"\nshards = 2', workload=both))
    text = file.read_text().replace('workload.generator = "sysbench"\n', "")
    file.write_text(text.replace(f"workload.options = {OPTIONS['sysbench']}\n", ""))

    assert passed_on(open_study(str(file)).study) == {"sysbench": {"measure": "--time=1"}}


@pytest.mark.parametrize(
    ("generator", "option"),
    [
        ("fio", "clients = 5"),
        ("fio", "RUNTIME = 5"),
        ("command", "runtime = 5"),
        ("command", "Clients = 5"),
        ("command", "seed = 5"),
        ("sysbench", "rate = 5"),
        ("sysbench", "warmup-time = 5"),
        ("sysbench", "max-time = 5"),
        ("sysbench", "max_requests = 5"),
        ("sysbench", "num-threads = 5"),
        ("sysbench", "tx-rate = 5"),
        ("sysbench", 'config-file = "a"'),
        ("sysbench", 'pgsql-db = "a"'),
        ("db_bench", "threads = 5"),
        ("db_bench", "use-existing-db = true"),
        ("db_bench", 'flagfile = "a"'),
        ("pgbench", "rate = 5"),
        ("pgbench", "clients = 5"),
    ],
)
def test_an_option_can_not_change_the_load_behind_its_back(
    tmp_path: Path, generator: str, option: str
) -> None:
    file = Path(study(tmp_path, generator, 'measure = "1 s"'))
    file.write_text(file.read_text().replace("{ ", f"{{ {option}, ", 1))

    with pytest.raises(StudyError, match=f"`{option.split()[0]}`") as caught:
        open_study(str(file))
    assert caught.value.line == 4


OF_A_LEVEL = """\
question = "q?"

[server.postgresql]
provision = "postgresql@system"

[factor.does]
plain = {}
other = { load = { KEY } }

[workload]
generator = "pgbench"
options = { script = "select-only" }

[load]
clients = 2
measure = "2 s"

[load.errors]
expected = { all = "1 %" }
"""


def test_what_a_level_changes_is_passed_on_to_its_program(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(OF_A_LEVEL.replace("KEY", "reconnect_every = 1"))

    assert passed_on(open_study(str(file)).study)["pgbench"]["reconnect_every"] == "--connect"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ('think_time = "1 s"', "`think_time` is not carried out"),
        ('arrival = { kind = "constant", rate = 5 }', "not by `constant`"),
        ('statements = "text"', "`statements` is not carried out"),
    ],
)
def test_what_a_program_can_t_do_is_refused_with_the_level_s_line(
    tmp_path: Path, key: str, words: str
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(OF_A_LEVEL.replace("KEY", key))

    with pytest.raises(StudyError) as raised:
        open_study(str(file))

    assert raised.value.message.startswith(f"{file}:8: ")
    assert words in raised.value.message
