"""Turns a store into a page: what the runs of a study say, and how certain it is.

A report is a pure function of the store: it uses no server, engine or collector, and any stored
study can be reported again by a later version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbdyno.lazy import on_demand

if TYPE_CHECKING:
    from dbdyno.report.written import Written, write

__all__ = ["Written", "write"]

_PLACES = {"Written": "written", "write": "written"}

__getattr__ = on_demand(__name__, _PLACES)
