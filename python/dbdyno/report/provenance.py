"""Where the numbers come from: facts, settings, command lines, seeds, versions."""

from collections.abc import Iterable, Mapping

from dbdyno.formats.stored_study import ONE_CALL
from dbdyno.report.analyse import Analysis, label
from dbdyno.report.table import Column, Table


def host_facts(analysis: Analysis) -> Table:
    """Facts of the first run's host and server, and what later runs had otherwise."""
    runs = analysis.material.runs
    flat = [dict(_flat(run.facts)) for run in runs]
    pairs: list[tuple[str, str]] = []
    for name in sorted({name for facts in flat for name in facts}):
        values = list(dict.fromkeys(facts[name] for facts in flat if name in facts))
        shown = values[0] if len(values) == 1 else f"{len(values)} values: {'; '.join(values[:6])}"
        pairs.append((name, shown))
    return _facts("facts", "Host and server facts", pairs)


def _flat(value: object, prefix: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(value, list):
        yield prefix, ", ".join(str(item) for item in value)
    elif value is not None:
        yield prefix, str(value)


def settings_that_differ(analysis: Analysis) -> Table:
    """Effective server settings that are not the same in every cell."""
    by_cell: dict[str, Mapping[str, str]] = {}
    for run in analysis.material.runs:
        by_cell.setdefault(label(run.manifest.cell, analysis.varying), run.settings)
    names = [label(cell.levels, analysis.varying) for cell in analysis.cells]
    labels = [name for name in names if name in by_cell]
    settings_names = sorted({name for settings in by_cell.values() for name in settings})
    rows = []
    for name in settings_names:
        values = tuple(str(by_cell[label].get(name, "–")) for label in labels)
        if len(set(values)) > 1:
            rows.append((name, *values))
    columns = (Column("Setting", "setting"), *(Column(label, label) for label in labels))
    title = "Effective settings that differ between cells"
    return Table("settings", title, columns, tuple(rows))


def versions(analysis: Analysis) -> Table:
    """Versions of everything that took part, with all values seen."""
    seen: dict[str, list[str]] = {}
    for run in analysis.material.runs:
        for name, value in run.manifest.versions.items():
            if value not in seen.setdefault(name, []):
                seen[name].append(str(value))
    pairs = [(name, ", ".join(values)) for name, values in seen.items()]
    return _facts("versions", "Versions", pairs)


def seeds(analysis: Analysis) -> Table:
    """The seeds everything random was derived from."""
    plan = analysis.material.plan
    data = sorted({run.data_seed for run in plan.runs})
    pairs = [
        ("study", str(plan.seed)),
        ("data", ", ".join(str(seed) for seed in data)),
        ("plan's fingerprint", plan.fingerprint),
    ]
    return _facts("seeds", "Seeds", pairs)


def _facts(name: str, title: str, pairs: Iterable[tuple[str, str]]) -> Table:
    return Table(name, title, (Column("Fact", "fact"), Column("Value", "value")), tuple(pairs))


def command_lines(analysis: Analysis) -> tuple[str, ...]:
    """Exact command lines, each once, in order."""
    lines = (line for run in analysis.material.runs for line in run.manifest.command_lines)
    return tuple(dict.fromkeys(lines))


def rerun_lines(analysis: Analysis) -> tuple[str, ...]:
    """What to type to run the study again."""
    study = analysis.material.study
    if study.text.startswith(ONE_CALL):
        return (study.text.removeprefix("# ").strip(),)
    return (
        f"# save the study below as {study.name}.toml",
        f"dbdyno check {study.name}.toml --scale {study.scale}",
        f"dbdyno run {study.name}.toml --scale {study.scale} --seed {analysis.material.plan.seed}",
    )
