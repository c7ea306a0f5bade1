"""How throughput grows with the number of clients: the universal scalability law and the simpler
curves within it.

X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), after Gunther, Guerrilla Capacity Planning (2007), chapter
5: λ is the throughput of one client, σ the share that is serial (contention), κ the cost of keeping
clients in agreement (coherency). κ = 0 is Amdahl's law, κ = σ = 0 a straight line; a plateau,
min(λN, P), is what a server does that works at full speed until it is busy.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy
from numpy.typing import NDArray

from dbdyno.stats.distributions import t_percentile
from dbdyno.stats.paired import NotComparable
from dbdyno.stats.spread import Estimate, estimate

Array = NDArray[np.float64]

LEAST_LOADS = 6
"""Different numbers of clients: fewer fit any curve."""
BEYOND_PEAK = 2
"""Loads at or above a peak without which it is no more than an extrapolation."""
_STRAIGHT = 1e-9
"""Where a parameter is 0 within the optimiser's reach."""


class Curve(StrEnum):
    """The shapes throughput can have, from the simplest on."""

    LINEAR = "linear"
    PLATEAU = "plateau"
    AMDAHL = "Amdahl"
    USL = "USL"


@dataclass(frozen=True, slots=True)
class Scaling:
    """The curve that describes a cell best. Rates have the unit of the values fitted."""

    curve: Curve
    rate: Estimate
    """λ: of one client, as the curve has it."""
    contention: Estimate | None
    """σ, from 0 to 1; `None` for curves without it."""
    coherency: Estimate | None
    """κ of the universal scalability law, 0 or above."""
    peak_clients: float | None
    """√((1 − σ)/κ); `None` where the curve has no peak within what was measured."""
    peak_rate: Estimate | None
    """Of the USL at its peak, of a plateau its height."""
    knee_clients: Estimate | None
    """Where power is greatest (`_knee`); `None` where the curve has no knee within what was
    measured."""
    worst_miss: float
    """The largest |measured/fitted − 1| over the loads."""
    fitted: Mapping[int, float]
    """Clients → the curve's value."""


@dataclass(frozen=True, slots=True)
class _Model:
    curve: Curve
    formula: Callable[[Array, Array], Array]
    """Of clients and parameters."""
    start: Callable[[Array, Array], Sequence[float]]
    lower: tuple[float, ...]
    upper: tuple[float, ...]


def _usl(n: Array, p: Array) -> Array:
    return np.asarray(p[0] * n / (1 + p[1] * (n - 1) + p[2] * n * (n - 1)))


def _usl_start(n: Array, x: Array) -> tuple[float, float, float]:
    """A line through (N·λ/X − 1)/(N − 1) = σ + κN."""
    rate = float((x / n).max())
    more = n > 1
    slope, base = np.polyfit(n[more], (n[more] * rate / x[more] - 1) / (n[more] - 1), 1)
    return rate, float(np.clip(base, 1e-3, 0.9)), float(max(slope, 1e-6))


_INF = math.inf
_MODELS = (
    _Model(Curve.LINEAR, lambda n, p: p[0] * n, lambda n, x: (x[0] / n[0],), (0,), (_INF,)),
    _Model(
        Curve.PLATEAU,
        lambda n, p: np.minimum(p[0] * n, p[1]),
        lambda n, x: (x[0] / n[0], x.max()),
        (0, 0),
        (_INF, _INF),
    ),
    _Model(
        Curve.AMDAHL,
        lambda n, p: _usl(n, np.append(p, 0.0)),
        lambda n, x: _usl_start(n, x)[:2],
        (0, 0),
        (_INF, 1),
    ),
    _Model(Curve.USL, _usl, _usl_start, (0, 0, 0), (_INF, 1, _INF)),
)


def scaling(blocks: Sequence[Mapping[int, float]]) -> Scaling | NotComparable:
    """The best curve through `blocks`, each clients → throughput above 0, at the same loads.

    Errors are taken as relative: the squares of ln(measured/fitted) are minimised. The curve is
    chosen by AICc (Hurvich and Tsai 1989) on the geometric means over blocks. Intervals are
    Student's t over the curve fitted to each block by itself. No value is said beyond the loads
    measured.
    """
    loads = sorted(set(blocks[0])) if blocks else []
    if len(loads) < LEAST_LOADS:
        return NotComparable(f"{len(loads)} loads; a curve needs {LEAST_LOADS}")
    if loads[0] != 1:
        return NotComparable("no load of one client, to which the others are compared")
    if any(sorted(block) != loads for block in blocks):
        return NotComparable("a block has other loads than the rest")
    n = np.asarray(loads, dtype=np.float64)
    blocks_rates = [
        np.asarray([block[load] for load in loads], dtype=np.float64) for block in blocks
    ]
    if any((x <= 0).any() for x in blocks_rates):
        return NotComparable("a load without throughput")
    mean = np.exp(np.mean([np.log(x) for x in blocks_rates], axis=0))
    gain = mean / (n * mean[0])
    if _faster_than_straight(n, blocks_rates):
        return NotComparable(
            f"throughput grows faster than clients (×{gain.max():.2f} of a straight line): "
            "no such curve describes that"
        )
    model, fit = min(
        ((model, _fit(model, n, mean)) for model in _MODELS),
        key=lambda candidate: _aicc(candidate[0], n, mean, candidate[1]),
    )
    return _told(model, fit, n, mean, [_fit(model, n, x) for x in blocks_rates])


def _faster_than_straight(n: Array, blocks_rates: Sequence[Array]) -> bool:
    """Whether all loads beyond one client together lie above the straight line, beyond chance."""
    over = [float(np.mean(np.log(x[1:] / (n[1:] * x[0])))) for x in blocks_rates]
    least = math.log(1.02)
    if len(over) < 2:
        return over[0] > least
    reach = t_percentile(0.975, len(over) - 1) * float(np.std(over, ddof=1))
    return bool(float(np.mean(over)) - reach / float(len(over)) ** 0.5 > least)


def _fit(model: _Model, n: Array, x: Array) -> Array:
    start = np.clip(model.start(n, x), np.add(model.lower, 1e-12), model.upper)

    def misses(p: Array) -> Array:
        return np.asarray(np.log(x / np.maximum(model.formula(n, p), 1e-300)))

    solution = scipy.optimize.least_squares(
        misses,
        start,
        bounds=(model.lower, model.upper),
        x_scale=np.maximum(np.abs(start), 1e-6),
        ftol=1e-12,
        xtol=1e-12,
        gtol=1e-12,
    )
    return np.asarray(solution.x, dtype=np.float64)


def _aicc(model: _Model, n: Array, x: Array, fit: Array) -> float:
    residuals = np.log(x / model.formula(n, fit))
    # Agreement closer than a thousandth is no evidence for another parameter.
    squares = max(float(residuals @ residuals), n.size * 1e-6)
    k = len(model.lower) + 1
    return n.size * math.log(squares / n.size) + 2 * k + 2 * k * (k + 1) / max(n.size - k - 1, 0.5)


def _told(model: _Model, fit: Array, n: Array, mean: Array, fits: Sequence[Array]) -> Scaling:
    fitted = model.formula(n, fit)
    contention = model.curve in (Curve.AMDAHL, Curve.USL)
    peak_clients, peaks = None, None
    knee = _knee(model.curve, fit)
    knees = (
        [_knee(model.curve, parameters) for parameters in fits]
        if 1 <= knee <= n[-BEYOND_PEAK]
        else []
    )
    if model.curve is Curve.PLATEAU and fit[1] < fit[0] * n[-BEYOND_PEAK]:
        peaks = [float(parameters[1]) for parameters in fits]
    if model.curve is Curve.USL:
        at = _peak(fit)
        if at <= n[-BEYOND_PEAK]:
            peak_clients = at
            peaks = [float(_usl(np.asarray([at]), parameters)[0]) for parameters in fits]
    return Scaling(
        curve=model.curve,
        rate=estimate([parameters[0] for parameters in fits]),
        contention=_bounded([parameters[1] for parameters in fits]) if contention else None,
        coherency=_bounded([parameters[2] for parameters in fits])
        if model.curve is Curve.USL
        else None,
        peak_clients=peak_clients,
        peak_rate=estimate(peaks) if peaks else None,
        knee_clients=estimate(knees) if knees and all(map(math.isfinite, knees)) else None,
        worst_miss=float(np.max(np.abs(mean / fitted - 1))),
        fitted={int(load): float(value) for load, value in zip(n, fitted, strict=True)},
    )


def _peak(fit: Array) -> float:
    return math.sqrt(max(1 - float(fit[1]), 0.0) / max(float(fit[2]), _STRAIGHT**2))


def _knee(curve: Curve, fit: Array) -> float:
    """The number of clients with the greatest power X/R (Kleinrock 1979), with R = N/X (Little) in
    a closed loop without pauses; infinite without one.

    X²/N is greatest where another percent of clients brings half a percent of throughput and takes
    half a percent of response time. Of a plateau that is its corner P/λ, where the bounds of
    Lazowska et al. (Quantitative System Performance, 1984, 5.2) cross; of Amdahl's law (1 − σ)/σ;
    of the USL the root of 3κN² + (σ − κ)N − (1 − σ) = 0.
    """
    if curve is Curve.LINEAR:
        return math.inf
    if curve is Curve.PLATEAU:
        return float(fit[1] / fit[0])
    serial, coherency = float(fit[1]), float(fit[2]) if curve is Curve.USL else 0.0
    if coherency <= _STRAIGHT**2:
        return (1 - serial) / serial if serial > _STRAIGHT else math.inf
    linear = serial - coherency
    root = math.sqrt(linear**2 + 12 * coherency * (1 - serial))
    return (root - linear) / (6 * coherency)


def _bounded(values: Sequence[float]) -> Estimate:
    """Arithmetic mean and t interval of a parameter that is 0 or more."""
    x = np.asarray(values, dtype=np.float64)
    mean = float(x.mean())
    if x.size == 1:
        return Estimate(mean, None, None, 1)
    reach = t_percentile(0.975, x.size - 1) * float(x.std(ddof=1)) / x.size**0.5
    return Estimate(mean, max(mean - reach, 0.0), mean + reach, x.size)
