"""`python -m bench.verdicts [--blocks N] STORE STUDY`: how often are the verdicts of short studies
right? Judged by one study that was run for hours.

Consecutive blocks are taken as studies of their own, and judged as a report judges them. Where the
study sets a server against itself (`studies/against-itself.toml`), any verdict of a direction is
false; with a share put upon the candidate's figures it should be found. Where there is a real
effect (`studies/trigger-cost.toml`), its last blocks are one long study, which shares no block with
the short ones: how many of these find what it finds, and hold its value?
"""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.ending import exit_code
from bench.words import table
from dbdyno.design.cells import cells
from dbdyno.errors import UsageError
from dbdyno.model import Study
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.material.gather import gather
from dbdyno.report.material.material import Material, RunMaterial
from dbdyno.report.terms.wording import MISSING
from dbdyno.stats.paired import PairedEffect
from dbdyno.stats.verdict import Judgement, Verdict

BLOCKS = 10
"""Blocks of a short study, which take five minutes."""
SHIFTS = (0.0, 0.05, -0.05)
"""Shares put upon the candidate's figures, where it is the baseline under another name."""

DIRECTIONS = (Verdict.BETTER, Verdict.WORSE)


@dataclass(frozen=True, slots=True)
class Row:
    """All cuts of a length under one shift."""

    blocks: int
    shift: float
    verdicts: Mapping[Verdict, int]
    half_widths: Sequence[float]
    """Of the 95 % intervals, as ratios minus 1."""


@dataclass(frozen=True, slots=True)
class Held:
    """Short cuts held against one longer study, under one shift."""

    shift: float
    length: int
    """Blocks of a cut."""
    long_blocks: int
    """Blocks of the longer study."""
    long: Judgement
    cuts: int
    found: int
    """Cuts whose verdict has the long study's direction."""
    hold: int
    """Cuts whose 95 % interval holds the long study's effect."""


def rows(
    material: Material, lengths: Sequence[int], shifts: Sequence[float] = SHIFTS
) -> Iterator[Row]:
    """Every length in blocks and every shift; cuts do not overlap, and what is left over is not
    used."""
    numbers = block_numbers(material)
    for length in lengths:
        for shift in shifts:
            comparisons = [
                judged(cut(material, blocks, shift)) for blocks in parts(numbers, length)
            ]
            verdicts = Counter(comparison.verdict for comparison in comparisons)
            yield Row(
                length,
                shift,
                verdicts,
                sorted(half_width(comparison) for comparison in comparisons),
            )


def held(
    material: Material, length: int, long: int, shifts: Sequence[float] = SHIFTS
) -> Iterator[Held]:
    """The last `long` blocks as one study, and the blocks before them in cuts of `length`.

    Nothing where these are not enough for a single cut.
    """
    numbers = block_numbers(material)
    short = parts(numbers[:-long], length)
    for shift in shifts if short else ():
        whole = judged(cut(material, numbers[-long:], shift))
        short_parts = [judged(cut(material, blocks, shift)) for blocks in short]
        yield Held(
            shift,
            length=length,
            long_blocks=long,
            long=whole,
            cuts=len(short_parts),
            found=sum(finds(comparison, whole) for comparison in short_parts),
            hold=sum(holds(comparison, whole) for comparison in short_parts),
        )


def block_numbers(material: Material) -> Sequence[int]:
    """Blocks that were measured, ascending."""
    return sorted({run.manifest.block for run in material.runs})


def parts(numbers: Sequence[int], length: int) -> Sequence[Sequence[int]]:
    """As many whole parts of `length` as there are."""
    return [numbers[at : at + length] for at in range(0, len(numbers) - length + 1, length)]


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


def judged(material: Material) -> Judgement:
    """A study's one comparison."""
    (comparison,) = analyse(material).comparisons
    return comparison.judgement


def half_width(judgement: Judgement) -> float:
    """Half the 95 % interval, as a ratio minus 1; without an interval, infinite."""
    effect = judgement.effect
    return effect.half_width if isinstance(effect, PairedEffect) else math.inf


def finds(short: Judgement, long: Judgement) -> bool:
    """Whether the short study has the direction that the long one has."""
    return long.verdict in DIRECTIONS and short.verdict is long.verdict


def holds(short: Judgement, long: Judgement) -> bool:
    """Whether the short study's 95 % interval holds the long one's effect."""
    ours, theirs = short.effect, long.effect
    if not (isinstance(ours, PairedEffect) and isinstance(theirs, PairedEffect)):
        return False
    return ours.low95 <= theirs.log_effect <= ours.high95


def against_itself(study: Study) -> bool:
    """Whether all cells are the same but for their names."""
    unnamed = [replace(cell, levels={}) for cell in cells(study)]
    return all(cell == unnamed[0] for cell in unnamed)


def page(found: Sequence[Row]) -> str:
    """A table of the verdicts, for people."""
    words = (*DIRECTIONS, Verdict.SMALL, Verdict.EQUIVALENT)
    head = ("blocks", "put upon it", "cuts", *words, "no answer", "median half-width")
    lines = []
    for row in found:
        counts = [row.verdicts.get(word, 0) for word in words]
        cuts = len(row.half_widths)
        width = f"±{row.half_widths[cuts // 2]:.1%}" if cuts else MISSING
        figures = (row.blocks, f"{row.shift:+.0%}", cuts, *counts, cuts - sum(counts), width)
        lines.append(tuple(map(str, figures)))
    return "\n".join(table(head, lines)) + "\n"


def held_page(found: Sequence[Held]) -> str:
    """A table of what short studies made of the long one's effect, for people; lengths are those
    of the first of `found`."""
    first = found[0]
    long, short = f"{first.long_blocks} blocks say", f"cuts of {first.length}"
    head = ("put upon it", long, short, "find it", "hold it")
    lines = []
    for session in found:
        effect = session.long.effect
        text = session.long.verdict.value
        if isinstance(effect, PairedEffect):
            low, high = effect.ratio_interval
            text += f": {effect.ratio - 1:+.1%} ({low - 1:+.1%} to {high - 1:+.1%})"
        directed = session.long.verdict in DIRECTIONS
        counts = (str(session.cuts), str(session.found) if directed else MISSING, str(session.hold))
        lines.append((f"{session.shift:+.0%}", text, *counts))
    return "\n".join(table(head, lines)) + "\n"


def main(arguments: Sequence[str]) -> None:
    """Prints the tables: of short studies, of studies twice as long, and of the short ones held
    against one of four times their length."""
    parser = argparse.ArgumentParser(prog="python -m bench.verdicts", description=__doc__)
    parser.add_argument("--blocks", type=int, default=BLOCKS, help="blocks of a short study")
    parser.add_argument("store")
    parser.add_argument("study")
    asked = parser.parse_args(arguments)
    length = asked.blocks
    if length < 2:
        raise UsageError(f"--blocks {length}: a study that can be judged has at least two blocks")
    material = gather(Path(asked.store), asked.study)
    shifts = SHIFTS if against_itself(material.study) else (0.0,)
    sys.stdout.write(page(list(rows(material, (length, 2 * length), shifts))))
    beside = list(held(material, length, 4 * length, shifts))
    if beside:
        sys.stdout.write(f"\n{held_page(beside)}")


if __name__ == "__main__":
    raise SystemExit(exit_code(lambda: main(sys.argv[1:])))
