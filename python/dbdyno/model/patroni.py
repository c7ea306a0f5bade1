"""Patroni's times, and how long a cluster may be without a primary by them."""

from __future__ import annotations

from collections.abc import Mapping

TTL_S = 30
"""How long a primary that says nothing keeps its lead: Patroni's default `ttl`."""
LOOP_WAIT_S = 10
"""Between two looks of each Patroni: its default `loop_wait`."""
RETRY_TIMEOUT_S = 10
"""How long Patroni tries again before it takes etcd or PostgreSQL for lost: its default."""


def bound_s(asked: Mapping[str, object]) -> int:
    """Seconds from a node's death until there is a new primary, at most, where elections need no
    second look: the lead lasts `ttl`, and the others look once in `loop_wait`. `asked`: a level's
    keys."""
    ttl_s, loop_wait_s = asked.get("ttl", TTL_S), asked.get("loop_wait", LOOP_WAIT_S)
    assert isinstance(ttl_s, int) and isinstance(loop_wait_s, int), "their schema has seen to it"
    return ttl_s + loop_wait_s
