"""Where programs run: this machine, or hosts of a Ray cluster. Ray is imported in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbdyno.lazy import on_demand

if TYPE_CHECKING:
    from dbdyno.places.clock import ClockLine, Trip, clock_line
    from dbdyno.places.cluster import Cluster, open_cluster, require_ray
    from dbdyno.places.local import HERE
    from dbdyno.places.place import Place, Running
    from dbdyno.places.shipped import ship

__all__ = [
    "HERE",
    "ClockLine",
    "Cluster",
    "Place",
    "Running",
    "Trip",
    "clock_line",
    "open_cluster",
    "require_ray",
    "ship",
]

_PLACES = {
    "ClockLine": "clock",
    "Trip": "clock",
    "clock_line": "clock",
    "Cluster": "cluster",
    "open_cluster": "cluster",
    "require_ray": "cluster",
    "HERE": "local",
    "Place": "place",
    "Running": "place",
    "ship": "shipped",
}

__getattr__ = on_demand(__name__, _PLACES)
