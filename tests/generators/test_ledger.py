"""The ledger: real databases are killed, or lose power, and what they lose is found."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from jobs import STEP

from dbdyno.errors import UsageError
from dbdyno.generators.generator import Job, Served, ToolOutcome
from dbdyno.generators.ledger import GENERATOR
from dbdyno.generators.power import OwnFileSystem
from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.model import Option
from dbdyno.servers import ServerSpec, open_server, open_spec, resolve
from dbdyno.setters.filesystem import SETTER
from dbdyno.setters.setter import Scene
from traces import nothing_left

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"crash": "flood"}, "process, power"),
        ({"writes_s": 0}, "from 0.1 to 600"),
        ({"writes_s": "1 s"}, "from 0.1 to 600"),
        ({"rows": 10}, "`rows`"),
    ],
)
def test_wrong_options_are_refused(options: Mapping[str, Option], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        GENERATOR.read(options)


def job(server: Served, kind: str, folder: Path | None, scratch: Path, **options: Option) -> Job:
    scratch.mkdir()
    return replace(
        STEP,
        options={"writes_s": 0.3, **options},
        clients=1,
        events=2,
        kind=kind,
        seed=7,
        scratch=scratch,
        server=server,
        data_folder=folder,
    )


def crashed(
    folder: Path,
    provision: str,
    settings: Mapping[str, str],
    parent: Path | None = None,
    crashes: int = 2,
) -> ToolOutcome:
    """So many crashes: power failures of the file system at `parent`, or kills."""
    launch = Launch(data_parent=str(parent)) if parent else Launch()
    spec = ServerSpec(resolve(provision), settings, launch)
    kind = provision.partition(":")[0].partition("@")[0]
    with open_spec(spec, folder / "logs") as server:
        server.start()
        crash = "power" if parent else "process"
        step = job(server, kind, server.node.data_folder(), folder / "scratch", crash=crash)
        outcome = GENERATOR.run(replace(step, target=server.entry.target, events=crashes))
        server.check()
    return outcome


def test_a_killed_sqlite_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    with nothing_left():
        found = crashed(tmp_path, "sqlite", {"journal_mode": "wal", "synchronous": "off"})

    assert found.outcomes["kept"] == found.events == 2
    assert found.figures["commits"] > 0
    lines = (tmp_path / "scratch/trials.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["kept", "kept"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provision", "settings"),
    [
        ("postgresql:18.4", {"fsync": "off"}),
        ("mariadb@system", {"innodb_flush_log_at_trx_commit": "2"}),
    ],
)
def test_a_killed_server_keeps_what_it_gave_to_the_kernel(
    tmp_path: Path, provision: str, settings: dict[str, str]
) -> None:
    with nothing_left():
        found = crashed(tmp_path, provision, settings)

    assert found.outcomes["kept"] == 2
    assert found.figures["lost_commits"] == 0
    assert found.figures["commits"] > 0


def mounted(kind: str, guarded: Guarded) -> Path:
    """A file system of its own, gone with the guard."""
    value = SETTER.read({"kind": kind, "size": "600 MB"})
    applied = SETTER.apply(value, guarded, Scene(Path("/var/tmp"), server_account()))
    assert applied.server is not None
    return Path(str(applied.server.data_parent))


@pytest.mark.slow
@pytest.mark.alone
@root_only
@pytest.mark.parametrize(
    ("provision", "settings", "loses"),
    [
        ("sqlite", {"journal_mode": "wal", "synchronous": "full"}, False),
        ("sqlite", {"journal_mode": "wal", "synchronous": "off"}, True),
        ("postgresql:18.4", {"synchronous_commit": "on"}, False),
        ("postgresql:18.4", {"fsync": "off"}, True),
        ("mariadb@system", {"innodb_flush_log_at_trx_commit": "1"}, False),
    ],
)
def test_a_power_failure_takes_what_was_not_synced(
    tmp_path: Path, provision: str, settings: dict[str, str], loses: bool
) -> None:
    with nothing_left(), Guarded() as guarded:
        found = crashed(tmp_path, provision, settings, mounted("ext4", guarded))

    assert found.outcomes["kept"] == (0 if loses else 2)
    assert (found.figures["lost_commits"] > 0) is loses


@pytest.mark.nightly
@pytest.mark.alone
@root_only
@pytest.mark.parametrize(
    ("provision", "settings"),
    [
        ("postgresql:18.4", {"synchronous_commit": "on"}),
        ("mariadb:11.8@trixie", {"innodb_flush_log_at_trx_commit": "1"}),
        ("sqlite", {"journal_mode": "wal", "synchronous": "full"}),
        ("sqlite", {"journal_mode": "delete", "synchronous": "extra"}),
    ],
)
def test_fifty_power_failures_take_nothing_that_a_setting_promises_to_keep(
    tmp_path: Path, provision: str, settings: dict[str, str]
) -> None:
    with nothing_left(), Guarded() as guarded:
        outcome = crashed(tmp_path, provision, settings, mounted("ext4", guarded), crashes=50)

    assert outcome.outcomes["kept"] == outcome.events == 50
    assert outcome.figures["commits"] > 50


@pytest.mark.nightly
@pytest.mark.alone
@root_only
@pytest.mark.parametrize(
    ("provision", "settings"),
    [
        ("postgresql:18.4", {"fsync": "off"}),
        ("sqlite", {"journal_mode": "wal", "synchronous": "off"}),
        ("sqlite", {"journal_mode": "delete", "synchronous": "off"}),
    ],
)
def test_ten_power_failures_each_take_something_where_nothing_is_synced(
    tmp_path: Path, provision: str, settings: dict[str, str]
) -> None:
    with nothing_left(), Guarded() as guarded:
        outcome = crashed(tmp_path, provision, settings, mounted("ext4", guarded), crashes=10)

    assert outcome.events == 10
    assert outcome.outcomes["kept"] == 0


@pytest.mark.alone
@root_only
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_file_system_proves_that_its_power_fails(kind: str) -> None:
    with nothing_left(), Guarded() as guarded:
        place = mounted(kind, guarded)
        system = OwnFileSystem.of(place / "somewhere")
        (place / "before").write_text("synced by the proof")

        system.prove(guarded)

        again = OwnFileSystem.of(place)
        assert (again.place, again.image, again.direct_io) == (place, system.image, True)
        assert set(again.options.split(",")) == set(system.options.split(","))
        assert (place / "before").read_text() == "synced by the proof"
        assert not (place / "proof-unsynced").exists()


def test_the_machine_s_own_file_system_does_not_fail(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a file system of its own"):
        OwnFileSystem.of(tmp_path)


def test_a_folder_of_files_has_no_ledger(tmp_path: Path) -> None:
    with open_server("files", {}, tmp_path) as server:
        server.start()
        step = job(server, "files", tmp_path, tmp_path / "scratch")
        with pytest.raises(UsageError, match="can't crash files"):
            GENERATOR.run(step)
