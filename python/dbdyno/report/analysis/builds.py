"""Servers that were built with other features than those they are compared with: a part of every
difference between them."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.material.material import RunMaterial


def built_differently(analysis: Analysis) -> list[str]:
    """One sentence where compared cells have servers of one kind that were built differently."""
    builds: dict[tuple[str, ...], dict[str, None]] = {}
    for run in analysis.material.runs:
        features = _features(run)
        if features is not None:
            builds.setdefault(features, {})[_server(run)] = None
    if len(builds) < 2:
        return []
    listed = [
        f"{', '.join(servers)} with {', '.join(features) or 'none of these'}"
        for features, servers in builds.items()
    ]
    return [f"Servers were built differently, which is part of what differs: {'; '.join(listed)}."]


def _features(run: RunMaterial) -> tuple[str, ...] | None:
    server = run.facts.get("server")
    found = server.get("features") if isinstance(server, Mapping) else None
    return tuple(map(str, found)) if isinstance(found, list) else None


def _server(run: RunMaterial) -> str:
    return run.manifest.versions.get("server") or run.manifest.provision
