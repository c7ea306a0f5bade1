"""Options of databases, seen from the server: who connects to what, how, and what goes over."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from both import Forwarder, answer, options

from dbdyno.engine import find_engine
from dbdyno.servers import Server, open_server

pytestmark = pytest.mark.slow

ASK = """
function thread_init(tid)
  con = sysbench.sql.driver():connect()
  print("> client " .. tid .. " " .. table.concat({con:query_row([[%s]])}, " ") .. ".")
end
function event() end
"""
PREPARES = """
function thread_init()
  con = sysbench.sql.driver():connect()
  con:prepare("SELECT 1"):execute()
  print("> " .. table.concat({con:query_row("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'")}, " "))
end
function event() end
"""
TWICE = """
function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS twice")
  con:query("CREATE TABLE twice (id INTEGER PRIMARY KEY)")
end
function event()
  tries = (tries or 0) + 1
  con:query(("INSERT INTO twice VALUES (%d)"):format(tries == 2 and 1 or tries))
end
"""
PLAIN = ASK % "SELECT 1"


@dataclass(frozen=True, slots=True)
class Effect:
    """An option as it is given, after those that name the server, and what it shows."""

    option: str
    shows: str
    script: str
    code: int = 0
    also: str = ""


def status(name: str) -> str:
    """A script that prints what the server says of each client's own session."""
    return ASK % f"SHOW SESSION STATUS LIKE '{name}'"


WHO = ASK % "SELECT CONCAT_WS(' ', SUBSTRING_INDEX(CURRENT_USER(), '@', 1), DATABASE())"
PORT = ASK % "SELECT @@port"
SOCKET = ASK % "SELECT @@socket"
TLS = ASK % "SELECT ssl, version, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
NAMES = ASK % "SELECT concat_ws(' ', session_user, current_database())"
LOCAL = ASK % "SELECT coalesce(inet_client_addr()::text, 'local')"

EFFECTS = {
    "mysql-port": Effect("--mysql-port={port},{other_port}", r"> client \d {other_port}\.", PORT),
    "mysql-host": Effect("--mysql-host={nobody}", "FATAL: .*{nobody}", PLAIN, code=1),
    "mysql-socket": Effect(
        "--mysql-socket={socket},{other_socket} --mysql-password=",
        r"> client \d {other_socket}\.",
        SOCKET,
    ),
    "mysql-user": Effect("--mysql-user=other", r" other sbtest\.", WHO),
    "mysql-password": Effect("--mysql-password=wrong", "FATAL: .*Access denied", WHO, code=1),
    "mysql-db": Effect("--mysql-db=second", r" dbdyno second\.", WHO),
    "mysql-ssl": Effect("--mysql-ssl=required", "Ssl_cipher TLS_", status("Ssl_cipher")),
    "mysql-ssl-ca": Effect(
        "--mysql-ssl-ca={ca}", "Ssl_cipher TLS_", status("Ssl_cipher"), also="--mysql-ssl=verify_ca"
    ),
    "mysql-ssl-cert": Effect(
        "--mysql-ssl-cert={certificate} --mysql-ssl-key={key}",
        r" certified sbtest\.",
        WHO,
        also="--mysql-ssl=required --mysql-user=certified",
    ),
    "mysql-ssl-key": Effect(
        "--mysql-ssl-key={missing}",
        "FATAL: (.|\n)*missing",
        WHO,
        code=1,
        also="--mysql-ssl=required --mysql-ssl-cert={certificate}",
    ),
    "mysql-ssl-cipher": Effect(
        "--mysql-ssl-cipher=TLS_CHACHA20_POLY1305_SHA256",
        "Ssl_cipher TLS_CHACHA20_POLY1305_SHA256",
        status("Ssl_cipher"),
        also="--mysql-ssl=required",
    ),
    "mysql-compression": Effect("--mysql-compression", "Compression ON", status("Compression")),
    "mysql-compression-algorithms": Effect(
        "--mysql-compression-algorithms=uncompressed",
        "Compression OFF",
        status("Compression"),
        also="--mysql-compression",
    ),
    "mysql-ignore-errors": Effect("--mysql-ignore-errors=1062", r"number of events: +4\n", TWICE),
    "db-ps-mode": Effect("--db-ps-mode=disable", "Com_stmt_prepare 0", PREPARES),
    "pgsql-host": Effect("--pgsql-host={sockets}", r"client \d local\.", LOCAL),
    "pgsql-port": Effect("--pgsql-port={closed}", "FATAL: .*{closed}", PLAIN, code=1),
    "pgsql-user": Effect("--pgsql-user=other", r" other sbtest\.", NAMES),
    "pgsql-password": Effect(
        "--pgsql-password=wrong", "FATAL: .*password authentication failed", NAMES, code=1
    ),
    "pgsql-db": Effect("--pgsql-db=second", r" dbdyno second\.", NAMES),
    "pgsql-sslmode": Effect("--pgsql-sslmode=disable", r"client 0 f\.", TLS),
    "pgsql-ignore-errors": Effect(
        "--pgsql-ignore-errors=40001", "FATAL: .*duplicate key", TWICE, code=1
    ),
}
"""By the option's name. `{…}` are facts of the servers."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Options that name each kind's server, and facts that options of tests name."""

    mysql: tuple[str, ...]
    pgsql: tuple[str, ...]
    facts: dict[str, Any]
    others: dict[str, Forwarder]

    def run(self, kind: str, script: str, given: str, folder: Path) -> tuple[str, int]:
        """What two clients of a script answer."""
        (folder / "script.lua").write_text(script)
        target = self.mysql if kind == "mysql" else self.pgsql
        words = given.format(**self.facts).split()
        fixed = ["--threads=2", "--time=0", "--events=4", "script.lua", "run"]
        if script is TWICE:
            fixed[0] = "--threads=1"
        command = (str(find_engine().path), "sysbench", *target, *words, *fixed)
        done = answer(*command, folder=folder)
        return done.output + done.errors, done.code


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, check=True)


def certificates(folder: Path) -> None:
    """An authority, and what it has signed for the server and for a client."""
    request = ("req", "-newkey", "rsa:2048", "-nodes", "-days", "30")
    subject = ("-x509", "-subj", "/CN=authority")
    openssl(folder, *request, *subject, "-keyout", "ca.key", "-out", "ca.pem")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name in ("server", "client"):
        asked = ("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.req")
        openssl(folder, *request[:4], *asked)
        signer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30")
        openssl(
            folder, "x509", "-req", "-in", f"{name}.req", *signer,
            "-extfile", "names", "-out", f"{name}.pem",
        )  # fmt: skip
    if os.geteuid() == 0:
        shutil.chown(folder / "server.key", os.environ.get("DBDYNO_SERVER_USER", "nobody"))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where servers, who are somebody else, may read."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        certificates(Path(name))
        yield Path(name)


MARIADB = (
    "CREATE USER other@'127.0.0.1' IDENTIFIED BY '{password}'",
    "GRANT ALL ON *.* TO other@'127.0.0.1'",
    "CREATE USER certified@'127.0.0.1' IDENTIFIED BY '{password}' REQUIRE X509",
    "GRANT ALL ON *.* TO certified@'127.0.0.1'",
    "CREATE DATABASE second",
)
POSTGRESQL = (
    "CREATE ROLE other LOGIN SUPERUSER PASSWORD '{password}'",
    "CREATE DATABASE second",
)


def administer(kind: str, target: Any, statements: tuple[str, ...], folder: Path) -> None:
    """Statements, by a script's `prepare`."""
    password = target["password"]
    lines = "".join(f"  con:query([[{text.format(password=password)}]])\n" for text in statements)
    script = folder / f"{kind}.lua"
    script.write_text(f"function prepare()\n  con = sysbench.sql.driver():connect()\n{lines}end\n")
    command = [str(find_engine().path), "sysbench", *options(target), str(script), "prepare"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def unix_socket(server: Server) -> str:
    target: Any = server.entry.target("unix")
    return str(target["endpoints"][0]["unix"])


@pytest.fixture(scope="module")
def servers(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    places = [tmp_path_factory.mktemp(name) for name in ("mysql", "another", "pgsql")]
    tls = {f"ssl_{what}": str(folder / file) for what, file in FILES.items()}
    pg_tls = {"ssl": "on"} | {f"{name}_file": path for name, path in tls.items()}
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(open_server("mariadb@system", tls, places[0]))
        second = stack.enter_context(open_server("mariadb@system", {}, places[1]))
        third = stack.enter_context(open_server("postgresql:15@system", pg_tls, places[2]))
        for server in (first, second, third):
            server.start()
        targets: list[Any] = [each.entry.target("tcp") for each in (first, second, third)]
        mysql, another, pgsql = targets
        administer("mysql", mysql, MARIADB, folder)
        administer("pgsql", pgsql, POSTGRESQL, folder)
        # The second server knows the first one's password.
        account = "ALTER USER dbdyno@'127.0.0.1' IDENTIFIED BY '{password}'"
        text = account.format(password=mysql["password"])
        administer("another", another, (text,), folder)
        ports = [each["endpoints"][0]["tcp"]["port"] for each in targets]
        sockets = [unix_socket(each) for each in (first, second)]
        forwarders = (Forwarder("127.0.0.2", ("127.0.0.1", ports[place])) for place in (0, 2))
        others = [stack.enter_context(forwarder) for forwarder in forwarders]
        local = unix_socket(third)
        facts = {
            "nobody": "127.0.0.9", "sockets": Path(local).parent, "port": ports[0],
            "other_port": ports[1], "closed": 1,
            "socket": sockets[0], "other_socket": sockets[1], "ca": folder / "ca.pem",
            "certificate": folder / "client.pem", "key": folder / "client.key",
            "missing": folder / "missing",
        }  # fmt: skip
        named = dict(zip(("mysql", "pgsql"), others, strict=True))
        yield Servers(options(mysql), options(pgsql), facts, named)


FILES = {"ca": "ca.pem", "cert": "server.pem", "key": "server.key"}


@pytest.mark.parametrize("name", EFFECTS)
def test_an_option_does_what_it_says(name: str, servers: Servers, tmp_path: Path) -> None:
    effect = EFFECTS[name]
    kind = "pgsql" if name.startswith("pgsql") else "mysql"
    shows = effect.shows
    for fact, value in servers.facts.items():
        shows = shows.replace(f"{{{fact}}}", re.escape(str(value)))

    text, code = servers.run(kind, effect.script, f"{effect.also} {effect.option}", tmp_path)
    without, _ = servers.run(kind, effect.script, effect.also, tmp_path)

    assert re.search(shows, text, re.DOTALL if "(" in shows else 0), text
    assert code == effect.code, text
    assert not re.search(shows, without), without


@pytest.mark.parametrize("kind", ["mysql", "pgsql"])
def test_connections_are_spread_over_hosts(kind: str, servers: Servers, tmp_path: Path) -> None:
    other = servers.others[kind]
    before = other.connections

    text, code = servers.run(kind, PLAIN, f"--{kind}-host=127.0.0.1,{other.address}", tmp_path)

    assert code == 0, text
    assert other.connections - before == 1, "one of two clients"


@pytest.mark.parametrize("mode", ["prefer", "require", "verify-ca", "verify-full"])
def test_postgresql_is_asked_for_encryption(mode: str, servers: Servers, tmp_path: Path) -> None:
    text, code = servers.run("pgsql", TLS, f"--pgsql-sslmode={mode}", tmp_path)

    if mode.startswith("verify"):
        assert code == 1, text
        assert f"FATAL: --pgsql-sslmode={mode} needs a file of trusted authorities" in text
    else:
        assert code == 0, text
        assert re.search(r"client 0 t TLSv1\.[23] ", text), text


@pytest.mark.parametrize("mode", ["require", "verify-ca", "verify-full"])
@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "stranger"])
def test_the_certificate_is_checked_as_the_client_library_does(
    mode: str,
    trusted: bool,
    servers: Servers,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority = "ca.pem" if trusted else "client.pem"
    monkeypatch.setenv("PGSSLROOTCERT", str(folder / authority))
    monkeypatch.setenv("PGSSLMODE", mode)
    (tmp_path / "script.lua").write_text(TLS)
    events = ["--time=0", "--events=1", "script.lua", "run"]

    answers = {}
    for program in (["sysbench"], [str(find_engine().path), "sysbench"]):
        done = answer(*program, *servers.pgsql, *events, folder=tmp_path)
        answers[program[0]] = done.code, "client 0 t TLSv1." in done.output.replace("\t", " ")

    assert list(answers.values()) == [(0, True) if trusted else (1, False)] * 2


def test_the_certificate_must_name_the_host(
    servers: Servers, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSSLROOTCERT", str(folder / "ca.pem"))
    # The certificate is for 127.0.0.1, and the same server listens at 127.0.0.2 as well.
    other = f"--pgsql-host={servers.others['pgsql'].address}"

    named, code = servers.run("pgsql", TLS, f"--pgsql-sslmode=verify-full {other}", tmp_path)
    assert code == 1, named
    assert "another host" in named
    signed, code = servers.run("pgsql", TLS, f"--pgsql-sslmode=verify-ca {other}", tmp_path)
    assert code == 0, signed


def test_a_switch_takes_the_files_of_the_working_folder(
    servers: Servers, folder: Path, tmp_path: Path
) -> None:
    for here, there in (("cacert", "ca"), ("client-cert", "client")):
        shutil.copy(folder / f"{there}.pem", tmp_path / f"{here}.pem")
    shutil.copy(folder / "client.key", tmp_path / "client-key.pem")
    (tmp_path / "script.lua").write_text(WHO)
    given = ["--mysql-ssl=on", "--mysql-user=certified", "--time=0", "--events=1"]

    for program in (["sysbench"], [str(find_engine().path), "sysbench"]):
        done = answer(*program, *servers.mysql, *given, "script.lua", "run", folder=tmp_path)
        assert done.code == 0, done.output + done.errors
        assert " certified sbtest." in done.output, done.output
