"""Every option of both versions does what it says, or says why it does not.

The list is sysbench's own help and ours, which has those of 1.1 too: an option that is missing here
fails the walk. Each runs with the option and without: what it is to show must be there, and not be
there without. Options of databases stand in `test_databases.py`, those of the built-in tests in
`test_builtin.py`.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from both import answer, option_names
from test_databases import EFFECTS as OF_DATABASES

from dbdyno.engine import find_engine

pytestmark = pytest.mark.slow

PLAIN = "function event() end"
CLIENTS = 'function thread_init(tid) print("> client " .. tid) end function event() end'
SLOW = 'ffi.cdef("int sleep(int);") function event() ffi.C.sleep(5) end'
SLOW_START = 'ffi.cdef("int sleep(int);") function thread_init() ffi.C.sleep(5) end ' + PLAIN
COMPILED = 'function event() print("> compiled " .. tostring((jit.status()))) end'
SQL = """
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
"""
FAILING = """
function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY)")
  con:query("DELETE FROM t")
end
sysbench.hooks = { sql_error_ignorable = function() return true end }
function event(tid)
  tries = (tries or 0) + 1
  con:query(("INSERT INTO t VALUES (%d)"):format(tries <= 2 and 1 or tries))
end
"""
RANDOM = """
function event()
  local count, sum, squares = 20000, 0, 0
  for i = 1, count do
    local value = sysbench.rand.%s(1, 1000)
    sum, squares = sum + value, squares + value * value
  end
  local mean = sum / count
  local spread = math.sqrt(squares / count - mean * mean)
  print(("> mean %%.0f spread %%.0f hundreds"):format(mean / 100, spread / 100))
end
"""
DRAWS = """
function event()
  io.write("> ")
  for i = 1, 20 do io.write(sysbench.rand.uniform(1, 1000), " ") end
  io.write("\\n")
end
"""
THREADS = """
function event() print(io.open("/proc/self/status"):read("*a"):match("Threads:%s+%d+")) end
"""
FEW = "--events=4 --time=0"
SEEDED = f"{FEW} --rand-seed=1"
PACED = "--events=40 --time=0 --rand-seed=1"
SQLITE = f"{FEW} --db-driver=sqlite --sqlite-path=a.db"


@dataclass(frozen=True, slots=True)
class Effect:
    """An option as it is given, and what it shows."""

    option: str
    shows: str
    script: str = PLAIN
    also: str = FEW
    code: int = 0
    file: str = ""


EFFECTS = (
    Effect("--threads=3", "> client 2\n", CLIENTS),
    Effect("--num-threads=3", "--num-threads is deprecated(.|\n)*> client 2\n", CLIENTS),
    Effect("--events=7", r"number of events: +7\n"),
    Effect("--max-requests=7", r"number of events: +7\n"),
    Effect("--time=2 --events=0", r"total time: +[2-9]\."),
    Effect("--max-time=2 --events=0", r"total time: +[2-9]\."),
    Effect("--warmup-time=1", "Warming up for 1 seconds"),
    Effect("--forced-shutdown=1", "limit has expired, forcing", SLOW, "--time=1", code=2),
    Effect("--thread-stack-size=128K", "--thread-stack-size has no effect: "),
    Effect("--thread-init-timeout=1", "initialize within 1 seconds!", SLOW_START, code=2),
    Effect("--rate=20", r"total time: +[1-9]\.", also=PACED),
    Effect("--tx-rate=20", r"total time: +[1-9]\.", also=PACED),
    Effect("--rate-queue=20", "event queue is full", SLOW, "--rate=90 --time=2", code=1),
    Effect("--report-interval=1", r"\[ \ds \] thds: 1 eps: ", also="--time=2"),
    Effect("--report-checkpoints=1", r"\[ \ds \] Checkpoint report:", also="--time=2"),
    Effect("--debug", "Verbose per-thread statistics"),
    Effect("--help", "Usage:\n"),
    Effect("--version", r"sysbench [\d.]+\n\Z"),
    Effect("--config-file=five.cnf", r"number of events: +5\n"),
    Effect("--luajit-cmd=off", "> compiled false", COMPILED),
    Effect("--test=cpu", "CPU speed:\n", script=""),
    Effect("--rand-type=pareto", "> mean 1 ", RANDOM % "default", SEEDED),
    Effect("--rand-pareto-h=0.5", "> mean 5 ", RANDOM % "pareto", SEEDED),
    Effect("--rand-zipfian-exp=0", "> mean 5 ", RANDOM % "zipfian", SEEDED),
    Effect("--rand-spec-iter=1", "spread 3 ", RANDOM % "gaussian", SEEDED),
    Effect("--rand-spec-pct=100", "> mean 6 spread 2 ", RANDOM % "special", SEEDED),
    Effect("--rand-spec-res=0", "spread 1 ", RANDOM % "special", SEEDED),
    Effect("--verbosity=0", r"\A\Z"),
    Effect("--percentile=50", "50th percentile:"),
    Effect("--histogram", "Latency histogram"),
    Effect("--db-driver=null", "transactions: +4 ", SQL, also=f"{FEW} --mysql-port=1"),
    Effect("--db-debug", r"Query execution statistics:\n.*min: +0\.\d+s", SQL, SQLITE),
    Effect("--mysql-dry-run", "transactions: +4 ", SQL, also=f"{FEW} --mysql-port=1"),
    Effect("--mysql-debug", "--mysql-debug is not supported: ", code=1),
    Effect("--compat=1.1", r"events/s \(eps\):"),
    Effect(
        "--sqlite-path=b.db", "SQLite format 3", FAILING, f"{FEW} --db-driver=sqlite", file="b.db"
    ),
    Effect("--statement-latency", r"Statement latency \(ms\):\n +read: ", SQL, SQLITE),
    Effect("--error-codes", r"errors by code:\n +\d+: +\d", FAILING, SQLITE),
    Effect("--json=a.json", '"version": ?1', file="a.json"),
    Effect("--hlog=a.hlog", "Tag=", file="a.hlog"),
)
ELSEWHERE = {
    "rand-seed": "test_a_seed_repeats_what_is_drawn",
    "seed": "test_a_seed_repeats_what_is_drawn",
    "shards": "test_shards_are_threads",
    "prometheus": "test_figures_are_served_while_the_load_runs",
    "loaders": "test_bundled.py: inserts as sysbench sends them",
    "validate": "test_builtin.py: damage is found",
}


def run(effect: Effect, option: str, folder: Path) -> tuple[str, int]:
    """Everything a command answers, the named file's text behind it."""
    (folder / "five.cnf").write_text("# so many\nevents=5\n")
    (folder / "script.lua").write_text(effect.script)
    script = ["script.lua"] if effect.script else []
    given = (*effect.also.split(), *option.split(), *script)
    done = answer(str(find_engine().path), "sysbench", *given, "run", folder=folder)
    file = folder / effect.file
    text = file.read_text(errors="replace") if effect.file and file.exists() else ""
    return done.output + done.errors + text, done.code


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: effect.option)
def test_an_option_does_what_it_says(effect: Effect, tmp_path: Path) -> None:
    (tmp_path / "without").mkdir()
    # Side by side: most of them wait.
    with ThreadPoolExecutor() as both:
        other = both.submit(run, effect, "", tmp_path / "without")
        text, code = run(effect, effect.option, tmp_path)
    without, _ = other.result()

    assert re.search(effect.shows, text), text
    assert code == effect.code, text
    assert not re.search(effect.shows, without), without


def test_no_option_is_forgotten() -> None:
    listed = option_names("sysbench", "--help") | option_names(
        str(find_engine().path), "sysbench", "--help"
    )
    tried = {effect.option.removeprefix("--").split("=")[0] for effect in EFFECTS}

    assert tried | set(ELSEWHERE) | set(OF_DATABASES) == listed
    assert {
        name for name in ELSEWHERE.values() if name.startswith("test_") and ":" not in name
    } <= {*globals()}


@pytest.mark.parametrize("name", ["rand-seed", "seed"])
def test_a_seed_repeats_what_is_drawn(name: str, tmp_path: Path) -> None:
    effect = Effect(f"--{name}=7", "", DRAWS)

    draws = [
        re.findall("> .*", run(effect, option, tmp_path)[0])
        for option in (effect.option, effect.option, f"--{name}=8", "")
    ]

    assert len(draws[0]) == 4
    assert draws[0] == draws[1]
    assert draws[0] != draws[2]
    assert draws[0] != draws[3]


def test_shards_are_threads(tmp_path: Path) -> None:
    effect = Effect("", "", THREADS, f"{FEW} --threads=4")

    threads = []
    for shards in (1, 2, 4):
        text, code = run(effect, f"--shards={shards}", tmp_path)
        found = re.search(r"Threads:\s+(\d+)", text)
        assert code == 0 and found, text
        threads.append(int(found[1]) - shards)

    assert len(set(threads)) == 1, threads


def test_figures_are_served_while_the_load_runs(tmp_path: Path) -> None:
    (tmp_path / "plain.lua").write_text(PLAIN)
    # Of loopback's addresses one that nobody else uses, so that nobody takes the port meanwhile.
    own = os.getpid() % 2**22
    with socket.socket() as free:
        free.bind((f"127.{64 + (own >> 16)}.{own >> 8 & 255}.{own & 255}", 0))
        address = "{}:{}".format(*free.getsockname())
    options = ["--time=0", "--report-interval=1", f"--prometheus={address}"]
    command = [str(find_engine().path), "sysbench", "plain.lua", *options, "run"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as load:
        assert load.stdout is not None
        for line in load.stdout:
            if re.match(r"\[ \d+s \]", line):
                break
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        load.terminate()
        load.communicate()

    assert re.search(r"^sysbench_events_total [1-9]", text, re.MULTILINE), text


def test_a_file_of_options_and_the_script_may_both_come_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "load.cnf").write_text("threads = 3\nevents=6\n# time=9\ntime=0\n")
    given = ("--config-file=load.cnf", "--events=9", "-", "run")
    done = answer(str(find_engine().path), "sysbench", *given, folder=tmp_path, text=CLIENTS)

    assert done.code == 0, done.output + done.errors
    assert "> client 2\n" in done.output
    assert "total number of events:              9\n" in done.output
