"""New data folders, made once and copied."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from kinds import connect_mysql as connect

from dbdyno.errors import ServerError
from dbdyno.guard import sweep
from dbdyno.servers import InitialData, open_server
from dbdyno.servers import initial_data as module
from traces import nothing_left


class Maker:
    """Stands for a server's program that makes a data folder."""

    def __init__(self, folder: Path, size: int = 3) -> None:
        self.folder = folder
        self.size = size
        self.times = 0

    def __call__(self) -> None:
        self.times += 1
        (self.folder / "below").mkdir(parents=True, mode=0o700)
        (self.folder / "below" / "page").write_bytes(b"p" * self.size)
        (self.folder / "own").write_text(str(self.times))


@pytest.fixture
def initial(tmp_path: Path) -> Iterator[InitialData]:
    with InitialData(tmp_path) as initial:
        yield initial
    assert not list(tmp_path.glob(f"{sweep.FOLDER_PREFIX}*")), "kept folders are removed"


def provide(initial: InitialData, make: Maker, made_with: str) -> Path:
    initial.provide(made_with, make.folder, make, account=None, without=("own",))
    return make.folder


def test_it_is_made_once_for_each_program_and_its_settings(
    initial: InitialData, tmp_path: Path
) -> None:
    makers = [Maker(tmp_path / str(number)) for number in range(3)]
    for make, made_with in zip(makers, ("one", "one", "other"), strict=True):
        folder = provide(initial, make, made_with)
        assert (folder / "below" / "page").read_bytes() == b"ppp"
        assert (folder / "below").stat().st_mode & 0o777 == 0o700
        assert not (folder / "own").exists(), "the first has a copy, too"

    assert [make.times for make in makers] == [1, 0, 1]


def test_a_large_one_is_made_each_time(
    initial: InitialData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LARGEST_BYTES", 10)
    makers = [Maker(tmp_path / str(number), size=11) for number in range(2)]
    for make in makers:
        folder = provide(initial, make, "one")
        assert (folder / "own").read_text() == "1"

    assert [make.times for make in makers] == [1, 1]


def test_what_can_t_be_copied_is_told(initial: InitialData, tmp_path: Path) -> None:
    provide(initial, Maker(tmp_path / "first"), "one")
    with pytest.raises(ServerError, match=r"could not copy a new data folder: .*No such file"):
        provide(initial, Maker(tmp_path / "absent" / "second"), "one")


@pytest.mark.slow
@pytest.mark.parametrize("provision", ["mysql:5.6.14@maven", "mariadb:11.4.5@maven"])
def test_servers_with_a_copy_are_as_any_other(provision: str, tmp_path: Path) -> None:
    ids: set[str] = set()
    with nothing_left(), InitialData(tmp_path) as initial:
        for number, settings in enumerate(({}, {}, {"innodb_log_file_size": "8M"})):
            logs = tmp_path / str(number)
            with open_server(provision, settings, logs, initial=initial) as server:
                server.start()
                with (
                    connect(server.entry.target("tcp")) as connection,
                    connection.cursor() as cursor,
                ):
                    cursor.execute("CREATE TABLE kept (id INT PRIMARY KEY)")
                    cursor.execute("SHOW VARIABLES LIKE 'server_uuid'")
                    ids.update(row[1] for row in cursor.fetchall())
                    cursor.execute("SELECT @@innodb_log_file_size")
                    assert (cursor.fetchone() == (8 << 20,)) == bool(settings)
    assert len(ids) == (3 if provision.startswith("mysql") else 0), "MariaDB has no UUID"


@pytest.mark.slow
@pytest.mark.parametrize("provision", ["postgresql:18.0.0@maven", "postgresql:9.6.24@maven"])
def test_postgresql_with_a_copy_has_its_own_password(provision: str, tmp_path: Path) -> None:
    passwords: list[str] = []
    with nothing_left(), InitialData(tmp_path) as initial:
        for number, settings in enumerate(({}, {"log_statement": "all"})):
            logs = tmp_path / str(number)
            with open_server(provision, settings, logs, initial=initial) as server:
                server.start()
                target = server.entry.target("tcp")
                (endpoint,) = cast("Any", target["endpoints"])
                to = {"user": str(target["user"]), **endpoint["tcp"]}
                passwords.append(str(target["password"]))
                with psycopg.connect(dbname="postgres", password=passwords[-1], **to) as session:
                    session.execute("CREATE TABLE kept (id int PRIMARY KEY)")
                if number:
                    with pytest.raises(psycopg.OperationalError, match="password"):
                        psycopg.connect(dbname="postgres", password=passwords[0], **to)
    assert len(set(passwords)) == 2
    log = "".join(path.read_text() for path in tmp_path.glob("1/**/*") if path.is_file())
    assert "ALTER ROLE" in log and not any(password in log for password in passwords)
