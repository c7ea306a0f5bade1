"""Servers of suites that move: a test that needs one is skipped, loudly, where the suite has none
of that version any more. Nothing in CI needs one."""

import pytest

from dbdyno.errors import ServerError
from dbdyno.servers import fetch


def fetch_or_skip(provision: str) -> None:
    """Gets the server, or skips the test."""
    try:
        fetch(provision)
    except ServerError as error:
        pytest.skip(f"SKIPPED: {provision} can't be had today: {error.message}")
