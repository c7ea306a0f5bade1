"""`python -m bench.service`: measures every cell round after round and writes what was found.

`more` adds rounds to those there are; `page` writes README.md anew from results.json.
"""

import datetime
import os
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.ending import exit_code
from bench.options import number
from bench.service.cells import CELLS, Cell
from bench.service.judge import Round
from bench.service.measure import build_proxy, figures, see
from bench.service.page import write_page
from bench.service.results import Results, read_results, write_results
from bench.service.served import served
from dbdyno import collect
from dbdyno.engine import find_engine
from dbdyno.errors import UsageError


def main(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> None:
    """Measures, if so asked, and writes the page."""
    if arguments not in ([], ["more"], ["page"]):
        raise UsageError(f"`{' '.join(arguments)}`: expected nothing, `more` or `page`")
    folder = Path(environment.get("BENCH_FOLDER", Path(__file__).parent))
    count = int(number(environment, "SERVICE_ROUNDS", 10))
    statements = int(number(environment, "SERVICE_STATEMENTS", 20_000))
    before = read_results(folder) if arguments else None
    results = before
    if arguments != ["page"]:
        found = _measure(count, statements)
        results = before.then(found) if before else found
        write_results(folder, results)
    assert results is not None, "they were read or measured"
    write_page(folder, results)
    sys.stderr.write(f"written: {folder / 'README.md'}\n")


def _measure(count: int, statements: int) -> Results:
    """Each round holds every cell once, in a random order."""
    engine, host = find_engine(), collect.host_facts()
    rounds: dict[Cell, list[Round]] = {cell: [] for cell in CELLS}
    started = []
    with served() as (target, version), TemporaryDirectory(prefix="dbdyno-bench-") as name:
        program = build_proxy(Path(name))
        for number in range(count):
            started.append(datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
            for cell in random.Random(started[-1]).sample(CELLS, len(CELLS)):
                found = figures(see(engine, program, target, cell, statements))
                rounds[cell].append(found)
                sending = f"{found['sending_least_us']:.2f} to {found['sending_most_us']:.2f}"
                sys.stderr.write(
                    f"round {number + 1} of {count}: {cell}: {found['service_us']:.1f} µs, "
                    f"sending {sending} µs\n"
                )
    facts = {
        "host": host,
        "environment": collect.environment_id(host),
        "engine": engine.version,
        "server": version,
        "statements": statements,
    }
    return Results(facts, started, rounds)


if __name__ == "__main__":
    raise SystemExit(exit_code(lambda: main(sys.argv[1:])))
