"""A condition that must hold for the numbers to answer the question, and how it came out."""

from dataclasses import dataclass
from typing import Literal

GateState = Literal["ok", "doubtful", "failed", "not judged"]


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition and how it came out."""

    name: str
    state: GateState
    told: str
