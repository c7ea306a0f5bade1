"""What `check` says of a topology of several servers before any is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.collect import machine_limits
from dbdyno.conduct import open_study, room
from dbdyno.conduct.estimate import estimate
from dbdyno.conduct.needs import Machine
from dbdyno.conduct.room import require_room
from dbdyno.conduct.topology import many_servers
from dbdyno.design import cells, plan
from dbdyno.engine import find_engine
from dbdyno.errors import MachineError, StudyError
from dbdyno.model import Cell, Load, Needs, Study, load_of

STUDY = """\
question = "?"

[server.alone]
provision = "postgresql@system"

[server.replicated]
provision = "postgresql@system"
settings = {{ shared_buffers = "256MB" }}
topology = "primary-replicas"
replicas = 2
member.replica = {{ settings = {{ shared_buffers = "{cache}" }} }}

[workload]
script = "kv_update"

[load]
clients = [1]
measure = "1 s"
"""


def studied(folder: Path, cache: str) -> tuple[Study, Cell, Cell]:
    file = folder / "study.toml"
    file.write_text(STUDY.format(cache=cache))
    study = open_study(str(file)).study
    alone, replicated = cells(study)
    return study, alone, replicated


def test_members_ports_and_memory_are_told(tmp_path: Path) -> None:
    study, alone, replicated = studied(tmp_path, "64MB")
    servers = many_servers(replicated)

    assert many_servers(alone) is None
    assert servers is not None
    assert servers.members == ("primary", "replica-1", "replica-2")
    assert servers.memory_bytes == (256 + 2 * 64) * 2**20 + 3 * 80_000_000
    assert str(servers).startswith("primary, replica-1, replica-2 (3 ports, up to 613 MB of")
    planned = plan(study)
    by_cell = {
        run.cell.label: estimate(study, replace(planned, runs=(run,))) for run in planned.runs
    }
    assert by_cell["replicated"].disk_bytes == 3 * by_cell["alone"].disk_bytes
    assert by_cell["replicated"].time_s > by_cell["alone"].time_s


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("cpus = 4000", r"2 members with 8000 processors together leave none of this machine's"),
        ('memory = "4000 GB"', "2 members with .* of memory together leave none of this machine's"),
    ],
)
def test_limits_of_members_that_leave_the_clients_nothing_are_refused(
    tmp_path: Path, limits: str, message: str
) -> None:
    file = tmp_path / "study.toml"
    host = f"member.replica.host.limits = {{ {limits} }}"
    text = STUDY.format(cache="64MB")
    start = text.index("member.replica = ")
    file.write_text(text[:start] + host + text[text.index("\n", start) :])
    study = open_study(str(file)).study
    _, replicated = cells(study)

    with pytest.raises(MachineError, match=message):
        require_room(replicated, study.load, machine_limits(), find_engine())
    larger = Needs(cores=10_000, memory_bytes=10_000 * 10**9)
    require_room(replicated, study.load, machine_limits(), find_engine(), larger)


PROXY = 'proxy = { kind = "haproxy", host = { limits = { cpus = 0.3, memory = "256 MB" } } }'


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("", None),
        ("member.replica.host.limits = { cpus = 0.8 }", None),
        (
            "member.replica.host.limits = { cpus = 0.9 }",
            "2 members and the proxies with 2.1 processors together leave none of this machine's 2",
        ),
        (
            "member.replica.host.limits = { cpus = 0.5 }\nhost.cpus = { client = [0] }",
            "together leave too few of this machine's 2 to the clients, bound to 1 of them",
        ),
        ("host.limits.client = { cpus = 0.5 }\nmember.replica.host.limits = { cpus = 0.6 }", None),
        (
            "host.limits.client = { cpus = 0.6 }\nmember.replica.host.limits = { cpus = 0.6 }",
            "1.5 processors together leave too few of this machine's 2 to the clients, limited to "
            "0.6 of them",
        ),
        (
            "host.limits.client = { cpus = 1.8 }",
            "the proxies with 0.3 processors together leave too few",
        ),
        (
            "host.limits.client = { cpus = 0.5 }\nhost.cpus = { client = [0, 1] }",
            None,
        ),
        (
            'host.limits.client = { memory = "7.3 GB" }',
            r"the proxies with .* of memory together leave too little of this machine's .* to the "
            r"clients, limited to 7.3 GB of it",
        ),
        (
            "host.limits.client = { cpus = 2.5 }",
            "clients with 2.5 processors are more than this machine's 2",
        ),
        ("host.limits = { cpus = 1.6 }", None),
        (
            "host.limits = { cpus = 1.7 }",
            "the server and the proxies with 2 processors together leave none",
        ),
        (
            'host.limits = { memory = "7.9 GB" }',
            "the server and the proxies with .* of memory together leave none",
        ),
    ],
)
def test_limits_of_proxies_count_among_those_of_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: str, message: str | None
) -> None:
    monkeypatch.setattr(room, "this_machine", lambda: Machine(2, 8 * 10**9))
    file = tmp_path / "study.toml"
    text = STUDY.format(cache="64MB").replace("member.replica = ", "# ")
    file.write_text(text.replace("replicas = 2\n", f"replicas = 2\n{PROXY}\n{keys}\n"))
    _, replicated = cells(open_study(str(file)).study)
    load = Load((1,), 0.0, 1.0)

    if message is None:
        require_room(replicated, load, machine_limits(), find_engine())
        return
    with pytest.raises(MachineError, match=message):
        require_room(replicated, load, machine_limits(), find_engine())


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("{ cpus = { server = [0] } }", r"study.toml:\d+: `proxy.host.cpus` can't be set for"),
        ("{ limits = { cpus = 0 } }", r"study.toml:\d+: `proxy.host.limits`: expected `cpus`"),
        (
            "{ limits = { client = { cpus = 1 } } }",
            r"study.toml:\d+: `proxy.host.limits`: `client` has the limits of all clients",
        ),
    ],
)
def test_what_proxies_can_not_have_is_refused_with_its_line(
    tmp_path: Path, host: str, message: str
) -> None:
    file = tmp_path / "study.toml"
    proxy = f'proxy = {{ kind = "haproxy", host = {host} }}\n'
    file.write_text(STUDY.format(cache="64MB").replace("[workload]", f"{proxy}[workload]"))

    with pytest.raises(StudyError, match=message):
        open_study(str(file))


def test_limits_of_clients_are_not_a_member_s(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    member = "member.replica = { host = { limits = { client = { cpus = 1 } } } }"
    text = STUDY.format(cache="64MB")
    file.write_text(text.replace("member.replica = ", f"{member}\n# "))

    with pytest.raises(StudyError, match=r"study.toml:\d+: `host.limits`: `client` has the limits"):
        open_study(str(file))


def test_a_group_that_connects_to_no_member_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    text = STUDY.format(cache="64MB").partition("[server.replicated]")
    reading = 'load = {{ group.readers = {{ clients = 1, entry = "{}" }} }}\n'
    replicated = text[1] + "\n" + reading.format("replica") + text[2]
    file.write_text(text[0] + replicated)
    (_, cell) = cells(open_study(str(file)).study)
    assert [group.entry for group in load_of(Load((1,), 0.0, 1.0), cell).groups] == ["replica"]

    for where, entry, hint in (
        (text[0] + replicated, "replicas", "replica"),
        (text[0] + reading.format("replica") + text[1] + text[2], "replica", "no members"),
    ):
        file.write_text(where.replace('entry = "replica"', f'entry = "{entry}"'))
        with pytest.raises(StudyError, match=rf"study.toml:\d+: .* no member `{entry}`") as caught:
            open_study(str(file))
        assert hint in (caught.value.hint or "")


def test_more_memory_than_the_machine_has_is_refused(tmp_path: Path) -> None:
    study, _, replicated = studied(tmp_path, "4000GB")

    with pytest.raises(MachineError, match=r"3 servers with full caches take .* this machine has"):
        require_room(replicated, study.load, machine_limits(), find_engine())
