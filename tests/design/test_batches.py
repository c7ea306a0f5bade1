"""Which cells are up together, and when a study is driven in turns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbdyno.design.batches import batches, order_of, turns_of, why_not_turns
from dbdyno.design.identity import design_digest
from dbdyno.design.plan import plan
from dbdyno.model import OWN_HOST_PARTS, Design, Factor, Level, Load, Order, Study, Workload
from dbdyno.setters.registry import setters

SERVER = Factor("server", (Level("old", "sqlite"), Level("new", "sqlite")))
SCRIPT = Factor("script", (Level("read", script="a"), Level("write", script="b")))
PAGES = Factor(
    "pages",
    (Level("huge", host={"transparent_hugepages": "always"}), Level("small")),
)


def study(*factors: Factor, order: Order | None = None, measure_s: float | None = 10.0) -> Study:
    return Study(
        name="example",
        question="Which?",
        factors=(SERVER, *(each for each in factors if each is not SERVER)),
        workload=Workload("a"),
        load=Load(clients=(1,), warm_up_s=1.0, measure_s=measure_s),
        design=Design(blocks=2, order=order),
    )


def labels(one: Study) -> list[list[str]]:
    made = plan(one)
    return [sorted(run.label for run in batch) for batch in batches(made, made.runs)]


def test_servers_of_one_script_are_up_together() -> None:
    assert order_of(study(SERVER, SCRIPT)) == "turns"
    assert sorted(labels(study(SERVER, SCRIPT))) == [
        ["new, read", "old, read"],
        ["new, read", "old, read"],
        ["new, write", "old, write"],
        ["new, write", "old, write"],
    ]


def test_cells_that_differ_in_script_are_up_together_where_a_study_says_so() -> None:
    asked = study(SERVER, SCRIPT, PAGES)
    wide = replace(asked, design=replace(asked.design, together="all"))

    assert [len(batch) for batch in labels(wide)] == [4, 4, 4, 4]
    assert {tuple({one.split(", ")[2] for one in batch}) for batch in labels(wide)} == {
        ("huge",),
        ("small",),
    }
    assert design_digest(wide) != design_digest(asked)


def test_options_alone_keep_cells_apart_unless_a_study_says_otherwise() -> None:
    rows = Factor("rows", (Level("few", options={"rows": 1}), Level("many", options={"rows": 9})))
    asked = replace(study(rows), factors=(Factor("server", SERVER.levels[:1]), rows))
    wide = replace(asked, design=replace(asked.design, together="all"))

    assert order_of(asked) == "runs"
    assert '`together = "all"`' in (why_not_turns(asked) or "")
    assert order_of(wide) == "turns"


def test_a_server_by_url_has_the_tables_of_one_script_at_a_time() -> None:
    there = Factor("server", (Level("there", "url:postgresql://localhost/test"),))
    asked = replace(study(SCRIPT), factors=(there, SCRIPT))
    wide = replace(asked, design=replace(asked.design, together="all"))

    assert order_of(wide) == "runs"
    assert "[design]" not in (why_not_turns(asked) or "")


def test_a_state_of_the_host_is_not_shared() -> None:
    assert sorted(labels(study(PAGES, order="turns"))) == [
        ["new, huge", "old, huge"],
        ["new, huge", "old, huge"],
        ["new, small", "old, small"],
        ["new, small", "old, small"],
    ]


def test_what_is_a_runs_own_of_the_host_keeps_nobody_apart() -> None:
    disks = Factor(
        "disk",
        (Level("ext4", host={"filesystem": "ext4"}), Level("xfs", host={"filesystem": "xfs"})),
    )

    assert order_of(study(disks)) == "turns"
    assert [len(batch) for batch in labels(study(disks))] == [4, 4]


def test_every_part_that_is_a_runs_own_is_a_setter() -> None:
    assert set(setters()) >= OWN_HOST_PARTS


def test_a_study_of_one_cell_has_nothing_to_take_turns_with() -> None:
    alone = replace(study(), factors=(Factor("server", (Level("only", "sqlite"),)),))

    assert order_of(alone) == "runs"


def test_with_runs_each_cell_is_alone() -> None:
    assert all(len(batch) == 1 for batch in labels(study(SERVER, order="runs")))


def test_a_window_too_short_for_two_turns_is_one_window() -> None:
    assert "fewer than 2 turns" in (why_not_turns(study(SERVER, measure_s=3.0)) or "")
    assert order_of(study(SERVER, measure_s=3.0)) == "runs"


def test_a_window_by_events_has_no_turns() -> None:
    assert "number of events" in (why_not_turns(study(SERVER, measure_s=None)) or "")


def test_turns_fill_the_window() -> None:
    assert turns_of(study(SERVER)) == 5


def test_the_order_is_part_of_a_plans_identity() -> None:
    turns, runs = study(SERVER, order="turns"), study(SERVER, order="runs")

    assert plan(turns).fingerprint != plan(runs).fingerprint
    longer = replace(turns, design=replace(turns.design, turn_s=5.0))
    assert plan(turns).fingerprint != plan(longer).fingerprint


def test_how_many_turns_a_block_has_is_extent_and_not_identity() -> None:
    short, long = (study(SERVER, order="turns", measure_s=seconds) for seconds in (4.0, 40.0))

    assert turns_of(short) < turns_of(long)
    assert plan(short).fingerprint == plan(long).fingerprint
    assert design_digest(short) != design_digest(long)
    alone = (study(SERVER, order="runs", measure_s=seconds) for seconds in (4.0, 40.0))
    assert len({plan(one).fingerprint for one in alone}) == 2


@pytest.mark.parametrize("seed", range(20))
def test_batches_are_balanced_as_cells_are(seed: int) -> None:
    """Placed by its first cell, a batch whose cells come first and last in an order would come
    first in the reversed order, too."""
    made = plan(study(SERVER, SCRIPT), seed=seed, blocks=8)
    found = [batch[0].cell.levels["script"] for batch in batches(made, made.runs)]
    firsts = found[::2]

    assert [run.cell.levels["script"] for run in made.runs] == [one for one in found for _ in "ab"]
    assert firsts.count("read") == firsts.count("write") == 4
    assert all(one != other for one, other in zip(firsts[::2], firsts[1::2], strict=True))
