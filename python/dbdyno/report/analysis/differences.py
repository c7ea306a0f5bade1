"""What differs between two sides: server, settings, workload, load, host, dbdyno."""

from collections.abc import Callable, Iterator, Mapping
from statistics import median

from dbdyno.model import abilities
from dbdyno.report.analysis.load_parts import CLIENTS, differing_parts, load_of_levels
from dbdyno.report.analysis.side import HOST_FACTORS, WINDOW, Difference, Side
from dbdyno.report.material.imported import arrival_of, differing
from dbdyno.report.material.material import OF_A_RUN, RunMaterial
from dbdyno.report.material.script_files import brief_file


def one_study(a: Side, b: Side) -> bool:
    """Two stores may hold the same plan, carried out on two days: their blocks are no pairs."""
    plans = {run.manifest.plan for run in (*a.runs, *b.runs)}
    return a.home == b.home and len(plans) == 1


def differences(a: Side, b: Side) -> Iterator[Difference]:
    """All that is known to differ between two sides."""
    server_differs = host_differs = False
    for group, what, read in (
        ("server", "provision", lambda run: run.manifest.provision),
        ("server", "version", lambda run: run.manifest.versions.get("server") or "not recorded"),
        ("workload", "generator", lambda run: run.manifest.generator),
        ("workload", "script", lambda run: run.manifest.script),
        ("workload", "options", lambda run: _pairs(run.manifest.options)),
        ("settings", "asked for", lambda run: _pairs(run.manifest.settings)),
        ("dbdyno", "engine", lambda run: run.manifest.versions.get("engine", "?")),
        ("dbdyno", "schema", lambda run: run.manifest.versions.get("engine_schema", "?")),
        ("order", "driven in", lambda run: "turns" if run.turns else "one piece"),
        (HOST_FACTORS, "asked for", lambda run: _pairs(run.manifest.host)),
    ):
        ours, theirs = _values(a, read), _values(b, read)
        if ours != theirs:
            server_differs = server_differs or group == "server"
            host_differs = host_differs or group == HOST_FACTORS
            yield Difference(group, what, ours, theirs)
    ours, theirs = _values(a, _script_file), _values(b, _script_file)
    if ours and theirs and ours != theirs:
        yield Difference("workload", "script's file", ours, theirs)
    # What a study sets on its host is part of what is read of it.
    group = HOST_FACTORS if host_differs and one_study(a, b) else "host"
    ours, theirs = (_values(side, lambda run: run.manifest.environment_id) for side in (a, b))
    if ours != theirs:
        yield Difference(group, "environment", ours, theirs)
    in_turns = all(run.turns for run in (*a.runs, *b.runs))
    yield from _load_differences(a, b, in_turns=in_turns)
    for what, ours, theirs in (
        ("scale", a.study.scale, b.study.scale),
        (WINDOW, *(str(side.window or "all of it") for side in (a, b))),
    ):
        if ours != theirs:
            yield Difference(what, what, ours, theirs)
    # Another version has other defaults: these are the server's difference and not one besides.
    group = "server" if server_differs else "settings"
    asked = {name for run in (*a.runs, *b.runs) for name in run.manifest.settings}
    ours_set, theirs_set = _settings(a), _settings(b)
    for name in sorted(ours_set.keys() | theirs_set.keys()):
        before, after = ours_set.get(name, "–"), theirs_set.get(name, "–")
        if before != after:
            yield Difference("settings" if name in asked else group, name, before, after)


def imported_differences(a: Side, b: Side) -> Iterator[Difference]:
    """What both sides tell of the load, where one of them was imported or both were. Server,
    settings and host are told by neither; a name that only one tells is no difference."""
    for group, what, read in (
        ("workload", "generator", lambda run: run.manifest.generator),
        ("workload", "version", _version),
        ("workload", "script", lambda run: run.manifest.script),
    ):
        ours, theirs = _values(a, read), _values(b, read)
        if ours != theirs and ours and theirs:
            yield Difference(group, what, ours, theirs)
    described, others = _told(a), _told(b)
    drivers = [{run.manifest.generator for run in side.runs} for side in (a, b)]
    same_tool = drivers[0] == drivers[1] and not any(
        abilities(name).takes_every_key for name in drivers[0]
    )
    for name, ours, theirs in differing(described, others, same_tool=same_tool):
        yield Difference("load" if name in _OF_LOAD else "workload", name, ours, theirs)
    arrivals = [arrival_of(side.runs, is_open=side.study.is_open) for side in (a, b)]
    if arrivals[0] != arrivals[1] and "unknown" not in arrivals:
        yield Difference("load", "arrival", *arrivals)
    if not {_DURATION} <= described.keys() & others.keys():
        yield from _other_length(a, b)


_DURATION = "duration_s"
_OF_LOAD = (_DURATION, "rate_per_s", "target_per_s")
_ALIKE = 1.1


def _told(side: Side) -> dict[str, str]:
    """Options of its load; of what dbdyno has measured, the window's length is one."""
    options = [run.manifest.options for run in side.runs[:1]]
    found = {name: str(value) for option in options for name, value in option.items()}
    if side.study.load.measure_s is not None:
        found[_DURATION] = f"{side.study.load.measure_s:g}"
    return found


def _other_length(a: Side, b: Side) -> Iterator[Difference]:
    """Where a text does not say what ended the run: a number of events, if that is the same, or
    time."""
    ours, theirs = ([f.summary for p in side.points for f in p.counted] for side in (a, b))
    if not ours or not theirs or {load.events for load in ours} == {load.events for load in theirs}:
        return
    lengths = [median(load.window_s for load in side) for side in (ours, theirs)]
    if max(lengths) > _ALIKE * min(lengths):
        yield Difference("load", "window", *(f"{length:.3g} s" for length in lengths))


def _version(run: RunMaterial) -> str:
    """Of the tool; empty for the engine, which goes with dbdyno's."""
    return run.manifest.imported.version if run.manifest.imported else ""


def _script_file(run: RunMaterial) -> str:
    """Origin and digest; empty where an earlier version did not note them."""
    file = run.manifest.script_file
    return "" if file is None else brief_file(file)


def _values(side: Side, read: Callable[[RunMaterial], str]) -> str:
    return "; ".join(sorted({read(run) for run in side.runs}))


def _settings(side: Side) -> dict[str, str]:
    """Settings that are the same in all runs of a side; paths and ports belong to a run."""
    first, *others = [run.settings for run in side.runs] or [{}]
    return {
        name: value
        for name, value in first.items()
        if all(other.get(name) == value for other in others)
        and not OF_A_RUN.search(name)
        and "/" not in value
    }


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(values.items())) or "none"


def _load_differences(a: Side, b: Side, *, in_turns: bool) -> Iterator[Difference]:
    """Each part of the load that differs."""
    group = CLIENTS if a.study.load == b.study.load else "load"
    loads = [load_of_levels(side.study, side.levels) for side in (a, b)]
    for name, ours, theirs in differing_parts(*loads, in_turns=in_turns):
        yield Difference(group, name, ours, theirs)
