"""The distance between two parts of a series: the energy divergence of E-divisive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def best_split(x: Array, least: int) -> tuple[int, float] | None:
    """The split with the greatest divergence, over all ends; `None` for a short segment."""
    if x.size < 2 * least:
        return None
    divergences = divergences_of(np.abs(x[:, None] - x[None, :]), least)
    place, _ = np.unravel_index(int(divergences.argmax()), divergences.shape)
    greatest = float(divergences.max())
    return (int(place), greatest) if greatest > 0 else None


def divergences_of(distances: Array, least: int) -> Array:
    """Q[τ, κ] of the values before τ against those from τ to before κ; −∞ where too few.

    Q = 2/(n+m)·ΣΣ|X−Y| − 2m/((n+m)(n−1))·Σ|X−X'| − 2n/((n+m)(m−1))·Σ|Y−Y'|, sums over pairs.
    """
    size = distances.shape[0]
    sums = np.zeros((size + 1, size + 1))
    sums[1:, 1:] = distances.cumsum(axis=0).cumsum(axis=1)
    tau, kappa = np.arange(size + 1)[:, None], np.arange(size + 1)[None, :]
    n, m = tau.astype(np.float64), (kappa - tau).astype(np.float64)
    allowed = (tau >= max(2, least)) & (kappa - tau >= max(2, least))
    square = np.diag(sums)[:, None]
    within_x = square / 2
    within_y = (np.diag(sums)[None, :] - 2 * sums + square) / 2
    between = sums - square
    with np.errstate(divide="ignore", invalid="ignore"):
        q = (2 * between - 2 * m / (n - 1) * within_x - 2 * n / (m - 1) * within_y) / (n + m)
    divergences: Array = np.where(allowed, q, -np.inf)
    return divergences
