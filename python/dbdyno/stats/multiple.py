"""Many comparisons at once: control of the false-discovery rate."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p-values in the order given: min over j ≥ i of m · p_(j) / j, at most 1.

    Rejecting those ≤ q keeps the expected share of false discoveries at or below q, for
    independent or positively dependent tests. Benjamini and Hochberg, 1995.
    """
    values = np.asarray(p, dtype=np.float64)
    m = values.size
    order = np.argsort(values)
    scaled = values[order] * m / np.arange(1, m + 1)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted
