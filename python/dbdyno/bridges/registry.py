"""Finds the bridges: the modules of this room that have a `BRIDGE`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import dbdyno.bridges
from dbdyno.bridges.bridge import Bridge, Text
from dbdyno.errors import unknown_name
from dbdyno.plugins import plugins


@cache
def bridges() -> Mapping[str, Bridge]:
    """All, by the tool's name."""
    return {bridge.tool: bridge for _, bridge in plugins(dbdyno.bridges, "BRIDGE")}


def find_bridge(tool: str) -> Bridge:
    """Raises `UsageError` with the tools there are."""
    known = bridges()
    if tool not in known:
        raise unknown_name(f"nothing can be imported from `{tool}`", tool, tuple(known))
    return known[tool]


def recognise(text: Text) -> Bridge:
    """The bridge whose tool printed this. Raises `UsageError` if there is none, or several."""
    known = bridges()
    matched = [bridge for bridge in known.values() if bridge.recognises(text.content)]
    if len(matched) == 1:
        return matched[0]
    lines = text.content.splitlines()
    shown = next((line.strip() for line in lines if line.strip()), "")
    if not matched:
        raise text.error(
            f"not recognised as the output of any of {', '.join(known)}; begins {shown[:60]!r}",
            line=1,
            hint="name the tool with --tool; what its text must have is in "
            "docs/guides/coming-from-other-tools.md",
        )
    names = " and ".join(bridge.tool for bridge in matched)
    raise text.error(f"could be of {names}", line=1, hint="name the tool with --tool")
