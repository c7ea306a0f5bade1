"""A script of somebody's own for an application's tables, run as its author runs it under sysbench:
its statements as texts in lists, its options, a user of its own, no end but Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest
from both import answer

from driven import Driven, open_driven

pytestmark = pytest.mark.slow

# Numbers go beyond the rows there are, as they may where somebody wrote down how large his own
# tables were.
SCRIPT = """
if sysbench.cmdline.command == nil then
  error("say what to do: run")
end

sysbench.cmdline.options = {
  point_selects = {"Reads that take a number", 5},
  skip_trx = {"Leave out BEGIN and COMMIT", false}
}

local whole = {
  "SELECT COUNT(*) FROM imdb.title"
}

local numbered = {
  "SELECT * FROM imdb.users ORDER BY RAND() LIMIT 1",
  "SELECT AVG(rating) mean, MAX(rating) best FROM imdb.movie_ratings WHERE movie_id = %d",
  "SELECT * FROM imdb.comments ORDER BY id DESC LIMIT 10",
  "SELECT * FROM imdb.title WHERE id = %d"
}

local lettered = {
  "SELECT * FROM imdb.title WHERE title LIKE '%s%%' ORDER BY title"
}

local writes = {
  "INSERT INTO imdb.users (email_address, first_name, last_name) VALUES ('%s', '%s', '%s')",
  "INSERT INTO imdb.page_views (type, viewed_id, user_id) VALUES ('%s', %d, %d)"
}

local pages = { "character", "actor", "movie" }

function thread_init()
  driver = sysbench.sql.driver()
  session = driver:connect()
end

function thread_done()
  session:disconnect()
end

function letters(before, count)
  return sysbench.rand.string(before .. string.rep("@", count))
end

function visit()
  for _, text in ipairs(whole) do
    session:query(text)
  end
  for turn = 1, sysbench.opt.point_selects do
    local text = numbered[math.random(#numbered)]
    session:query(string.format(text, sysbench.rand.pareto(1, 3000000)))
  end
  for _, text in ipairs(lettered) do
    session:query(string.format(text, letters("", sysbench.rand.special(2, 15))))
  end
end

function join()
  local account = letters("", sysbench.rand.uniform(5, 10))
  local host = letters("", sysbench.rand.uniform(5, 10))
  local given = letters("given-", sysbench.rand.special(2, 15))
  local family = letters("family-", sysbench.rand.special(2, 15))
  session:query(string.format(writes[1], account .. "@" .. host .. ".com", given, family))
  session:query(string.format(writes[2], pages[math.random(#pages)],
    sysbench.rand.special(2, 500000), sysbench.rand.special(2, 500000)))
end

function event()
  if not sysbench.opt.skip_trx then
    session:query("BEGIN")
  end
  visit()
  join()
  if not sysbench.opt.skip_trx then
    session:query("COMMIT")
  end
end
"""
SIZE = {"titles": 500, "users": 300}
SECOND = re.compile(
    r"\[ \d+s \] thds: 1 tps: [\d.]+ qps: [\d.]+ \(r/w/o: [\d.]+/[\d.]+/[\d.]+\) "
    r"lat \(ms,95%\): [\d.]+ err/s: 0\.00 reconn/s: 0\.00"
)
OURS = (sys.executable, "-m", "dbdyno", "sysbench")


@dataclass(frozen=True, slots=True)
class Site:
    """The tables, and how their user reaches them."""

    driven: Driven
    account: Sequence[str]
    folder: Path

    def grown(self) -> int:
        """Users and their page views since the tables were made: as many of both."""
        counted = "SELECT COUNT(*) FROM imdb.users|SELECT COUNT(*) FROM imdb.page_views"
        (users,), (views,) = self.driven.rows(counted)
        assert int(users) - SIZE["users"] == int(views)
        return int(views)


@pytest.fixture(scope="module", params=["mysql:5.6.14@maven", "mariadb@system"])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "site.lua").write_text(SCRIPT)
    with open_driven(request.param, folder) as driven:
        assert driven.call("imdb_like", "prepare", **SIZE).complaint == ""
        target: Any = driven.server.entry.target("tcp")
        at = target["endpoints"][0]["tcp"]
        owner = {"user": target["user"], "password": target["password"]}
        with closing(pymysql.connect(**at, **owner)) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE USER imdb IDENTIFIED BY 'imdb'")
            cursor.execute("GRANT ALL ON imdb.* TO imdb")
        account = [f"--mysql-{name}=imdb" for name in ("user", "password", "db")]
        place = [f"--mysql-host={at['host']}", f"--mysql-port={at['port']}"]
        yield Site(driven, [*account, *place], folder)


@pytest.mark.parametrize(
    ("options", "reads", "others"),
    [((), 7, 2), (("--point-selects=2", "--skip-trx"), 4, 0)],
    ids=["as it is", "its options"],
)
@pytest.mark.parametrize("command", [("sysbench",), OURS], ids=["theirs", "ours"])
def test_either_command_runs_it(
    command: Sequence[str], options: Sequence[str], reads: int, others: int, site: Site
) -> None:
    before = site.grown()
    load = (*site.account, *options, "--events=50", "--time=0", "run")
    finished = answer(*command, "site.lua", *load, folder=site.folder)

    assert finished.code == 0, finished.output + finished.errors
    assert "FATAL" not in finished.output
    counts = re.findall(r"^ +(read|write|other): +(\d+)$", finished.output, re.MULTILINE)
    found = {name: int(count) for name, count in counts}
    assert found == {"read": 50 * reads, "write": 50 * 2, "other": 50 * others}
    assert site.grown() - before == 50


def test_it_goes_on_until_ctrl_c_and_tells_every_second(site: Site) -> None:
    before = site.grown()
    endless = (*site.account, "--report-interval=1", "--events=0", "--time=0", "run")
    with subprocess.Popen(
        [*OURS, "site.lua", *endless], cwd=site.folder, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said, seconds = "", 0
        while seconds < 2 and (line := process.stdout.readline()):
            said += line
            seconds += SECOND.fullmatch(line.rstrip("\n")) is not None
        process.send_signal(signal.SIGINT)
        said += process.stdout.read()

    assert process.returncode == 130, said
    assert seconds == 2, said
    assert "WARNING: Both event and time limits are disabled, running an endless test" in said
    (events,) = re.findall(r"^ +transactions: +(\d+) ", said, re.MULTILINE)
    assert int(events) == site.grown() - before > 0
    assert re.search(r"^ +ignored errors: +0 ", said, re.MULTILINE)
