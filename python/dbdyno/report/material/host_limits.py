"""What server, proxies, members and clients of a run were allowed of the machine's processors."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.report.material.material import RunMaterial

_PART = "limits"
"""The part of the host that limits; of a member, its name and a colon stand before it."""


def clients_limit(run: RunMaterial) -> float | None:
    """Processors of all clients together; `None`: unlimited, or not known."""
    return _allowed(run, _PART, "client_cpus")


def limit_of(run: RunMaterial, name: str) -> float | None:
    """Processors of a member, or of all proxies together (`proxy`)."""
    return _allowed(run, f"{name}: {_PART}", "cpus")


def _allowed(run: RunMaterial, part: str, name: str) -> float | None:
    changed = run.facts.get("host_change")
    facts = changed.get(part) if isinstance(changed, Mapping) else None
    after = facts.get("after") if isinstance(facts, Mapping) else None
    value = after.get(name) if isinstance(after, Mapping) else None
    return float(value) if isinstance(value, int | float) else None
