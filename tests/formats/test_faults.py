"""`[[fault]]`: what is read, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct.fault_rules import fault_words
from dbdyno.conduct.opening import open_study
from dbdyno.design.batches import why_not_turns
from dbdyno.design.cells import cells
from dbdyno.errors import StudyError
from dbdyno.formats.study import read_study
from dbdyno.model import load_of
from dbdyno.model.fault import Fault

STUDY = """\
question = "?"
{server}
workload.script = "kv_update"
load = {{ clients = 1, {extent} }}
[[fault]]
{fault}
"""
SERVER = 'server.one = { provision = "postgresql@system" }'
REPLICAS = (
    'server.one = { provision = "postgresql@system", topology = "primary-replicas", replicas = 1 }'
)


def written(
    folder: Path, fault: str, extent: str = 'measure = "60 s"', server: str = SERVER
) -> Path:
    file = folder / "study.toml"
    file.write_text(STUDY.format(fault=fault, extent=extent, server=server))
    return file


def test_a_fault_is_part_of_the_load(tmp_path: Path) -> None:
    text = 'do = "kill"\nat = "5 s"\nmember = "primary"\nfor = "2 s"\nevery = "10 s"\ntimes = 3'
    study = read_study(written(tmp_path, text)).study

    assert study.load.faults == (Fault("kill", 5.0, 2.0, "primary", 10.0, 3),)
    assert why_not_turns(study) is not None


@pytest.mark.parametrize(
    ("fault", "extent", "problem"),
    [
        ('do = "burn"\nfor = "1 s"', 'measure = "60 s"', "study.toml:6: "),
        ('do = "kill"', 'measure = "60 s"', "study.toml:5: "),
        ('do = "kill"\nfor = "0 s"', 'measure = "60 s"', "study.toml:7: `for` must be longer"),
        ('do = "kill"\nfor = "1 s"', "events = 10", "study.toml:5: faults need a window"),
        (
            'do = "kill"\nfor = "1 s"\nat = "1 s"\ntimes = 2',
            'measure = "60 s"',
            "study.toml:9: `times` needs",
        ),
        ('do = "kill"\nfor = "9 s"\nat = "55 s"', 'measure = "60 s"', "outlasts the window of 60"),
        (
            'do = "kill"\nfor = "9 s"\nat = "1 s"\nevery = "5 s"\ntimes = 2',
            'measure = "60 s"',
            "at 6 s a fault is due while that of 1 s lasts",
        ),
        ('do = "command"\nfor = "1 s"\napply = ["true"]', 'measure = "60 s"', "`command` needs"),
        (
            'do = "command"\nfor = "1 s"\napply = ["./x"]\nundo = ["true"]',
            'measure = "60 s"',
            "study.toml:6: expected a program on the path or an absolute path; found `./x`",
        ),
        ('do = "kill"\nfor = "1 s"\nundo = ["true"]', 'measure = "60 s"', "are for `command`"),
        ('do = "kill"\nfor = "1 s"\nrate = "1 Mbit/s"', 'measure = "60 s"', "`slow-network` takes"),
        ('do = "slow-network"\nfor = "1 s"', 'measure = "60 s"', "`slow-network` takes `rate`"),
        (
            'do = "slow-network"\nfor = "1 s"\nrate = "fast"',
            'measure = "60 s"',
            "expected a rate of at least 8 kbit/s",
        ),
        (
            'do = "kill"\nfor = "1 s"\ndirection = "in"',
            'measure = "60 s"',
            "study.toml:8: `direction` is for `partition`",
        ),
        ('do = "kill"\nfor = "1 s"\nwhere = "x"', 'measure = "60 s"', "unknown key `where`"),
    ],
)
def test_a_wrong_timetable_is_refused_with_its_line(
    tmp_path: Path, fault: str, extent: str, problem: str
) -> None:
    with pytest.raises(StudyError) as caught:
        read_study(written(tmp_path, fault, extent))

    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (
            'do = "kill-proxy"',
            "study.toml:7: `kill-proxy` needs a proxy before every server",
        ),
        ('do = "kill-server"', "study.toml:7: `kill-server` needs a supervisor"),
        (
            'do = "fill-disk"\n[host.filesystem]\nfolder = "/var"',
            "study.toml:7: `fill-disk` needs a file system of its own",
        ),
        ('do = "power-failure"', "study.toml:7: `power-failure` needs a file system"),
        ('do = "partition"', "study.toml:7: `partition` needs a network of the servers"),
        (
            'do = "slow-network"\nrate = "1 Mbit/s"',
            "`slow-network` needs a network of the servers",
        ),
        (
            'do = "command"\napply = ["no-such-program"]\nundo = ["true"]',
            "study.toml:8: there is no program `no-such-program`",
        ),
        (
            'do = "command"\napply = ["true"]\nundo = ["true"]\n'
            '[host]\ntransparent_hugepages = "never"',
            "`host.transparent_hugepages` holds this machine's switches",
        ),
    ],
)
def test_what_a_fault_does_needs_what_it_is_done_to(
    fault: str, problem: str, tmp_path: Path
) -> None:
    file = written(tmp_path, fault.replace("do = ", 'for = "1 s"\ndo = ', 1))

    with pytest.raises(StudyError) as caught:
        open_study(str(file))

    assert problem in str(caught.value)


def test_a_ledger_without_faults_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "", extent='ledger = 1, measure = "60 s"')
    file.write_text(file.read_text().replace("[[fault]]", ""))

    with pytest.raises(StudyError, match="`ledger` counts what faults lose, and there are none"):
        read_study(file)


@pytest.mark.parametrize(
    ("server", "member", "problem"),
    [
        (REPLICAS, "secondary", "study.toml:7: `member`: there is no `secondary` in every cell"),
        (SERVER, "primary", "there is no `primary`"),
        ('server.one = { provision = "sqlite" }', "active", "no faults for `sqlite`"),
        (
            'server.one = { provision = "url:postgresql://me@localhost/test" }',
            "active",
            "somebody else's",
        ),
    ],
)
def test_a_fault_that_a_cell_can_not_have_is_refused(
    tmp_path: Path, server: str, member: str, problem: str
) -> None:
    file = written(tmp_path, f'do = "kill"\nmember = "{member}"\nfor = "1 s"', server=server)

    with pytest.raises(StudyError) as caught:
        open_study(str(file))

    assert problem in str(caught.value)


PROXIED = f'{REPLICAS[:-1].rstrip()}, proxy = {{ kind = "haproxy" }} }}'
POOLED = PROXIED.replace("haproxy", "pgbouncer")


@pytest.mark.parametrize(
    ("server", "member", "problem"),
    [
        (SERVER, "active", "study.toml:6: `promote` needs a primary with replicas"),
        (REPLICAS, "active", "study.toml:6: clients reach a promoted replica through HAProxy only"),
        (POOLED, "active", "through HAProxy only"),
        (PROXIED, "replica", "study.toml:7: `promote` replaces the primary, not `replica`"),
    ],
)
def test_a_promotion_needs_a_primary_behind_a_proxy_that_follows(
    server: str, member: str, problem: str, tmp_path: Path
) -> None:
    text = f'do = "promote"\nmember = "{member}"\nfor = "1 s"'
    file = written(tmp_path, text, server=server)
    file.write_text(file.read_text().replace("clients = 1", 'statements = "text", clients = 1'))

    with pytest.raises(StudyError) as caught:
        open_study(str(file))

    assert problem in str(caught.value)


def test_a_members_power_fails_alone(tmp_path: Path) -> None:
    own = 'member.replica = { host = { filesystem = "ext4" } }'
    text = 'do = "power-failure"\nfor = "1 s"\nmember = "%s"'
    server = f"{REPLICAS[:-1].rstrip()}, {own} }}"

    assert open_study(str(written(tmp_path, text % "replica", server=server)))
    with pytest.raises(StudyError, match="only the member's data are on"):
        open_study(str(written(tmp_path, text % "active", server=server)))


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_every_kind_that_replicates_can_be_promoted(kind: str, tmp_path: Path) -> None:
    file = written(
        tmp_path, 'do = "promote"\nfor = "1 s"', server=PROXIED.replace("postgresql", kind)
    )

    assert [fault.do for fault in open_study(str(file)).study.load.faults] == ["promote"]


@pytest.mark.parametrize("member", ["active", "primary", "replica", "replica-1"])
def test_members_are_named_by_role_or_name(tmp_path: Path, member: str) -> None:
    file = written(tmp_path, f'do = "kill"\nmember = "{member}"\nfor = "1 s"', server=REPLICAS)

    (fault,) = open_study(str(file)).study.load.faults

    assert fault.member == member


LEVELS = """
[factor.fault.none]
load = { fault = [] }
[factor.fault.pause]
load = { fault = [{ do = "pause", for = "2 s", at = "3 s" }] }
[factor.fault.stop]
load = { fault = [{ do = "stop", member = "active", for = "1 s" }] }
"""


def test_faults_may_be_levels_in_place_of_the_studys(tmp_path: Path) -> None:
    file = written(tmp_path, 'do = "kill"\nfor = "2 s"\nat = "9 s"' + LEVELS)

    study = open_study(str(file)).study

    loads = {cell.levels["fault"]: load_of(study.load, cell) for cell in cells(study)}
    assert {name: [fault.do for fault in load.faults] for name, load in loads.items()} == {
        "none": [],
        "pause": ["pause"],
        "stop": ["stop"],
    }
    assert why_not_turns(study) is not None
    assert list(fault_words(study))[:3] == [
        "9 s: kill active for 2 s",
        "none: none",
        "pause: 3 s: pause active for 2 s",
    ]


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ('at = "3 s"', 'at = "59 s"', "at 59 s plus 2 s a fault outlasts the window"),
        ('member = "active"', 'member = "primary"', "there is no `primary` in every cell"),
    ],
)
def test_a_wrong_fault_of_a_level_is_refused_with_its_line(
    right: str, wrong: str, problem: str, tmp_path: Path
) -> None:
    file = written(tmp_path, 'do = "kill"\nfor = "2 s"' + LEVELS.replace(right, wrong))
    (line,) = (n for n, text in enumerate(file.read_text().splitlines(), 1) if wrong in text)

    with pytest.raises(StudyError, match=f"study.toml:{line}: .*{problem}"):
        open_study(str(file))
