"""`python -m bench`: measures the rows asked for and writes what was found."""

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.child import run_child
from bench.conduct import Measured, measure_row
from bench.judge import judge
from bench.options import Options, read_options
from bench.page import write_page
from bench.place import pgbench_program
from bench.rows import chosen_rows
from dbdyno import collect
from dbdyno.engine import Engine, find_engine
from dbdyno.errors import LabError

_SCHEMA = 1


def main() -> int:
    """Returns the exit code: 0, or that of the error."""
    try:
        options = read_options()
        rows = chosen_rows(options.rows)
        engine = find_engine()
        facts = _facts(engine)
        measured = [measure_row(row, engine, options) for row in rows]
    except LabError as error:
        hint = f"\n\nhint: {error.hint}" if error.hint else ""
        sys.stderr.write(f"error: {error.message}{hint}\n")
        return error.exit_code
    options.folder.mkdir(parents=True, exist_ok=True)
    document = json.dumps(_results(measured, facts, options), indent=1)
    (options.folder / "results.json").write_text(document + "\n")
    write_page(options.folder, measured, facts, options)
    sys.stderr.write(f"written: {options.folder / 'README.md'}\n")
    return 0


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


def _version(said: str) -> str:
    found = re.search(r"\d+(\.\d+)+", said)
    return found[0] if found else said.strip()


def _results(
    measured: Sequence[Measured], facts: Mapping[str, Any], options: Options
) -> Mapping[str, Any]:
    return {
        "schema": _SCHEMA,
        "written_unix_s": time.time(),
        "options": {**asdict(options), "folder": None},
        "facts": facts,
        "rows": [
            {
                "name": row.row.name,
                "server": row.server,
                "measurements": [asdict(one) for one in row.measurements],
                "budgets": [asdict(one) for one in judge(row)],
            }
            for row in measured
        ],
    }


raise SystemExit(main())
