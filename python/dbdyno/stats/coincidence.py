"""Whether two things that happen now and then in a series of intervals happen at the same time."""

import numpy as np
from numpy.typing import ArrayLike


def coincidence_p(slow: ArrayLike, busy: ArrayLike) -> float:
    """Chance that so many `slow` intervals are `busy` ones where the two have nothing to do with
    each other; [1/n, 1].

    The share of all n circular shifts of `busy` under which as many coincide, or more. A shift
    leaves how long both last and how often they come, so seconds that follow one another are not
    taken for independent. What is always there, or never, coincides with nothing: 1.
    """
    a, b = (np.asarray(mask, dtype=np.float64) for mask in (slow, busy))
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"{a.shape} and {b.shape}: the two must be of the same intervals")
    if a.size == 0 or not a.any():
        return 1.0
    overlaps = np.fft.irfft(np.conj(np.fft.rfft(b)) * np.fft.rfft(a), a.size)
    return float((np.rint(overlaps) >= np.rint(overlaps[0])).mean())
