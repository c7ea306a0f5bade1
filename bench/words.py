"""How the pages of bench write tables and figures."""

from collections.abc import Iterable, Iterator, Sequence

from dbdyno import stats
from dbdyno.report.terms.wording import MISSING


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, texts: Iterable[int] = ()
) -> Iterator[str]:
    """Lines of Markdown; columns of figures stand to the right, those of `texts` to the left."""
    left = set(texts)
    yield _line(head)
    yield "|" + "".join("---|" if at in left else "---:|" for at in range(len(head)))
    for row in rows:
        yield _line(row)


def _line(row: Sequence[str]) -> str:
    return f"| {' | '.join(row).rstrip()} |"


def number(value: float) -> str:
    """Three significant digits, more for whole thousands."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def over_blocks(column: Sequence[float]) -> str:
    """Median and range of a figure; a dash where it wasn't measured."""
    if not column:
        return MISSING
    spread = stats.spread(column)
    return f"{number(spread.median)} ({number(spread.low)}–{number(spread.high)})"
