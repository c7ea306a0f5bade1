"""`python -m bench`: measures the rows asked for and writes what was found.

`python -m bench page` writes README.md anew from results.json.
"""

import datetime
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.child import run_child
from bench.conduct import measure_row
from bench.ending import exit_code
from bench.options import Options, read_options
from bench.page import write_page
from bench.place import pgbench_program
from bench.results import Run, read_results, write_results
from bench.rows import chosen_rows
from dbdyno import collect
from dbdyno.engine import Engine, find_engine
from dbdyno.errors import UsageError


def main(arguments: Sequence[str]) -> None:
    """Measures, if so asked, and writes the page."""
    if arguments not in ([], ["page"]):
        raise UsageError(f"`{' '.join(arguments)}`: expected nothing, or `page`")
    options = read_options()
    if not arguments:
        _measure(options)
    write_page(options.folder, read_results(options.folder))
    sys.stderr.write(f"written: {options.folder / 'README.md'}\n")


def _measure(options: Options) -> None:
    """Every row is kept as soon as it is measured: a later one may fail."""
    rows = chosen_rows(options.rows, options.scripts)
    engine = find_engine()
    options.folder.mkdir(parents=True, exist_ok=True)
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    asked = {name: value for name, value in asdict(options).items() if name != "folder"}
    run = Run(started, asked, _facts(engine))
    for row in rows:
        measured = measure_row(row, engine, options)
        results = read_results(options.folder).with_run(run, [measured])
        write_results(options.folder, results)


def _facts(engine: Engine) -> Mapping[str, Any]:
    host = collect.host_facts()
    calls: Mapping[str, Sequence[str | Path]] = {
        "sysbench": ["sysbench", "--version"],
        "pgbench": [pgbench_program(), "--version"],
    }
    versions = {name: _version(run_child(call).output) for name, call in calls.items()}
    return {
        "host": host,
        "environment": collect.environment_id(host),
        "red_flags": [asdict(flag) for flag in collect.red_flags(host)],
        "versions": {"dbdyno-engine": engine.version, **versions},
    }


def _version(output: str) -> str:
    found = re.search(r"\d+(\.\d+)+", output)
    return found[0] if found else output.strip()


raise SystemExit(exit_code(lambda: main(sys.argv[1:])))
