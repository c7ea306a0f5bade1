"""A table once, for three readers: the page, a CSV file and the Markdown summary."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dbdyno.report.terms.wording import MISSING, number, percent, ratio, ratio_ends
from dbdyno.stats import Estimate

Scalar = str | float | int | None
Value = Scalar | tuple[float, ...]
"""A pair is a range; a program reads it as two columns, an estimate as three."""


def estimated(found: Estimate | None) -> Value:
    """A figure with its interval, where it has one."""
    if found is None:
        return None
    if found.low is None or found.high is None:
        return found.value
    return found.value, found.low, found.high


def as_text(value: Scalar) -> str:
    """A value as it is."""
    return MISSING if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Column:
    """A heading with its unit, the name programs know it by, and how people read its values."""

    title: str
    name: str
    show: Callable[[float], str] | None = None
    """`None`: text, to the left. Figures stand to the right."""
    pair: bool = False
    """Values are ranges (low, high)."""

    estimate: bool = False
    """Values are (value, low, high): a figure and its 95 % interval."""

    @property
    def figure(self) -> bool:
        """Stands to the right."""
        return self.show is not None

    @property
    def csv_names(self) -> tuple[str, ...]:
        """One heading, two for a range, three for an estimate."""
        if self.estimate:
            return (self.name, f"{self.name}_low", f"{self.name}_high")
        return (f"{self.name}_low", f"{self.name}_high") if self.pair else (self.name,)

    def text(self, value: Value) -> str:
        """What people read."""
        if isinstance(value, tuple):
            show = self.show or str
            if self.estimate:
                return show(value[0]) + _reach(*value)
            ends = ratio_ends(*value) if show is ratio else map(show, value)
            return " to ".join(ends)
        if self.show is None or value is None or isinstance(value, str):
            return as_text(value)
        return self.show(value)

    def raw(self, value: Value) -> tuple[Scalar, ...]:
        """What programs read."""
        if isinstance(value, tuple):
            return value
        if self.estimate:
            return (value, None, None)
        return (value, value) if self.pair else (value,)


@dataclass(frozen=True, slots=True)
class Table:
    """A name, headings and values."""

    name: str
    title: str
    columns: tuple[Column, ...]
    values: tuple[tuple[Value, ...], ...]

    def without_empty(self) -> Table:
        """Without the columns that say nothing in any row."""
        kept = [
            place
            for place in range(len(self.columns))
            if any(row[place] is not None for row in self.values)
        ]
        return self._with(kept)

    def only(self, names: Iterable[str]) -> Table:
        """The columns of these names, in this order; those it lacks are left out."""
        places = {column.name: place for place, column in enumerate(self.columns)}
        return self._with([places[name] for name in names if name in places])

    def _with(self, places: Iterable[int]) -> Table:
        kept = list(places)
        columns = tuple(self.columns[place] for place in kept)
        values = tuple(tuple(row[place] for place in kept) for row in self.values)
        return Table(self.name, self.title, columns, values)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """What people read."""
        return tuple(
            tuple(column.text(value) for column, value in zip(self.columns, row, strict=True))
            for row in self.values
        )

    def csv(self) -> str:
        """Comma-separated, full precision; ranges take two columns, what is missing is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(name for column in self.columns for name in column.csv_names)
        for row in self.values:
            pairs = zip(self.columns, row, strict=True)
            writer.writerow(cell for column, value in pairs for cell in column.raw(value))
        return text.getvalue()

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [
            _line(column.title for column in self.columns),
            "|" + "|".join(" ---: " if c.figure else " --- " for c in self.columns) + "|",
            *(_line(row) for row in self.rows),
        ]
        return "\n".join(lines) + "\n"


def _reach(value: float, low: float, high: float) -> str:
    """How far an interval reaches to its wider side, as a share of the value: `±3 %`."""
    if value == 0:
        return f" ({number(low)} to {number(high)})" if low < high else ""
    wide = max(high - value, value - low) / abs(value)
    return " ±>100\u202f%" if wide > 1 else f" ±{percent(wide)}"


def _line(cells: Iterable[str]) -> str:
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return "| " + " | ".join(escaped) + " |"
