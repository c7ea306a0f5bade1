"""Errors that a study declares as part of its load, such as serialization failures: counts them
apart from a step's other errors, and says whether there are more than the study allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.model.limits import MOST_ERRORS, attempted
from dbdyno.model.result import StepSummary

ALL = "all"
"""The declared code that every error falls under that no other code claims."""

_SQLITE = {"SQLITE_BUSY": "5", "SQLITE_LOCKED": "6", "SQLITE_CONSTRAINT": "19"}
"""SQLite's name → the number that the engine counts it by."""

MYSQL_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "08S01": ("1047", "1053", "1152", "1158", "1159", "1160", "1161", "1184"),
    "23000": ("1062", "1022", "1048", "1216", "1217", "1451", "1452", "1557", "1586"),
    "40001": ("1213", "1614"),
    "45000": ("1644",),
}
"""SQLSTATE → the numbers that the engine counts it by on MySQL and MariaDB."""

SQLITE_NAMES = tuple(_SQLITE)
DUCKDB_TYPES = ("Transaction", "TransactionContext", "Constraint", "Conversion", "OutOfMemory")
"""Types of DuckDB's errors that may belong to a load: the engine counts them by these."""


def engine_code(code: str) -> str:
    """The number by which the engine counts SQLite's name; any other code as it is."""
    return _SQLITE.get(code, code)


@dataclass(frozen=True, slots=True)
class SortedErrors:
    """A step's errors, the declared ones apart."""

    tried: int
    """Statements or operations tried, failed ones included (`attempted`)."""
    undeclared: Mapping[str, int] = field(default_factory=dict)
    """Code → errors; those without a code under an empty one."""
    declared: Mapping[str, int] = field(default_factory=dict)
    """Declared code → errors; only those there were."""
    expects: bool = False
    """Whether the study declares any."""
    beyond: Mapping[str, float] = field(default_factory=dict)
    """Declared codes with more errors than the study allows → the share allowed, (0, 1]."""

    @property
    def too_many_undeclared(self) -> bool:
        """More undeclared ones than are tolerated."""
        return self.unexpected > MOST_ERRORS * self.tried

    @property
    def expected(self) -> int:
        """Errors that are part of the load."""
        return sum(self.declared.values())

    @property
    def unexpected(self) -> int:
        """Errors that are not part of it."""
        return sum(self.undeclared.values())

    def share(self, errors: int) -> float:
        """`errors` as a share of what was tried, from 0 to 1; 0 if nothing was tried."""
        return errors / self.tried if self.tried else 0.0


def sorted_errors(summary: StepSummary, expected: Mapping[str, float]) -> SortedErrors:
    """The errors of a step; `expected`: declared code → share of what was tried, (0, 1]."""
    tried = attempted(summary)
    codes = dict(summary.errors_by_code)
    nameless = summary.errors - sum(codes.values())
    if nameless > 0:
        codes[""] = codes.get("", 0) + nameless
    declared: dict[str, int] = {}
    undeclared: dict[str, int] = {}
    for code, errors in codes.items():
        claimed = _declared_as(code, expected)
        if claimed is None:
            undeclared[code] = errors
        elif errors:
            declared[claimed] = declared.get(claimed, 0) + errors
    beyond = {code: expected[code] for code in declared if declared[code] > expected[code] * tried}
    return SortedErrors(tried, undeclared, declared, bool(expected), beyond)


def too_many_errors(summary: StepSummary, expected: Mapping[str, float]) -> bool:
    """More undeclared errors than are tolerated, or more declared ones than the study allows."""
    errors = sorted_errors(summary, expected)
    return errors.too_many_undeclared or bool(errors.beyond)


def _declared_as(code: str, expected: Mapping[str, float]) -> str | None:
    """The declared code that an error's falls under: itself or another name of it, the class of a
    SQLSTATE, then `all`; `None`: it is not expected."""
    states = [code, *(state for state, numbers in MYSQL_NUMBERS.items() if code in numbers)]
    names = [name for name in expected if code and _SQLITE.get(name) == code]
    classes = [state[:2] for state in states if len(state) == _SQLSTATE]
    return next((name for name in (*states, *names, *classes, ALL) if name in expected), None)


_SQLSTATE = 5
"""Characters of a SQLSTATE."""
