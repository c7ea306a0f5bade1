"""The noise of a machine for a workload, as a calibration has found it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.model.load import Option


@dataclass(frozen=True, slots=True)
class Workplace:
    """What the noise is of. Another server, load or machine has a noise of its own."""

    environment_id: str
    """Of the host, its disks excepted."""
    server: str
    """Kind of server: `postgresql`."""
    script: str
    clients: int
    metric: str
    options: Mapping[str, Option] = field(default_factory=dict)
    """Options of the script."""


@dataclass(frozen=True, slots=True)
class KeptNoise:
    """One cell against itself in turns. Standard deviations of logarithms of ratios."""

    place: Workplace
    within_sd: float
    """Between pairs of turns of one block."""
    between_sd: float
    """Between blocks, beside what their turns explain."""
    study: str
    """Whose baseline was calibrated."""
    measured_unix_s: float
