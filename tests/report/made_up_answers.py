"""Studies whose truth is known, one a case, for the table of first answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from made_up_runs import World, write_study

from dbdyno.model import PlannedRun, RunStatus, Step
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.material.gather import gather

Levels = Mapping[str, str]


@dataclass(frozen=True)
class Case:
    """Factors with their levels, and how many events a second each cell has."""

    factors: Mapping[str, tuple[str, ...]]
    rate: Callable[[Levels, int], float]
    """Events per second of a cell at a number of clients."""
    noise: float = 0.01
    """By which blocks differ, alternately for candidate and baseline."""
    shifted: str = ""
    """A factor at each of whose levels other blocks are the high ones, so that a mean over them has
    less noise; empty: none."""
    clients: tuple[int, ...] = (4,)
    blocks: int = 3
    baseline: Levels = field(default_factory=dict)
    primary: str = 'metric = "throughput", better = "higher", smallest_effect = "5 %"'
    measure: int = 4
    """Seconds of the window."""
    lines: str = ""
    """Further lines of the study."""
    failed: tuple[str, ...] = ()
    """Labels of cells whose runs all fail."""
    cut: tuple[str, ...] = ()
    """Labels of cells whose runs are all cut short within the window."""
    failed_blocks: tuple[str, ...] = ()
    """Ids of runs that fail."""
    levels: tuple[str, ...] = ()
    """Those of the first factor that are run; empty: all."""
    outcomes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Level of the first factor → what became of its events."""


def text_of(case: Case) -> str:
    parts = ['question = "Which is it?"', f"primary = {{ {case.primary} }}", case.lines]
    parts += ["[server]", 'sqlite = { provision = "sqlite" }']
    for place, (name, levels) in enumerate(case.factors.items()):
        parts.append(f"[factor.{name}]")
        parts += [
            f'"{level}" = {{ settings = {{ s{place} = {number} }} }}'
            for number, level in enumerate(levels)
        ]
    parts += ["[workload]", 'script = "kv_update"', "[load]", f"clients = {list(case.clients)}"]
    parts += [
        'warm_up = "1 s"',
        f'measure = "{case.measure} s"',
        "[design]",
        f"blocks = {case.blocks}",
    ]
    if case.levels:
        parts.append(f"levels = {{ {next(iter(case.factors))} = {list(case.levels)} }}")
    if case.baseline:
        named = ", ".join(f'{name} = "{level}"' for name, level in case.baseline.items())
        parts.append(f"baseline = {{ {named} }}")
    return "\n".join(parts) + "\n"


def analysed(folder: Path, case: Case) -> Analysis:
    """The case carried out and analysed."""

    def rate(run: PlannedRun, step: Step, second: int) -> float:
        side = all(run.cell.levels.get(n) == level for n, level in case.baseline.items())
        levels = case.factors.get(case.shifted, ())
        shift = levels.index(run.cell.levels[case.shifted]) if levels else 0
        swing = case.noise * (1, -1, 0.5)[(run.block + shift) % 3] * (1 if side else -1)
        return case.rate(run.cell.levels, step.clients) * (1 + swing)

    def outcomes(run: PlannedRun) -> Mapping[str, int]:
        first = next(iter(case.factors))
        return case.outcomes[run.cell.levels[first]]

    status: dict[str, RunStatus] = dict.fromkeys(case.failed_blocks, "failed")
    for label in case.failed:
        status |= {f"b{block}-{label}": "failed" for block in range(1, case.blocks + 1)}
    for label in case.cut:
        status |= {f"b{block}-{label}": "interrupted" for block in range(1, case.blocks + 1)}
    world = World(rate, status=status, outcomes=outcomes if case.outcomes else None)
    return analyse(gather(write_study(folder, text_of(case), world), "study"))
