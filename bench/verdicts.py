"""`python -m bench.verdicts STORE STUDY`: how often verdicts are false, by a study of a server
against itself that was run for hours (`studies/against-itself.toml`).

Consecutive blocks are taken as studies of their own, and judged as a report judges them. As they
are, any verdict of a direction is false; with a share put upon the candidate's figures it should be
found.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.ending import exit_code
from dbdyno.errors import UsageError
from dbdyno.report.analyse import analyse
from dbdyno.report.gather import gather
from dbdyno.report.material import Material, RunMaterial
from dbdyno.stats.paired import PairedEffect
from dbdyno.stats.verdict import Verdict

BLOCKS = (3, 6)
"""Blocks of a cut: five minutes, and ten."""
SHIFTS = (0.0, 0.05, -0.05)
"""Shares put upon the candidate's figures."""


@dataclass(frozen=True, slots=True)
class Row:
    """All cuts of a length under one shift."""

    blocks: int
    shift: float
    verdicts: Mapping[Verdict, int]
    half_widths: Sequence[float]
    """Of the 95 % intervals, as ratios minus 1."""


def rows(material: Material) -> Iterator[Row]:
    """Every length and shift; cuts do not overlap, and what is left over is not used."""
    numbers = sorted({run.manifest.block for run in material.runs})
    for length in BLOCKS:
        cuts = [numbers[at : at + length] for at in range(0, len(numbers) - length + 1, length)]
        for shift in SHIFTS:
            told = [judged(cut(material, blocks, shift)) for blocks in cuts]
            verdicts = Counter(verdict for verdict, _ in told)
            yield Row(length, shift, verdicts, sorted(width for _, width in told))


def cut(material: Material, blocks: Sequence[int], shift: float) -> Material:
    """These blocks as a study, with the candidate's turns faster by `shift`."""
    baseline = material.study.design.baseline
    return replace(
        material,
        runs=tuple(
            run if baseline.items() <= dict(run.manifest.cell).items() else faster(run, shift)
            for run in material.runs
            if run.manifest.block in blocks
        ),
    )


def faster(run: RunMaterial, shift: float) -> RunMaterial:
    """The same with more events in each turn."""
    turns = tuple(replace(turn, events=round(turn.events * (1 + shift))) for turn in run.turns)
    return replace(run, turns=turns)


def judged(material: Material) -> tuple[Verdict, float]:
    """The verdict of a study's one comparison, and half the width of its interval."""
    (comparison,) = analyse(material).comparisons
    effect = comparison.judgement.effect
    if not isinstance(effect, PairedEffect):
        return comparison.judgement.verdict, math.inf
    return comparison.judgement.verdict, effect.half_width


def page(found: Sequence[Row]) -> str:
    """A table for people."""
    words = (Verdict.BETTER, Verdict.WORSE, Verdict.SMALL, Verdict.EQUIVALENT)
    head = ("blocks", "put upon it", "cuts", *words, "no answer", "median half-width")
    lines = [f"| {' | '.join(head)} |", "|---:" * len(head) + "|"]
    for row in found:
        counts = [row.verdicts.get(word, 0) for word in words]
        cuts = len(row.half_widths)
        width = f"±{row.half_widths[cuts // 2]:.1%}" if cuts else "–"
        told = (row.blocks, f"{row.shift:+.0%}", cuts, *counts, cuts - sum(counts), width)
        lines.append(f"| {' | '.join(map(str, told))} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> None:
    """Prints the page."""
    if len(arguments) != 2:
        raise UsageError("expected a store and the name of a study in it")
    store, study = arguments
    sys.stdout.write(page(list(rows(gather(Path(store), study)))))


if __name__ == "__main__":
    raise SystemExit(exit_code(lambda: main(sys.argv[1:])))
