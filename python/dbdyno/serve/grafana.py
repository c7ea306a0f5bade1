"""A dashboard for Grafana of what `/metrics` has, made from the same list."""

from __future__ import annotations

from dbdyno.serve.prometheus import GAUGES, PREFIX

_UNITS = {
    "share_done": "percentunit",
    "left_seconds_low": "s",
    "left_seconds_high": "s",
    "events_per_second": "ops",
    "errors_per_second": "ops",
    "response_seconds": "s",
}
"""Metric → Grafana's name of its unit; others have none."""
_LEGENDS = {
    "events_per_second": "{{study}} · {{cell}}",
    "errors_per_second": "{{study}} · {{cell}}",
    "response_seconds": "{{study}} · {{cell}} · {{quantile}}",
    "sampled": "{{study}} · {{panel}} · {{of}} ({{unit}})",
}
_SOURCE = {"type": "prometheus", "uid": "${source}"}
_HEIGHT, _WIDTH = 8, 12
"""Of a panel; a dashboard is 24 wide."""


def dashboard() -> dict[str, object]:
    """The dashboard as Grafana imports it; it asks for the data source, and offers the studies."""
    first = next(iter(GAUGES))
    studies = {
        "name": "study",
        "type": "query",
        "datasource": _SOURCE,
        "query": f"label_values({PREFIX}{first}, study)",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }
    source = {"name": "source", "type": "datasource", "query": "prometheus", "label": "Source"}
    return {
        "uid": "dbdyno-running",
        "title": "dbdyno: running studies",
        "tags": ["dbdyno"],
        "schemaVersion": 39,
        "refresh": "5s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": [source, studies]},
        "panels": [_panel(number, name) for number, name in enumerate(GAUGES)],
    }


def _panel(number: int, name: str) -> dict[str, object]:
    target = {
        "refId": "A",
        "datasource": _SOURCE,
        "expr": f'{PREFIX}{name}{{study=~"$study"}}',
        "legendFormat": _LEGENDS.get(name, "{{study}}"),
    }
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": GAUGES[name].rstrip("."),
        "datasource": _SOURCE,
        "gridPos": {
            "h": _HEIGHT,
            "w": _WIDTH,
            "x": _WIDTH * (number % 2),
            "y": _HEIGHT * (number // 2),
        },
        "fieldConfig": {"defaults": {"unit": _UNITS.get(name, "short"), "min": 0}},
        "targets": [target],
    }
