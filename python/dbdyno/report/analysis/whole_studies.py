"""Two whole studies against each other: cells that match, all comparisons one family."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.errors import UsageError
from dbdyno.model import Primary
from dbdyno.report.analysis.comparisons import judged_family
from dbdyno.report.analysis.points import label, varying
from dbdyno.report.analysis.side import Side
from dbdyno.report.analysis.sides import Confronted, Outcome, figures_of, prepare, unpaired
from dbdyno.stats import Judgement


@dataclass(frozen=True, slots=True)
class Whole:
    """What two studies say of each other."""

    outcomes: Mapping[str, Outcome]
    """By cell; each has its own differences and refusals."""
    only_a: tuple[str, ...]
    """Cells that the other has not."""
    only_b: tuple[str, ...]


def confront_studies(
    a: Sequence[Side], b: Sequence[Side], primary: Primary, *, assume_alike: bool = False
) -> Whole:
    """Each cell of B against the one of A with the same levels, where one may judge.

    Levels are compared of the factors that vary in either study. All comparisons are adjusted
    together: they answer one question. Raises `UsageError` if both are one study, or no cell
    matches.
    """
    if a[0].home == b[0].home:
        raise UsageError(
            f"`{a[0].home.name}` is compared with itself",
            hint="name two of its cells, or report it: a study's own comparisons stand there",
        )
    factors = tuple(dict.fromkeys((*varying(a[0].study), *varying(b[0].study))))
    ours, theirs = ({_key(side, factors): side for side in sides} for sides in (a, b))
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise UsageError(
            f"no cell of `{b[0].home.name}` has the levels of one of `{a[0].home.name}`",
            hint="name a cell of each: STUDY/CELL STUDY/CELL",
        )
    found = {
        key: prepare(ours[key], theirs[key], primary, assume_alike=assume_alike) for key in shared
    }
    return Whole(
        outcomes={
            label(theirs[key].levels, factors): judgement
            for key, judgement in _judged(found, b[0], primary).items()
        },
        only_a=tuple(label(ours[key].levels, factors) for key in ours if key not in theirs),
        only_b=tuple(label(theirs[key].levels, factors) for key in theirs if key not in ours),
    )


def _key(side: Side, factors: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(side.levels.get(name) for name in factors)


def _judged(
    found: Mapping[tuple[str | None, ...], Confronted], b: Side, primary: Primary
) -> dict[tuple[str | None, ...], Outcome]:
    """All pairs of cells and loads that one may judge, as one family."""
    effects = {key: unpaired(pair, primary.metric) for key, pair in found.items()}
    every = [effect for of_cell in effects.values() for effect in of_cell]
    judgements = iter(judged_family(every, replace(b.study, primary=primary)))
    outcomes: dict[tuple[str | None, ...], Outcome] = {}
    for key, pair in found.items():
        judged: list[tuple[int, Judgement]] = [
            (point.clients, next(judgements)) for point, _ in pair.pairs
        ]
        outcomes[key] = Outcome(
            pair.differences,
            pair.refused,
            tuple(judged),
            pair.not_known,
            figures_of(pair, primary.metric),
        )
    return outcomes
