"""Commands of README and of the guides, as written: each is carried out here, or by the test that
is named for it. In those with servers only the address is replaced."""

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

import pytest
from product import PYTHON

from dbdyno.servers import open_server

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
TEXT = ROOT / "tests" / "bridges" / "outputs.py"
KEPT = ROOT / "tests" / "store" / "kept" / "schema-2" / "study"

LIMIT_S = 3600.0
"""Only what hangs is ended."""

ELSEWHERE: Mapping[str, str] = {
    "make quickstart": "tests/test_make.py",
    "make test": "tests/test_make.py",
    "dbdyno run postgresql-versions": "tests/whole/test_bundled_studies.py",
    "dbdyno run durability-and-versions": "tests/whole/test_bundled_studies.py",
    "dbdyno run quickstart": "tests/wheel/test_wheel.py",
    "dbdyno run index.toml": "tests/whole/test_own_study.py",
    "dbdyno check index.toml": "tests/whole/test_own_study.py",
    "dbdyno run docs/guides/application-developer/uuid-keys.toml": (
        "tests/whole/test_application_developer.py"
    ),
    "dbdyno serve": "tests/whole/test_watched.py",
    "dbdyno run quickstart &": "tests/whole/test_watched.py",
    'dbdyno note "vacuum started"': "tests/whole/test_watched.py",
    "dbdyno bench mongodb://127.0.0.1:27017/sbtest --script doc_oltp --prepare --clients 16"
    " --time 30s": "tests/workloads/test_documents.py",
    "dbdyno bench 'postgresql://app@127.0.0.1:6432,127.0.0.2:6432,127.0.0.3:6432/app'"
    " --script oltp_point_select --clients 50000 --statements text --warm-up 10s": (
        "tests/whole/test_many_connections.py"
    ),
    'ln -s "$(command -v dbdyno-engine)" ~/bin/sysbench': "tests/sysbench",
    "sysbench oltp_read_write --db-driver=pgsql --tables=4 --threads=16 --time=60"
    " --report-interval=1 run": "tests/sysbench",
    "sysbench oltp_read_only --threads=16 --time=60 --histogram=on … run > before-1.txt": (
        "tests/bridges/test_real_tools.py"
    ),
}
"""Command → where its like is carried out: at a smaller scale, or with other servers."""

NOWHERE: Mapping[str, str] = {
    "dbdyno bench 'mongodb://me@db.example/sbtest?authSource=admin&tls=true'"
    " --script ycsb --option file=workloada --prepare --clients 64 --time 1min": (
        "there is no MongoDB with users where dbdyno is tested"
    ),
}
"""Command → why it can't be carried out."""

WITHOUT_SERVER = (
    "dbdyno doctor --clients 10000",
    "dbdyno history throughput postgresql-versions",
    "dbdyno check docs/guides/application-developer/uuid-keys.toml",
)
"""Beside all that only read or write files (`FILES`)."""

FILES = ("import", "report", "compare", "export", "publish", "gallery")

PGSQL, OLD, MYSQL, REDIS = "postgresql:18.4", "postgresql@system", "mariadb@system", "redis@system"

ADDRESSES: Mapping[str, str] = {
    "postgresql://me@localhost/test": PGSQL,
    "postgresql://me@new/test": PGSQL,
    "postgresql://me@old/test": OLD,
    "mysql://me@127.0.0.1/test": MYSQL,
    "--mysql-socket=/run/mysqld/mysqld.sock": MYSQL,
    "redis://127.0.0.1:6379/0": REDIS,
    "valkey:///0?socket=/run/valkey/valkey.sock": REDIS,
    "redis://127.0.0.1/0": REDIS,
}
"""What documents call a server → what it is here."""

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


SERVERLESS = [page for page in pages() if any(map(without_server, commands(page)))]

SERVED = list(dict.fromkeys(c for page in pages() for c in commands(page) if addressed(c)))


def test_every_command_is_carried_out_somewhere() -> None:
    unknown = [
        f"{page.name}: {command}"
        for page in pages()
        for command in commands(page)
        if not (command in ELSEWHERE or command in NOWHERE)
        and not (without_server(command) or addressed(command))
    ]
    assert unknown == [], "carry it out here, or name the test that does"
    assert len(SERVED) >= 8


def test_no_command_is_excused_that_is_written_nowhere() -> None:
    written = {command for page in pages() for command in commands(page)}
    assert {*ELSEWHERE, *NOWHERE, *WITHOUT_SERVER} - written == set()
    assert [place for place in ELSEWHERE.values() if not (ROOT / place).exists()] == []


def carry_out(command: str, folder: Path) -> str:
    """Runs a line of a shell in `folder`; its standard output and error, and its success."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    program = programs / "dbdyno"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dbdyno "$@"\n')
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": PYTHON,
        "DBDYNO_PICTURES": "no",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


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
                server = stack.enter_context(open_server(provision, asked, home))
                server.start()
                self[word] = server.entry.target()
                return self[word]

        yield Started()


def address(word: str, target: Mapping[str, Any]) -> str:
    """The server's own, in the form that the document has."""
    (endpoint,) = cast("list[dict[str, Any]]", target["endpoints"])
    user, password = target.get("user", ""), target.get("password", "")
    database, socket = target.get("database", ""), endpoint.get("unix")
    if word.startswith("--mysql-socket"):
        words = {"socket": socket, "user": user, "password": password, "db": database}
        return " ".join(f"--mysql-{name}={value}" for name, value in words.items())
    scheme = word.partition(":")[0]
    if socket is None:
        place = "{host}:{port}".format(**endpoint["tcp"])
        return f"{scheme}://{user}:{password}@{place}/{database}"
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
    words = shlex.split(command)
    for word in addressed(command):
        at = words.index(word)
        words[at : at + 1] = shlex.split(shlex.quote(address(word, servers[word])))
        if word.startswith("--mysql"):
            words[at : at + 1] = words[at].split()
    if "sysbench" in words:
        carry_out(shlex.join([*words[:-1], "prepare"]), tmp_path)
    if "keys" in words and "--prepare" not in words:
        carry_out(
            shlex.join([*words[:3], "--script", "keys", "--prepare", "--time", "1s"]), tmp_path
        )
    carry_out(shlex.join(words), tmp_path)
