"""Our client cost beside other tools': the same statement on the same table of the same server.

Each repeat measures every tool once, in turn, so that a drift of the machine meets all alike.
Writes bench/README.md and prints it.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from dbdyno.servers import open_server

PAGE = Path(__file__).parent / "README.md"
SERVER = "postgresql@system"
ROWS = 100_000
CLIENTS = 16
REPEATS = 5
SECONDS = 10

STATEMENT = f"\\set id random(1, {ROWS})\nSELECT c FROM sbtest1 WHERE id = :id;\n"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server listens, and whose programs go with it."""

    folder: Path
    port: str
    user: str
    database: str

    @property
    def url(self) -> str:
        """The address for `dbdyno bench`."""
        return f"postgresql://{self.user}@/{self.database}?host={self.folder}&port={self.port}"


@dataclass(frozen=True, slots=True)
class Cost:
    """One tool in one repeat."""

    statements_per_s: float
    client_cpu_us_per_statement: float


def dbdyno(place: Place) -> Cost:
    """The lab's own verb, with its own account of CPU."""
    load = ("--clients", str(CLIENTS), "--warm-up", "1s", "--time", f"{SECONDS}s", "--json")
    measured = json.loads(bench(place, *load))
    return Cost(measured["statements_per_s"], measured["client_cpu_us_per_statement"])


def bench(place: Place, *arguments: str) -> str:
    """What `dbdyno bench` prints about point selects."""
    program = Path(sys.executable).with_name("dbdyno")
    script = ("--script", "oltp_point_select", "--option", f"table_size={ROWS}")
    command = [program, "bench", place.url, *script, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def pgbench(place: Place) -> Cost:
    """PostgreSQL's own tool, with the same statement, prepared."""
    load = ("-M", "prepared", "-c", str(CLIENTS), "-j", "1", "-T", str(SECONDS), "-n", "-f", "-")
    session = ("-h", place.folder, "-p", place.port, "-U", place.user, place.database)
    program = max(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))
    text, cpu_s = timed(program, *load, *session, typed=STATEMENT)
    statements = found(r"actually processed: (\d+)", text)
    return Cost(found(r"tps = ([\d.]+)", text), cpu_s / statements * 1e6)


def sysbench(place: Place) -> Cost:
    """The tool whose scripts we run."""
    load = (f"--threads={CLIENTS}", f"--time={SECONDS}", f"--table-size={ROWS}", "--tables=1")
    address = (f"--pgsql-host={place.folder}", f"--pgsql-port={place.port}")
    session = (f"--pgsql-user={place.user}", f"--pgsql-db={place.database}", "--db-driver=pgsql")
    text, cpu_s = timed("sysbench", "oltp_point_select", *load, *address, *session, "run")
    statements = found(r"queries: +(\d+)", text)
    return Cost(found(r"queries: +\d+ +\(([\d.]+) per", text), cpu_s / statements * 1e6)


def timed(*command: str | Path, typed: str = "") -> tuple[str, float]:
    """What the command prints when `typed` is its input, and the CPU seconds it took."""
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as script:
        script.write(typed)
        script.seek(0)
        process = subprocess.Popen(command, stdin=script, stdout=printed, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        printed.seek(0)
        text = printed.read()
    if status:
        raise SystemExit(f"error: {' '.join(map(str, command))} failed:\n{text}")
    return text, usage.ru_utime + usage.ru_stime


def found(pattern: str, text: str) -> float:
    """The number the pattern finds."""
    match = re.search(pattern, text)
    if match is None:
        raise SystemExit(f"error: no `{pattern}` in\n{text}")
    return float(match[1])


TOOLS: Mapping[str, Callable[[Place], Cost]] = {
    "dbdyno": dbdyno,
    "pgbench": pgbench,
    "sysbench": sysbench,
}


def measured() -> dict[str, list[Cost]]:
    """Every tool's costs on one server of ours, repeat by repeat."""
    costs: dict[str, list[Cost]] = {tool: [] for tool in TOOLS}
    with (
        tempfile.TemporaryDirectory() as folder,
        open_server(SERVER, {"max_connections": "200"}, Path(folder)) as server,
    ):
        server.start()
        place = place_of(server.target())
        bench(place, "--prepare", "--clients", "1", "--warm-up", "0s", "--time", "1s", "--json")
        for repeat in range(REPEATS):
            for tool, measure in TOOLS.items():
                sys.stderr.write(f"repeat {repeat + 1} of {REPEATS}: {tool}\n")
                costs[tool].append(measure(place))
    return costs


def place_of(target: Mapping[str, object]) -> Place:
    """The run spec's target as the other tools want to hear it."""
    document = json.loads(json.dumps(target))
    socket = Path(document["endpoints"][0]["unix"])
    port = socket.name.rpartition(".")[2]
    return Place(socket.parent, port, document["user"], document["database"])


def page(costs: Mapping[str, list[Cost]]) -> str:
    """The table, with median and range."""
    rows = [
        f"| {tool} | {spread([c.client_cpu_us_per_statement for c in all_of], '.1f')} "
        f"| {spread([c.statements_per_s for c in all_of], '.0f')} |"
        for tool, all_of in costs.items()
    ]
    facts = f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, {cpu_model()}"
    return "\n".join(
        (
            "# What a statement costs the client",
            "",
            f"Written by `make bench`: point selects, prepared, {CLIENTS} clients, {ROWS} rows, "
            f"{SERVER} over its Unix socket on the same machine ({facts}). Median of {REPEATS} "
            f"interleaved repeats of {SECONDS} s, smallest and largest in brackets.",
            "",
            "| tool | client CPU, µs per statement | statements/s |",
            "|---|---|---|",
            *rows,
            "",
        )
    )


def spread(values: list[float], form: str) -> str:
    """Median, smallest and largest."""
    return f"{median(values):{form}} [{min(values):{form}} – {max(values):{form}}]"


def cpu_model() -> str:
    """The processor's name."""
    return re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[0]


def main() -> None:
    """Measures, writes the page, prints it."""
    text = page(measured())
    PAGE.write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
