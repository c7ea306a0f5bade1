"""Builds run specs, which `crates/record/src/spec.rs` reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from dbdyno.engine.script import find_script
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.model import MAIN, Arrival, ErrorPolicy, Group, Load, Option, Poisson

Spec = dict[str, object]

_WHOLE = ("warm_up_s", "measure_s", "events")
"""Fields that set the length of a whole run."""


def run_spec(
    *,
    command: str,
    target: Mapping[str, object],
    script: Path,
    script_path: Sequence[Path],
    options: Mapping[str, Option],
    clients: int,
    seed: int,
    loaders: int | None = None,
    load: Load | None = None,
    scripts: Mapping[str, Path] | None = None,
    entries: Mapping[str, Mapping[str, object]] | None = None,
) -> Spec:
    """A spec with `clients` and the load's other groups.

    `load` is omitted for commands other than `run`, `loaders` for `run`; `scripts` are files found
    before, by name; `entries` are targets of groups that have their own, by the group's name.
    Raises `ScriptError` for a group's script that can't be found.
    """
    main: Spec = {
        "name": MAIN,
        "script": str(script),
        "script_path": [str(folder) for folder in (script.parent, *script_path)],
        "options": _options(options),
        "clients": clients,
    }
    spec: Spec = {
        "schema": SCHEMA,
        "command": command,
        "target": dict(target),
        "groups": [main],
        "seed": seed,
        "loaders": loaders,
    }
    if load is None:
        return spec
    main |= _pace(load)
    spec["target"] = _asked_as(load, target)
    groups = [main]
    for group in load.groups:
        groups.append(_group(group, main, script_path, scripts or {}))
        if own := (entries or {}).get(group.name):
            groups[-1]["target"] = _asked_as(load, own)
    return spec | {
        "groups": groups,
        "warm_up_s": load.warm_up_s,
        "measure_s": load.measure_s,
        "events": load.events,
        "interval_s": load.interval_s,
        "reactor": load.reactor,
        "scheduling": load.scheduling,
        "bind": load.bind,
        "shards": load.shards,
        "errors": _errors(load.errors),
    }


def _asked_as(load: Load, target: Mapping[str, object]) -> Spec:
    """A target with how statements are sent to it."""
    is_text = not load.prepared_statements and "endpoints" in target
    return {**target, **({"prepared_statements": False} if is_text else {})}


def in_turns(spec: Mapping[str, object], reconnect: int) -> Spec:
    """The same load in turns, which have their own lengths; clients reconnect in every Nth of them,
    N = `reconnect` (0: never)."""
    groups = spec["groups"]
    assert isinstance(groups, list)
    return {name: value for name, value in spec.items() if name not in _WHOLE} | {
        "turns": True,
        "groups": [{**group, "reconnect_every_turns": reconnect} for group in groups],
    }


def at_rate(spec: Mapping[str, object], rate_per_s: float, seed: int) -> Spec:
    """The same run with a Poisson arrival rate and another seed."""
    groups = spec["groups"]
    assert isinstance(groups, list)
    main, *others = groups
    arrival = _arrival(Poisson(rate_per_s))
    return {**spec, "seed": seed, "groups": [{**main, "arrival": arrival}, *others]}


def _group(
    group: Group, main: Spec, script_path: Sequence[Path], scripts: Mapping[str, Path]
) -> Spec:
    """The workload's script gets its options; another script only its own."""
    spec = {**main, "name": group.name, "clients": group.clients, "idle": group.idle}
    if group.script is None:
        own = main["options"]
        assert isinstance(own, dict)
        spec["options"] = {**own, **_options(group.options)}
    else:
        script = scripts.get(group.script) or find_script(group.script, script_path)
        spec["script"] = str(script)
        spec["script_path"] = [str(folder) for folder in (script.parent, *script_path)]
        spec["options"] = _options(group.options)
    return spec | _pace(group)


def _options(options: Mapping[str, Option]) -> Spec:
    """As JSON carries them; a number that it would alter or can't hold, as its text."""
    return {name: value if _is_carried(value) else str(value) for name, value in options.items()}


def _is_carried(value: Option) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**64


def _pace(load: Load | Group) -> Spec:
    return {
        "arrival": _arrival(load.arrival),
        "think_time_s": load.think_time_s,
        "reconnect_every": load.reconnect_every,
    }


def _arrival(arrival: Arrival) -> Spec:
    values = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in asdict(arrival).items()
    }
    return {"kind": arrival.kind, **values}


def _errors(policy: ErrorPolicy) -> Spec:
    return {
        "rules": [asdict(rule) for rule in policy.rules],
        "reconnect_s": policy.reconnect_s,
        "back_off_ms": round(policy.back_off_s * 1000),
    }
