"""The run spec: what `crates/record/src/spec.rs` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.formats.records import SCHEMA
from dbdyno.model import Load, Option

Spec = dict[str, object]


def run_spec(
    *,
    command: str,
    target: Mapping[str, object],
    script: Path,
    script_path: Sequence[Path],
    options: Mapping[str, Option],
    clients: int,
    seed: int,
    load: Load | None = None,
) -> Spec:
    """A spec of one group of clients. `load` is left out for commands other than `run`."""
    spec: Spec = {
        "schema": SCHEMA,
        "command": command,
        "target": dict(target),
        "groups": [
            {
                "script": str(script),
                "script_path": [str(folder) for folder in (script.parent, *script_path)],
                "options": dict(options),
                "clients": clients,
                "think_time_s": load.think_time_s if load else 0.0,
            }
        ],
        "seed": seed,
    }
    if load is not None:
        spec["warm_up_s"] = load.warm_up_s
        spec["measure_s"] = load.measure_s
        spec["events"] = load.events
        spec["interval_s"] = load.interval_s
    return spec
