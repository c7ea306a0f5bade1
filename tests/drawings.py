"""Validates what the report draws against Vega-Lite's schema."""

from __future__ import annotations

import json
from typing import Any

from dbdyno.report.charts.chart import Drawing

_valid: set[str] = set()


def validated(drawing: Drawing) -> dict[str, Any]:
    """The specification of a drawing. Raises Altair's error for the first it breaks of the schema's
    rules. Validating takes longer than all else of a report, so an equal one is not looked at
    again."""
    specification = dict(drawing.to_dict(validate=False))
    text = json.dumps(specification, sort_keys=True)
    if text not in _valid:
        drawing.to_dict(validate=True)
        _valid.add(text)
    return specification
