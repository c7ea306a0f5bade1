"""Checks that all runs were measured on the same data, from the verified tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from dbdyno.model import RunManifest, TableFill
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.terms.table import Column, Table, Value
from dbdyno.report.terms.wording import count, number, rows_text


@dataclass(frozen=True, slots=True)
class Found:
    """What one fill put into one table."""

    run: RunManifest
    fill: TableFill

    @property
    def recipe(self) -> tuple[str, ...]:
        """What decides on a table's rows. Kinds of servers may write some values differently."""
        kind = self.run.provision.partition(":")[0].partition("@")[0]
        options = repr(sorted(self.run.options.items()))
        seed = str(self.run.data_seed)
        return (self.fill.table, self.fill.command, kind, self.run.script, options, seed)

    @property
    def contents(self) -> tuple[int | None, str | None]:
        """Rows and checksum."""
        return self.fill.rows, self.fill.checksum


def found_fills(analysis: Analysis) -> tuple[Found, ...]:
    """Of every run, in the order in which they were carried out."""
    manifests = (run.manifest for run in analysis.material.runs)
    return tuple(Found(manifest, fill) for manifest in manifests for fill in manifest.loads)


def otherwise(found: Iterable[Found], is_so: Callable[[int, int], bool]) -> Iterator[str]:
    """Tables whose rows, found and sent, are so; each once, in sentences."""
    sentences = {
        f"`{fill.table}` has {rows_text(fill.rows)}, {count(fill.sent)} were sent": None
        for fill in (table.fill for table in found)
        if fill.rows is not None and fill.sent is not None and is_so(fill.rows, fill.sent)
    }
    yield from sentences


def differences(found: Iterable[Found]) -> Iterator[str]:
    """Tables that should be the same and are not, in sentences."""
    by_recipe: dict[tuple[str, ...], list[Found]] = {}
    for table in found:
        if table.fill.problem is None:
            by_recipe.setdefault(table.recipe, []).append(table)
    for same in by_recipe.values():
        contents = dict.fromkeys(table.contents for table in same)
        if len(contents) > 1:
            text = "; ".join(_told(content, same) for content in contents)
            yield (
                f"`{same[0].fill.table}` differs between runs with the same seed, script and "
                f"options: {text}"
            )


def _told(contents: tuple[int | None, str | None], found: Sequence[Found]) -> str:
    rows, checksum = contents
    runs = [table.run.id for table in found if table.contents == contents]
    more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
    text = f"{rows_text(rows)}{f', {checksum}' if checksum else ''}"
    return f"{text} in {runs[0]}{more}"


def fills_table(analysis: Analysis) -> Table:
    """Each table with each contents it was found to have."""
    alike: dict[tuple[Value, ...], list[Found]] = {}
    for table in found_fills(analysis):
        fill = table.fill
        counted = (fill.table, table.run.script, fill.sent, fill.rows, fill.checksum)
        alike.setdefault((*counted, fill.problem or ""), []).append(table)
    rows: list[tuple[Value, ...]] = []
    for (*counted_so, problem), found in alike.items():
        took = [table.fill.took_s for table in found]
        runs = len({table.run.id for table in found})
        rows.append((*counted_so, runs, (min(took), max(took)), problem))
    columns = (
        Column("Table", "table"),
        Column("Script", "script"),
        Column("Rows sent", "sent", count),
        Column("Rows found", "rows", count),
        Column("Checksum", "checksum"),
        Column("Runs", "runs", count),
        Column("Looked at in, s", "took_s", number, pair=True),
        Column("Problem", "problem"),
    )
    return Table("loads", "Tables as they were loaded", columns, tuple(rows))
