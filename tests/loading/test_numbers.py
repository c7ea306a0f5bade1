"""Rows behind a load that was refused have the numbers that they have behind a refused INSERT."""

from __future__ import annotations

from pathlib import Path

import pytest

from driven import Driven

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "numbers.lua"
PLAIN = "(n int AUTO_INCREMENT PRIMARY KEY, v varchar(3))"
UNIQUE = "(n int AUTO_INCREMENT PRIMARY KEY, v varchar(3) UNIQUE)"
NUMBERED = "INSERT INTO w (v) VALUES"
OWN = "INSERT INTO w (n, v) VALUES"


@pytest.mark.parametrize(
    ("column", "prefix", "rows"),
    [
        (PLAIN, NUMBERED, "('a')|('b')|('long')|('d')"),
        (PLAIN, NUMBERED, "('long')|('b')|('c')"),
        (UNIQUE, NUMBERED, "('a')|('b')|('a')|('d')"),
        (f"{PLAIN} AUTO_INCREMENT = 7", NUMBERED, "('a')|('b,(1,2)')|('c')"),
        (PLAIN, OWN, "(10, 'a')|(50, 'b')|(60, 'long')"),
        (PLAIN, OWN, "(10, 'a')|(50, 'b')|(50, 'c')|(90, 'd')"),
    ],
)
def test_a_refused_load_uses_up_as_many_numbers(
    driven: Driven, column: str, prefix: str, rows: str
) -> None:
    if driven.driver != "mysql":
        pytest.skip("its tables have no counter of their own")
    asked = {"column": column, "prefix": prefix, "rows": rows}
    inserted, loaded = (driven.fill(str(SCRIPT), loaders=n, **asked) for n in (0, 2))
    assert inserted.complaint == loaded.complaint == ""
    assert inserted.lines[0] == "refused"
    assert len(inserted.lines) == 4
    assert loaded.lines == inserted.lines


@pytest.mark.parametrize(
    ("column", "prefix", "rows", "kept"),
    [
        (UNIQUE, NUMBERED, "('a'), ('b')|('c')", "a b c x y z"),
        (UNIQUE, "INSERT IGNORE INTO w (v) VALUES", "('a')|('a')|('b')", "a b x y z"),
        (UNIQUE, "REPLACE INTO w (n, v) VALUES", "(1, 'a')|(1, 'b')|(2, 'b')", "b x y z"),
    ],
)
def test_an_insert_may_store_more_or_fewer_rows_than_it_was_given(
    driven: Driven, column: str, prefix: str, rows: str, kept: str
) -> None:
    if driven.driver != "mysql" and prefix != NUMBERED:
        pytest.skip("a statement of MySQL")
    its = {"pgsql": "serial PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY"}.get(driven.driver)
    own = column.replace("int AUTO_INCREMENT PRIMARY KEY", its) if its else column
    asked = {"column": own, "prefix": prefix, "rows": rows}
    for loaders in (0, 2):
        made = driven.fill(str(SCRIPT), loaders=loaders, **asked)
        assert made.complaint == ""
        assert made.lines[0] == "stored"
        assert sorted(line.split()[1] for line in made.lines[1:]) == kept.split()


@pytest.mark.parametrize(
    ("third", "next_numbers"),
    [("a", [4, 6]), ("long", [1, 6])],
    ids=["refused by its index", "refused before the first row"],
)
def test_a_refused_batch_of_postgresql_skips_its_numbers(
    driven: Driven, third: str, next_numbers: list[int]
) -> None:
    """The server skips those of rows that it came to, and loaders those of the whole batch."""
    if driven.driver != "pgsql":
        pytest.skip("other servers have no sequences")
    asked = {
        "column": "(n serial PRIMARY KEY, v varchar(3) UNIQUE)",
        "prefix": NUMBERED,
        "rows": f"('a')|('b')|('{third}')|('d')|('e')",
    }
    inserted, loaded = (driven.fill(str(SCRIPT), loaders=n, **asked) for n in (0, 2))
    assert inserted.complaint == loaded.complaint == ""
    assert inserted.lines[0] == loaded.lines[0] == "refused"
    first = [int(made.lines[1].split()[0]) for made in (inserted, loaded)]
    assert first == next_numbers
