"""`trigger_load`: every row is stamped, by whoever it is told to be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.engine import find_script
from dbdyno.engine.script import script_path
from dbdyno.servers import open_server
from driven import Driven

pytestmark = pytest.mark.slow


@pytest.fixture
def emptied(driven: Driven) -> Iterator[Driven]:
    driven.call("trigger_load", "cleanup")
    yield driven
    assert driven.call("trigger_load", "cleanup").complaint == ""


@pytest.mark.parametrize("stamp", ["client", "sql"])
def test_every_row_is_stamped(stamp: str, emptied: Driven) -> None:
    assert emptied.call("trigger_load", "prepare", stamp=stamp).complaint == ""

    ran = emptied.run("trigger_load", events=6, clients=2, stamp=stamp, rows=300, check_after=True)

    assert ran.complaint == ""
    counted = emptied.rows("SELECT COUNT(*), COUNT(insert_ts), MAX(transaction_id) FROM transdtls")
    whole = str(300 * ran.summary.total.events)
    assert counted == [[whole, whole, "299"]]
    assert {h.label for h in ran.summary.histograms} >= {f"main/{stamp}"}


def test_a_row_without_its_time_is_found(emptied: Driven) -> None:
    emptied.call("trigger_load", "prepare", stamp="client")
    emptied.run("trigger_load", events=1, clients=1, stamp="client", rows=20)

    emptied.rows("UPDATE transdtls SET insert_ts = NULL WHERE transaction_id = 7")

    told = emptied.call("trigger_load", "check")
    assert "every row has the time of its insertion: (7)" in told.complaint


def test_a_way_of_stamping_that_is_none_is_told(emptied: Driven) -> None:
    told = emptied.call("trigger_load", "prepare", stamp="rust")

    assert "--stamp=rust: on" in told.complaint


@pytest.fixture(scope="module")
def with_functions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    """A PostgreSQL whose package has the headers that its functions in C are made with."""
    folder = tmp_path_factory.mktemp("functions")
    source = Path(find_script("trigger_load", script_path())).parent / "parts" / "stamp.c"
    text, settings = "postgresql:16.14@wheel", {"fsync": "off"}
    with open_server(text, settings, folder, c_functions=(source,)) as server:
        server.start()
        yield Driven(server, "pgsql", folder)


@pytest.mark.parametrize(
    "symbol", ["stamp_by_number", "stamp_by_name", "stamp_by_spi_number", "stamp_by_spi_name"]
)
def test_a_trigger_in_c_stamps_too(symbol: str, with_functions: Driven) -> None:
    made = with_functions.call("trigger_load", "prepare", stamp="c", library="stamp", symbol=symbol)
    assert made.complaint == ""

    ran = with_functions.run("trigger_load", events=4, stamp="c", rows=200, check_after=True)

    assert ran.complaint == ""
    with_functions.rows("UPDATE transdtls SET transaction_id = 200 WHERE transaction_id = 0")
    counted = "SELECT COUNT(*), COUNT(insert_ts), COUNT(update_ts) FROM transdtls"
    whole, updated = 200 * ran.summary.total.events, ran.summary.total.events
    assert with_functions.rows(counted) == [[str(whole), str(whole), str(updated)]]
    assert with_functions.call("trigger_load", "cleanup").complaint == ""
