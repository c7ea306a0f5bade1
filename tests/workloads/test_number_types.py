"""`number_types`: sums of one number in four types, whose results follow from the rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from driven import Driven, open_driven

pytestmark = pytest.mark.slow

ROWS = 20_000


@pytest.fixture(scope="module")
def clickhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    with open_driven("clickhouse@system", tmp_path_factory.mktemp("clickhouse")) as driven:
        yield driven


@pytest.mark.parametrize("values", ["very", "somewhat", "poorly"])
def test_every_type_has_the_sums_of_the_rows(values: str, clickhouse: Driven) -> None:
    filled = clickhouse.call("number_types", "prepare", rows=ROWS, values=values)
    assert filled.complaint == ""
    for column in ("UInt32", "UInt64", "Float32", "Float64"):
        ran = clickhouse.run(
            "number_types", events=20, clients=2, rows=ROWS, values=values, column=column
        )

        assert ran.complaint == ""
        labels = {h.label for h in ran.summary.histograms if h.subject == "event"}
        assert {"main/Q1", "main/Q2"} <= labels
        assert any(line.startswith(f"column nq_{column}: ") for line in ran.lines)
    assert clickhouse.call("number_types", "cleanup").complaint == ""


def test_other_rows_are_found(clickhouse: Driven) -> None:
    assert clickhouse.call("number_types", "prepare", rows=ROWS, values="poorly").complaint == ""

    complaint = clickhouse.run("number_types", events=1, rows=ROWS, values="somewhat").complaint

    assert "the sum is" in complaint
    assert "--values=somewhat" in complaint
    assert clickhouse.call("number_types", "cleanup").complaint == ""


@pytest.mark.parametrize(
    ("column", "values", "problem"),
    [("Int8", "poorly", "expected UInt32, UInt64"), ("UInt32", "most", "expected very")],
)
def test_other_options_are_refused(
    column: str, values: str, problem: str, clickhouse: Driven
) -> None:
    clickhouse.call("number_types", "prepare", rows=10)

    ran = clickhouse.run("number_types", events=1, rows=10, column=column, values=values)

    assert problem in ran.complaint
    assert clickhouse.call("number_types", "cleanup").complaint == ""


def test_another_server_is_refused(tmp_path: Path) -> None:
    with open_driven("sqlite", tmp_path) as sqlite:
        complaint = sqlite.call("number_types", "prepare", rows=10).complaint

    assert "number_types is for ClickHouse" in complaint
