"""A condition that must hold for the figures to answer the question, and its result."""

from dataclasses import dataclass
from typing import Literal

GateState = Literal["ok", "doubtful", "failed", "not judged"]


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition and its result."""

    name: str
    state: GateState
    told: str
