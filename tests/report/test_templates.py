"""Compiled templates are kept in the cache, and never trusted to be whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.cache import CACHE_VARIABLE
from dbdyno.report.page.paper import environment

NAME = "macros.html.j2"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("left", [0, 3, 12, 40, -1])
def test_a_damaged_template_is_compiled_and_kept_anew(cache: Path, left: int) -> None:
    environment().get_template(NAME)
    (kept,) = (cache / "report").glob("*.jinja")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:left])
    assert environment().get_template(NAME).name == NAME
    assert kept.read_bytes() == whole
    kept.write_bytes(whole[:12] + b"\x80" * 100)
    assert environment().get_template(NAME).name == NAME
    assert kept.read_bytes() == whole


def test_a_cache_that_cannot_be_written_only_costs_time(cache: Path) -> None:
    cache.write_text("a file")
    assert environment().get_template(NAME).name == NAME
