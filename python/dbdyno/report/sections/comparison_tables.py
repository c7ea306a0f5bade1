"""The tables of comparisons: verdicts, one factor at a time, where their noise comes from."""

from collections.abc import Iterator

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.terms.table import Column, Table, Value
from dbdyno.report.terms.wording import advice_text, count, number, percent, ratio, verdict_word
from dbdyno.stats import NotComparable, PairedEffect

LEAD = (Column("Cell", "cell"), Column("Clients", "clients", count))
"""Every table of points begins so."""


def lead(point: Point) -> tuple[str, int]:
    """What stands in those columns."""
    return point.label, point.clients


def comparisons_table(analysis: Analysis) -> Table:
    """Verdicts against the baseline."""
    rows: list[tuple[Value, ...]] = []
    for c in analysis.comparisons:
        effect = c.judgement.effect
        word = verdict_word(c.judgement.verdict, analysis.metric)
        mean = c.point.estimate(analysis.metric_name)
        begins = (*lead(c.point), c.baseline.label, mean.value if mean else None)
        if not isinstance(effect, PairedEffect):
            why = effect.reason if isinstance(effect, NotComparable) else effect.method
            rows.append((*begins, *[None] * 8, word, None, why))
            continue
        rows.append(
            (
                *begins,
                effect.ratio,
                effect.ratio_interval,
                effect.ratio_interval90,
                c.judgement.smallest_effect,
                effect.median_ratio,
                effect.blocks,
                effect.p,
                c.judgement.p_adjusted,
                word,
                advice_text(c.judgement.advice),
                effect.method,
            )
        )
    columns = (
        *LEAD,
        Column("Baseline", "baseline"),
        Column(_mean_title(analysis), "mean", number),
        Column("Effect", "ratio", ratio),
        Column("95 % interval", "ratio_95", ratio, pair=True),
        Column("90 % interval", "ratio_90", ratio, pair=True),
        Column("δ", "smallest_effect", percent),
        Column("Median block", "ratio_median", ratio),
        Column("Blocks", "blocks", count),
        Column("p", "p", number),
        Column("p, adjusted", "p_adjusted", number),
        Column("Verdict", "verdict"),
        Column("More blocks needed", "more_blocks"),
        Column("Method", "method"),
    )
    title = f"{analysis.metric.title} against the baseline"
    return Table("comparisons", title, columns, tuple(rows)).without_empty()


def _mean_title(analysis: Analysis) -> str:
    return f"Mean, {analysis.metric.unit}" if analysis.metric.unit else "Mean"


SHOWN = ("cell", "clients", "mean", "ratio", "ratio_95", "verdict", "more_blocks")
"""Columns of the comparisons that the page shows at once; of those without an effect, `method`
says why."""


def comparisons_shown(table: Table) -> Table:
    """The columns that most readers want."""
    names = {column.name for column in table.columns}
    shown = SHOWN if "ratio" in names else (*SHOWN, "method")
    return table.only(shown)


def factor_tables(analysis: Analysis) -> Iterator[Table]:
    """Only of studies whose baseline leaves more than one matched pair or factor."""
    if analysis.main_effects:
        yield main_effects_table(analysis)
        yield matched_table(analysis)


def main_effects_table(analysis: Analysis) -> Table:
    """Each factor by itself, over all matched pairs."""
    rows: list[tuple[Value, ...]] = []
    for main in analysis.main_effects:
        effect = main.judgement.effect
        word = verdict_word(main.judgement.verdict, analysis.metric)
        begins = (main.factor, main.level, main.baseline, main.clients, len(main.pairs))
        if not isinstance(effect, PairedEffect):
            why = effect.reason if isinstance(effect, NotComparable) else effect.method
            rows.append((*begins, None, None, None, None, word, why))
            continue
        depends = "on the other factors" if main.depends else "not seen to depend on others"
        figures = (effect.ratio, effect.ratio_interval, effect.blocks, main.judgement.p_adjusted)
        rows.append((*begins, *figures, word, depends))
    columns = (
        Column("Factor", "factor"),
        Column("Level", "level"),
        Column("Baseline", "baseline"),
        Column("Clients", "clients", count),
        Column("Matched pairs", "pairs", count),
        Column("Effect", "ratio", ratio),
        Column("95 % interval", "ratio_95", ratio, pair=True),
        Column("Blocks", "blocks", count),
        Column("p, adjusted", "p_adjusted", number),
        Column("Verdict", "verdict"),
        Column("Depends", "depends"),
    )
    title = f"{analysis.metric.title} by factor: one changes, the others alike"
    return Table("main-effects", title, columns, tuple(rows))


def matched_table(analysis: Analysis) -> Table:
    """The pairs behind the main effects, judged factor by factor."""
    rows: list[tuple[Value, ...]] = []
    for main in analysis.main_effects:
        for pair in main.pairs:
            effect = pair.judgement.effect
            word = verdict_word(pair.judgement.verdict, analysis.metric)
            begins = (main.factor, *lead(pair.point), pair.baseline.label)
            if not isinstance(effect, PairedEffect):
                rows.append((*begins, None, None, None, word))
            else:
                rows.append((*begins, effect.ratio, effect.ratio_interval, effect.blocks, word))
    columns = (
        Column("Factor", "factor"),
        *LEAD,
        Column("Compared with", "baseline"),
        Column("Effect", "ratio", ratio),
        Column("95 % interval", "ratio_95", ratio, pair=True),
        Column("Blocks", "blocks", count),
        Column("Verdict", "verdict"),
    )
    return Table("matched", "Matched pairs: one factor changes", columns, tuple(rows))


def turn_tables(analysis: Analysis) -> Iterator[Table]:
    """Only where cells were driven in turns."""
    if any(comparison.turns for comparison in analysis.comparisons):
        yield turns_table(analysis)


def turns_table(analysis: Analysis) -> Table:
    """Sources of the noise of comparisons made in turns, and what would reduce it."""
    rows: list[tuple[Value, ...]] = []
    for comparison in analysis.comparisons:
        found = comparison.turns
        if found is None:
            continue
        rows.append(
            (
                *lead(comparison.point),
                comparison.baseline.label,
                len(found.turns),
                sum(found.turns),
                len(comparison.set_aside),
                found.elasticity,
                None if found.elasticity is None else found.explained,
                found.within_sd,
                None if found.one_set_up else found.between_sd,
                None if found.one_set_up else found.between_share,
                "more blocks" if found.one_set_up or found.blocks_help_more else "longer blocks",
            )
        )
    columns = (
        *LEAD,
        Column("Baseline", "baseline"),
        Column("Blocks", "blocks", count),
        Column("Pairs of turns", "turns", count),
        Column("Set aside", "set_aside", count),
        Column("Elasticity", "elasticity", number),
        Column("Explained", "explained", percent),
        Column("Spread of pairs", "within_sd", percent),
        Column("Spread of blocks", "between_sd", percent),
        Column("Noise by block", "between_share", percent),
        Column("What helps more", "helps"),
    )
    return Table("turns", "Where the noise comes from: turns and blocks", columns, tuple(rows))
