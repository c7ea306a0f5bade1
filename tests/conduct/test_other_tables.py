"""Which tables are looked at after a load."""

import pytest

from dbdyno.conduct.verify import verify_others
from dbdyno.model import Loaded
from dbdyno.servers import Contents


@pytest.mark.parametrize(
    ("loaded", "others"),
    [
        (["sbtest1"], ["log", "b.sbtest1"]),
        (['public."SBTEST1"'], ["log", "b.sbtest1"]),
        (["b.sbtest1"], ["sbtest1", "log"]),
        (["log", "sbtest1", "b.sbtest1"], []),
    ],
)
def test_a_table_is_looked_at_once_however_it_is_named(
    loaded: list[str], others: list[str]
) -> None:
    there = {"sbtest1": "public.sbtest1", "log": "public.log", "b.sbtest1": "b.sbtest1"}
    asked = []

    def look(table: str, *, checksum: bool) -> Contents:
        asked.append(table)
        return Contents(3)

    known = [Loaded(table, 3) for table in loaded]
    found = list(verify_others("prepare", there, known, "counts", look))
    assert [load.table for load in found] == others
    assert asked == [there[table] for table in others]
