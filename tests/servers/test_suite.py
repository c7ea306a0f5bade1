"""Packages of the distribution's suites: known, checked, unpacked, run where they lie."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from kinds import KINDS

from dbdyno.cache import CACHE_VARIABLE
from dbdyno.errors import ServerError
from dbdyno.servers import Source, fetch, open_server, open_tool, parse_provision, parse_tool
from dbdyno.servers.sources import apt, debian
from dbdyno.servers.sources.suite import packages_of
from moving import fetch_or_skip
from traces import nothing_left

needs_apt = pytest.mark.skipif(not shutil.which("apt-get"), reason="SKIPPED: no apt-get here")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder with nothing in it."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("9.7.4-2", "9.7.4"),
        ("1:10.5.23-0+deb11u1", "10.5.23"),
        ("1:11.8.9+ds-4", "11.8.9"),
        ("19~rc1-1", "19~rc1"),
        ("9.10.0-1+b1", "9.10.0"),
        ("7:1.0", "1.0"),
    ],
)
def test_a_version_is_told_as_its_makers_write_it(version: str, expected: str) -> None:
    assert debian.upstream(version) == expected


def test_a_suite_s_own_lists_count_more_than_the_table(cache: Path) -> None:
    lists = cache / "debian-lists" / "sid"
    lists.mkdir(parents=True)
    (lists / "versions.json").write_text(json.dumps({"mysql-server-core": "9.8.1"}))

    assert [package.version for package in packages_of("mysql")] == ["9.8.1"]
    with pytest.raises(ServerError, match=r"the nearest there are: `mysql:9\.8\.1@sid`"):
        parse_provision("mysql:9.7.4")


def test_a_package_of_a_snapshot_is_left_alone(cache: Path) -> None:
    lists = cache / "debian-lists" / "sid"
    lists.mkdir(parents=True)
    (lists / "versions.json").write_text(json.dumps({"fio": "3.42~git20261101"}))

    assert "3.41" not in {package.version for package in packages_of("fio")}
    assert "3.42~git20261101" not in {package.version for package in packages_of("fio")}
    assert parse_tool("tool:fio@debian").version == "3.39"


def test_what_was_unpacked_can_be_had_when_its_suite_has_moved_on(cache: Path) -> None:
    lists = cache / "debian-lists" / "sid"
    lists.mkdir(parents=True)
    (lists / "versions.json").write_text(json.dumps({"mysql-server-core": "9.8.1"}))
    unpacked = cache / "debian" / "sid_mysql-server-core_9.7.4"
    unpacked.mkdir(parents=True)
    (unpacked / "manifest.json").write_text("{}")
    half = cache / "debian" / "sid_mysql-server-core_9.9.1.partial-x7"
    half.mkdir()
    (half / "manifest.json").write_text("{}")

    assert parse_provision("mysql:9.7.4").version == "9.7.4"
    assert parse_provision("mysql:9").version == "9.8.1"


def test_programs_run_with_their_own_loader_wherever_the_folder_lies(tmp_path: Path) -> None:
    root = tmp_path / "root"
    shell = Path("/bin/sh").resolve()
    needed = subprocess.run(["ldd", shell], capture_output=True, text=True, check=True).stdout
    libraries = [Path(word) for word in needed.split() if word.startswith("/")]
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    (root / "usr/lib64").mkdir()
    for library in libraries:
        folder = "usr/lib64" if library.name.startswith("ld-") else "usr/lib/x86_64-linux-gnu"
        shutil.copy(library, root / folder / library.name)
    program = root / "usr/bin/thing"
    shutil.copy(shell, program)
    (root / "usr/bin/other").symlink_to("thing")

    debian.wrap_programs(root)
    moved = root.rename(tmp_path / "elsewhere")

    for name in ("thing", "other"):
        told = subprocess.run(
            [moved / "usr/bin" / name, "-c", "cat /proc/$$/comm /proc/$$/maps"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        mapped = {line.split()[-1] for line in told[1:] if ".so" in line}
        assert told[0] == name
        assert mapped and all(path.startswith(str(moved)) for path in mapped)
    real = debian.real_program(moved / "usr/bin/thing")
    assert real.read_bytes() == shell.read_bytes()


@needs_apt
def test_a_suite_without_a_signature_is_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = tmp_path / "mirror" / "dists" / "trixie"
    packages = suite / "main" / f"binary-{machine()}" / "Packages"
    packages.parent.mkdir(parents=True)
    packages.write_text("")
    (suite / "Release").write_text("Suite: trixie\nComponents: main\n")
    monkeypatch.setenv(apt.MIRROR_VARIABLE, f"file:{tmp_path}/mirror")

    with pytest.raises(ServerError, match="not signed"):
        fetch("mariadb:11.8@trixie")
    assert not list((cache / "debian-lists" / "trixie").glob("versions.json"))


@needs_apt
def test_a_mirror_that_does_not_answer_is_told_as_such(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(apt.MIRROR_VARIABLE, "http://127.0.0.1:1/nothing")
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    with pytest.raises(ServerError, match="the registry can't be reached") as caught:
        fetch("mariadb:11.8@trixie")
    assert "dbdyno fetch" in (caught.value.hint or "")


@needs_apt
def test_a_version_that_is_not_known_is_asked_for(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(apt.MIRROR_VARIABLE, "http://127.0.0.1:1/nothing")
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    with pytest.raises(ServerError, match="there is no such mysql") as caught:
        fetch("mysql:99")
    assert "package lists of Debian sid: the registry can't be reached" in (caught.value.hint or "")
    with pytest.raises(ServerError, match="there is no such mysql") as caught:
        fetch("mysql:99@maven")
    assert "asked" not in (caught.value.hint or "")


def test_without_apt_it_is_said_what_is_missing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ServerError, match="need `apt-get` and `dpkg-deb`"):
        fetch("mariadb:11.8@trixie")


def test_lists_that_can_t_be_kept_are_told_with_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file" / "cache"))

    with pytest.raises(ServerError, match="lists of Debian trixie can't be kept in") as caught:
        fetch("mariadb:11.8@trixie")
    assert CACHE_VARIABLE in (caught.value.hint or "")


def machine() -> str:
    """As packages name it."""
    return subprocess.run(
        ["dpkg", "--print-architecture"], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def clean() -> Iterator[None]:
    """The test leaves the machine as it found it."""
    with nothing_left():
        yield


def start_and_ask(provision: str, settings: dict[str, str], folder: Path, statement: str) -> str:
    """The first value of a statement's first row."""
    kind = KINDS["postgresql" if provision.startswith("postgresql") else "mariadb"]
    with open_server(provision, settings, folder) as server:
        server.start()
        facts = server.facts()
        assert str(facts["verified_by"]).startswith("the suite's signed list")
        assert len(str(facts["program_sha256"])) == 64
        with kind.connect(server.entry.target()) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return str(cursor.fetchone()[0])


@pytest.mark.slow
@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("provision", ["postgresql:13@bullseye", "postgresql:17@trixie"])
def test_a_suite_s_postgresql_serves(provision: str, tmp_path: Path) -> None:
    version = start_and_ask(provision, {}, tmp_path, "SHOW server_version")

    assert version.startswith(str(parse_provision(provision).version))


@pytest.mark.slow
@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(
    "settings",
    [{"plugin_load_add": "ha_rocksdb"}, {"thread_handling": "pool-of-threads"}],
    ids=["MyRocks", "thread pool"],
)
@pytest.mark.parametrize("provision", ["mariadb:10.5@bullseye", "mariadb:11.8@trixie"])
def test_a_suite_s_mariadb_has_its_plugins(
    provision: str, settings: dict[str, str], tmp_path: Path
) -> None:
    if "plugin_load_add" in settings:
        statement = "SELECT SUPPORT FROM information_schema.ENGINES WHERE ENGINE = 'ROCKSDB'"
        expected = "YES"
    else:
        statement, expected = "SELECT @@thread_handling", "pool-of-threads"

    assert start_and_ask(provision, settings, tmp_path, statement) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("clean")
def test_mariadb_encrypts_with_a_key_file(tmp_path: Path) -> None:
    asked = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION"
    with TemporaryDirectory(dir="/var/tmp") as folder:  # Where the server's user can go.
        keys = Path(folder) / "keys"
        keys.write_text("1;" + "ab" * 32 + "\n")
        keys.parent.chmod(0o755)
        settings = {
            "plugin_load_add": "file_key_management",
            "file_key_management_filename": str(keys),
            "innodb_encrypt_tables": "FORCE",
            "innodb_encryption_threads": "1",
        }

        assert int(start_and_ask("mariadb:11.8@trixie", settings, tmp_path, asked)) > 0


@pytest.mark.slow
@pytest.mark.nightly  # Servers that CI must not need.
@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("provision", ["mysql@sid", "postgresql@sid", "mariadb@sid"])
def test_what_a_moving_suite_has_today_serves(provision: str, tmp_path: Path) -> None:
    fetch_or_skip(provision)
    assert parse_provision(provision).source is Source.DEBIAN

    version = start_and_ask(provision, {}, tmp_path, "SELECT version()")
    assert str(parse_provision(provision).version) in version


@pytest.mark.slow
@pytest.mark.usefixtures("clean")
def test_contents_are_compared_in_a_mysql_without_md5_of_its_own(tmp_path: Path) -> None:
    fetch_or_skip("mysql@sid")
    told = []
    for provision in ("mysql@sid", "mysql:5.6"):
        with open_server(provision, {}, tmp_path / provision) as server:
            server.start()
            with KINDS["mariadb"].connect(server.entry.target()) as connection:
                cursor = connection.cursor()
                cursor.execute("CREATE TABLE here (i INT PRIMARY KEY, t VARCHAR(9))")
                cursor.execute("INSERT INTO here VALUES (1, 'one'), (2, NULL)")
            told.append(server.database.contents("here", checksum=True))

    assert told[0] == told[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("tool:fio@trixie", ["--version"], "fio-3."),
        ("tool:pgbench:17@trixie", ["--version"], "pgbench (PostgreSQL) 17."),
        ("tool:rocksdb-tools@bookworm", ["--version"], "version 7.8.3"),
        ("tool:sysbench@trixie", ["--version"], "sysbench 1.0.20"),
    ],
)
def test_a_suite_s_tool_runs(text: str, arguments: list[str], said: str) -> None:
    tool = open_tool(text)
    told = subprocess.run([tool.path, *arguments], capture_output=True, text=True, check=True)

    assert said in told.stdout + told.stderr
    assert tool.facts["source"] == "debian"


@pytest.mark.slow
def test_the_installed_tool_is_taken_where_its_version_is_meant() -> None:
    assert open_tool("tool:sysbench").facts["source"] == "system"
    assert open_tool("tool:sysbench:1.0").facts["source"] == "system"
    assert open_tool("tool:sysbench:1.0@trixie").facts["source"] == "debian"
