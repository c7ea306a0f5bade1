"""Servers that were built with other features than those they are compared with: a part of every
difference between them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbdyno.model.study import BY_URL
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.material.material import RunMaterial


def built_differently(analysis: Analysis) -> list[str]:
    """One sentence where compared cells have servers of one kind that were built differently."""
    kinds: dict[str, dict[tuple[str, ...], dict[str, None]]] = {}
    for run in analysis.material.runs:
        features = _features(run)
        if features is not None:
            builds = kinds.setdefault(_kind(run), {})
            builds.setdefault(features, {})[_server(run)] = None
    listed = [
        f"{', '.join(servers)} with {', '.join(features) or 'none of these'}"
        for builds in kinds.values()
        if len(builds) > 1
        for features, servers in builds.items()
    ]
    sentence = (
        f"Servers were built differently, which is part of what differs: {'; '.join(listed)}."
    )
    return [sentence] if listed else []


def _kind(run: RunMaterial) -> str:
    """Of a provision text, by URL or not."""
    return re.split("[:@+]", run.manifest.provision.removeprefix(BY_URL))[0]


def _features(run: RunMaterial) -> tuple[str, ...] | None:
    server = run.facts.get("server")
    found = server.get("features") if isinstance(server, Mapping) else None
    return tuple(map(str, found)) if isinstance(found, list) else None


def _server(run: RunMaterial) -> str:
    return run.manifest.versions.get("server") or run.manifest.provision
