"""Drawings of these tests are held against Vega-Lite's schema, which a user's report is not."""

from collections.abc import Iterator

import pytest
from altair.utils import schemapi


@pytest.fixture(autouse=True)
def follows_the_schema() -> Iterator[None]:
    with schemapi.debug_mode(True):
        yield
