"""Commands of README and of the guides, carried out as written; of those with servers only the
address is replaced, which sysbench's command lines leave out."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast
from urllib.request import urlopen

import pytest
from product import PYTHON, wait_until

from bench.place import Place
from bench.poolers import own_network, pooled
from dbdyno.engine import find_engine
from dbdyno.servers import open_server

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
TEXT = ROOT / "tests" / "bridges" / "outputs.py"
KEPT = ROOT / "tests" / "store" / "kept" / "schema-2" / "study"

LIMIT_S = 3600.0
"""Only what hangs is ended."""

ELSEWHERE: Mapping[str, str] = {
    "dbdyno check index.toml": "tests/whole/test_own_study.py",
    "dbdyno run index.toml": "tests/whole/test_own_study.py",
    "dbdyno doctor --places HEAD:6379": "tests/whole/test_load_hosts.py",
}
"""Command → the test that carries it out in these words, with the guide's files or address."""

STUDIES = (
    "dbdyno run postgresql-versions --blocks 2",
    "dbdyno run durability-and-versions --blocks 2",
    "dbdyno run docs/guides/application-developer/uuid-keys.toml",
)

CLONE = ("make quickstart", "make test")

WATCHED = ("dbdyno run quickstart", "dbdyno run quickstart &", "dbdyno serve")
WATCHED_BY = 'dbdyno note "vacuum started"'

LINK = 'ln -s "$(command -v dbdyno-engine)" ~/bin/sysbench'

MANY = GUIDES / "many-connections.md"

WITHOUT_SERVER = (
    "dbdyno doctor --clients 10000",
    "dbdyno history throughput postgresql-versions",
    "dbdyno check docs/guides/application-developer/uuid-keys.toml",
)
"""Beside all that only read or write files (`FILES`)."""

FILES = ("import", "report", "compare", "export", "publish", "gallery")

PGSQL, OLD = "postgresql:18.4", "postgresql@system"
MYSQL, REDIS, FERRETDB = "mariadb@system", "redis@system", "ferretdb:1.24"

ADDRESSES: Mapping[str, str] = {
    "postgresql://me@localhost/test": PGSQL,
    "postgresql://me@new/test": PGSQL,
    "postgresql://me@old/test": OLD,
    "mysql://me@127.0.0.1/test": MYSQL,
    "--mysql-socket=/run/mysqld/mysqld.sock": MYSQL,
    "redis://127.0.0.1:6379/0": REDIS,
    "valkey:///0?socket=/run/valkey/valkey.sock": REDIS,
    "redis://127.0.0.1/0": REDIS,
    "mongodb://127.0.0.1:27017/sbtest": FERRETDB,
    "mongodb://me@db.example/sbtest?authSource=admin&tls=true": FERRETDB,
    "--db-driver=pgsql": PGSQL,
    "…": MYSQL,
}
"""What documents call a server → what it is here."""

ON_FERRETDB: Mapping[str, str] = {
    "doc_oltp": "--option table_size=100",
    "ycsb": "--on-error 1=retry",
}
"""Script of documents → what FerretDB needs in a MongoDB's place: it reads the whole collection for
what is not found by `_id`, and says that its SQLite is locked where many write at once."""

MY_STUDY = """\
question = "What does a cache of 2 MB cost?"
primary = { metric = "throughput", better = "higher", smallest_effect = "5 %" }

[server.sqlite]
provision = "sqlite"

[factor.cache]
before = {}
after = { settings = { cache_size = "-2000" } }

[workload]
script = "oltp_point_select"
options = { tables = 1, table_size = 1_000 }

[load]
clients = 1
warm_up = "100 ms"
measure = "1 s"

[design]
blocks = 2
baseline = { cache = "before" }
"""
"""What a reader calls "my-study"."""

WORKLOADA = """\
recordcount=1000
operationcount=1000
workload=site.ycsb.workloads.CoreWorkload
readallfields=true
readproportion=0.5
updateproportion=0.5
scanproportion=0
insertproportion=0
requestdistribution=zipfian
"""
"""The properties of YCSB's file, which a reader has from there."""

SETTINGS = {MYSQL: {"max_connections": "10200", "back_log": "4096"}}


def commands(page: Path) -> list[str]:
    """Of all blocks that are of a shell, in their order, on one line and without remarks."""
    blocks = re.findall(
        r"^```(\w*)\n(.*?)^```\n", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    shells = "".join(text for language, text in blocks if language in ("", "sh"))
    lines = shells.replace("\\\n", " ").splitlines()
    plain = (" ".join(re.sub(r"\s# .*|\s{2,}#.*", "", line).split()) for line in lines)
    return [line for line in plain if re.match(r"(dbdyno|sysbench|make|ln) ", line)]


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "python" / "README.md", *sorted(GUIDES.glob("*.md"))]


def without_server(command: str) -> bool:
    return command in WITHOUT_SERVER or command.startswith(tuple(f"dbdyno {v} " for v in FILES))


def addressed(command: str) -> list[str]:
    """What of a command is replaced: addresses of servers."""
    return [word for word in ADDRESSES if word in shlex.split(command)]


def is_here(command: str) -> bool:
    """Whether a test of this file carries it out."""
    alone = (*STUDIES, *CLONE, *WATCHED, WATCHED_BY, *commands(MANY), LINK)
    return command in alone or without_server(command) or bool(addressed(command))


SERVERLESS = [page for page in pages() if any(map(without_server, commands(page)))]

SERVED = list(dict.fromkeys(c for page in pages() for c in commands(page) if addressed(c)))


def test_every_command_is_carried_out_somewhere() -> None:
    unknown = [
        f"{page.name}: {command}"
        for page in pages()
        for command in commands(page)
        if not (command in ELSEWHERE or is_here(command))
    ]
    assert unknown == [], "carry it out here, or name the test that does"
    assert len(SERVED) >= 12


def test_every_command_that_is_named_here_is_written() -> None:
    written = {command for page in pages() for command in commands(page)}
    named = {*ELSEWHERE, *WITHOUT_SERVER, *STUDIES, *CLONE, *WATCHED, WATCHED_BY, LINK}
    assert named - written == set()
    for command, place in ELSEWHERE.items():
        words = ", ".join(f'"{word}"' for word in shlex.split(command)[1:])
        assert words in (ROOT / place).read_text("utf-8")


def begin(command: str, folder: Path) -> subprocess.Popen[str]:
    """A line of a shell in `folder`."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    program = programs / "dbdyno"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dbdyno "$@"\n')
    program.chmod(0o755)
    engine = programs / "dbdyno-engine"
    if not engine.exists():
        engine.symlink_to(find_engine().path)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": PYTHON,
        "DBDYNO_PICTURES": "no",
    }
    return subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def carry_out(command: str, folder: Path) -> str:
    """Runs a line of a shell to its success; what it printed."""
    process = begin(command, folder)
    try:
        printed, _ = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
    assert process.returncode == 0, f"{command}\n{printed}"
    return printed


@pytest.mark.slow
@pytest.mark.parametrize("page", SERVERLESS, ids=lambda page: page.stem)
def test_commands_that_need_no_server(page: Path, tmp_path: Path) -> None:
    chosen = [command for command in commands(page) if without_server(command)]
    folder = tmp_path / "work"
    prepare(folder)
    for command in chosen:
        carry_out(command, folder)


def prepare(folder: Path) -> None:
    """What a reader has who comes to these lines: files of other tools, studies in two stores."""
    sys.path.insert(0, str(TEXT.parent))
    from outputs import SYSBENCH_1_0

    folder.mkdir()
    (folder / "docs").symlink_to(ROOT / "docs")
    for names, p95 in ((("old", "before-1", "before-2"), "2.0183"), (("new",), "1.9183")):
        for name in (*names, *(("after-1", "after-2") if names == ("new",) else ())):
            text = SYSBENCH_1_0.format(threads=2, errors=0).replace("2.0183", p95)
            (folder / f"{name}.txt").write_text(text)
    for name in ("quickstart", "postgresql-versions"):
        shutil.copytree(KEPT, folder / "results" / name)
    shutil.copytree(KEPT, folder.parent / "old-machine" / "results" / "quickstart")
    (folder / "my-study.toml").write_text(MY_STUDY)
    carry_out("dbdyno run my-study.toml", folder)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Mapping[str, Any]]]:
    """Address in a document → the target of its own server, started when first asked for."""
    with ExitStack() as stack:

        class Started(dict[str, Mapping[str, Any]]):
            def __missing__(self, word: str) -> Mapping[str, Any]:
                home, provision = tmp_path_factory.mktemp("server"), ADDRESSES[word]
                asked = SETTINGS.get(provision, {})
                tls = "tls=true" in word
                server = stack.enter_context(open_server(provision, asked, home, tls=tls))
                server.start()
                self[word] = server.entry.target("tcp" if provision == FERRETDB else None)
                return self[word]

        yield Started()


def address(word: str, target: Mapping[str, Any]) -> str:
    """The server's own, in the form that the document has."""
    (endpoint,) = cast("list[dict[str, Any]]", target["endpoints"])
    user, password = target.get("user", ""), target.get("password", "")
    database, socket = target.get("database", ""), endpoint.get("unix")
    words = {"user": user, "password": password, "db": database}
    if word.startswith("--mysql-socket") or word == "…":
        words["socket"] = socket
        return " ".join(f"--mysql-{name}={value}" for name, value in words.items())
    if word.startswith("--db-driver"):
        words["host"], _, words["port"] = str(socket).rpartition("/.s.PGSQL.")
        return " ".join([word, *(f"--pgsql-{name}={value}" for name, value in words.items())])
    scheme = word.partition(":")[0]
    if socket is None:
        place = "{host}:{port}".format(**endpoint["tcp"])
        _, _, parameters = word.partition("?")
        if "session" in target:
            name, source = target["session"][0]
            parameters = parameters or f"{name}={source}"
        return f"{scheme}://{user}:{password}@{place}/{database}?{parameters}".rstrip("?")
    if scheme == "postgresql":
        home, _, port = socket.rpartition("/.s.PGSQL.")
        return f"{scheme}://{user}:{password}@/{database}?host={home}&port={port}"
    return f"{scheme}://{user}:{password}@/{database or 0}?socket={socket}"


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("command", SERVED)
def test_commands_with_a_server(
    command: str, servers: dict[str, Mapping[str, Any]], tmp_path: Path
) -> None:
    line = command
    for word in addressed(command):
        name = address(word, servers[word])
        line = (
            line.replace(word, name)
            if word[0] in "-…"
            else line.replace(quoted(word, line), shlex.quote(name))
        )
    for script, more in ON_FERRETDB.items():
        if "mongodb://" in command and f"--script {script}" in command:
            line = f"{line} {more}"
    if "pgsql" in command:
        home = "export HOME=$PWD PATH=$PWD/bin:$PATH"
        carry_out(f"mkdir bin; {home}; {LINK}", tmp_path)
        line = f"{home}; {line}"
    if "sysbench" in command:
        carry_out(f"{line.partition(' run')[0]} prepare", tmp_path)
    if "keys" in command and "--prepare" not in command:
        carry_out(f"{line.partition(' --clients')[0]} --prepare --time 1s", tmp_path)
    (tmp_path / "workloada").write_text(WORKLOADA)
    carry_out(line, tmp_path)
    if (result := tmp_path / "before-1.txt").exists():
        assert "95th percentile" in result.read_text()


def quoted(word: str, line: str) -> str:
    """A word as the line has it."""
    return f"'{word}'" if f"'{word}'" in line else word


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("command", STUDIES)
def test_studies(command: str, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    printed = carry_out(command, tmp_path)
    assert (tmp_path / printed.split()[-1]).is_file(), printed


@pytest.mark.slow
@pytest.mark.nightly
def test_a_study_is_watched(tmp_path: Path) -> None:
    """All of the guide's block, in a network whose port nobody has."""
    with own_network(), ExitStack() as ended:
        running = ended.enter_context(begin("exec dbdyno run quickstart", tmp_path))
        ended.callback(running.terminate)
        wait_until("it runs", lambda: any(tmp_path.glob("results/quickstart/runs/*.partial")))
        serving = ended.enter_context(begin("exec dbdyno serve", tmp_path))
        ended.callback(serving.terminate)
        wait_until("it is shown", lambda: "quickstart" in shown("api/studies"))
        carry_out(WATCHED_BY, tmp_path)
        printed, _ = running.communicate(timeout=LIMIT_S)
        assert running.returncode == 0, printed
        assert "vacuum started" in shown("studies/quickstart")


def shown(path: str) -> str:
    """A page of `dbdyno serve`, at the address that it has by itself; empty until it answers."""
    try:
        with urlopen(f"http://127.0.0.1:7423/{path}") as page:
            return cast("bytes", page.read()).decode()
    except OSError:
        return ""


@pytest.mark.slow
@pytest.mark.nightly
def test_fifty_thousand_connections(tmp_path: Path) -> None:
    (command,) = commands(MANY)
    words = shlex.split(command)
    clients = int(words[words.index("--clients") + 1])
    with own_network(), open_server(PGSQL, {}, tmp_path / "server") as server:
        server.start()
        with pooled(server.entry.target(), clients, least=3) as target:
            words[2] = Place(find_engine(), tmp_path, target).url
            carry_out(shlex.join(words), tmp_path)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_new_clone(tmp_path: Path) -> None:
    """Built, measured and tested by nothing that is here already but the caches of packages."""
    carry_out(f"git clone --quiet {shlex.quote(str(ROOT))} clone", tmp_path)
    clean = "env -u DBDYNO_ENGINE -u PYTHONPATH -u MAKEFLAGS -u MAKELEVEL -u VIRTUAL_ENV"
    for command in CLONE:
        carry_out(f"cd clone && {clean} HOME={shlex.quote(os.environ['HOME'])} {command}", tmp_path)
