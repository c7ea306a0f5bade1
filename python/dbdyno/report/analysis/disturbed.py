"""Which pairs of turns of two cells were disturbed, by rules that know no result."""

from collections.abc import Sequence

from dbdyno.model import TurnResult
from dbdyno.report.analysis.points import BlockFigures
from dbdyno.stats import changed, stolen


def disturbed(a: BlockFigures, b: BlockFigures, rounds: Sequence[int]) -> dict[int, str]:
    """Round → why its pair of turns is set aside; others count."""
    speeds = [_around(a.turns[turn]) + _around(b.turns[turn]) for turn in rounds]
    found = dict(zip(rounds, changed(speeds), strict=True))
    for lost, what in ((_steal_s, "stolen"), (_held_back_s, _HELD_BACK)):
        shares = [
            max(_share(side.turns[turn], lost(side.turns[turn]), side.cpus) for side in (a, b))
            for turn in rounds
        ]
        reasons = zip(rounds, stolen(shares, what), strict=True)
        found.update((turn, why) for turn, why in reasons if why)
    return {turn: why for turn, why in found.items() if why is not None}


def _around(turn: TurnResult) -> list[float]:
    """How fast the processors' canaries were before and after a turn; empty where its own speed
    is known, which the effect is adjusted for."""
    if turn.speed:
        return []
    return [canary.spin for canary in (turn.before, turn.after) if canary is not None]


_HELD_BACK = "held back by a limit of the lab's own control group"


def _steal_s(turn: TurnResult) -> float | None:
    return turn.steal_s


def _held_back_s(turn: TurnResult) -> float | None:
    return turn.held_back_s


def _share(turn: TurnResult, lost_s: float | None, cpus: int) -> float:
    """Of the processors' time; runs of before `steal_over_s` know the window only."""
    over_s = turn.steal_over_s or turn.window_s
    return (lost_s or 0.0) / (over_s * cpus) if over_s else 0.0
