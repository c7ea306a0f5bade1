"""Merging hosts that are made up: nothing is lost, whatever their number."""

from __future__ import annotations

import logging

import pytest

from bench.many_hosts import EVENTS_PER_S, merge

LOG = logging.getLogger(__name__)


@pytest.mark.parametrize(("hosts", "intervals"), [(1, 5), (7, 12)])
def test_everything_is_merged_once(hosts: int, intervals: int) -> None:
    merged = merge(hosts, intervals)

    assert merged.events == hosts * intervals * EVENTS_PER_S
    assert merged.bytes_received > hosts * intervals * 1000
    assert merged.cpu_s > 0 and merged.figures_cpu_s > 0


@pytest.mark.nightly
def test_what_64_hosts_of_ten_minutes_cost_is_noted() -> None:
    merged = merge(64, 600)

    LOG.info("%s", merged)
    assert merged.events == 64 * 600 * EVENTS_PER_S
