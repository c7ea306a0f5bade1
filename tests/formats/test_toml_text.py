"""What is written as TOML is read as the same."""

from __future__ import annotations

import datetime
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.formats.toml_text import dump_toml

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, VALUES, max_size=5))
def test_any_document_comes_back(document: dict[str, object]) -> None:
    assert tomllib.loads(dump_toml(document)) == document


def test_it_reads_like_a_study() -> None:
    document = {"server": {"a": {"provision": "sqlite"}}, "question": "Why?", "load": {"x": [1]}}
    assert dump_toml(document) == (
        'question = "Why?"\n\n[server]\na = { provision = "sqlite" }\n\n[load]\nx = [1]\n'
    )


def test_other_values_are_refused() -> None:
    with pytest.raises(TypeError, match="no TOML for date"):
        dump_toml({"day": datetime.date(2026, 1, 1)})
