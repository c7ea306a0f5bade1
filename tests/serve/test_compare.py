"""Two studies side by side, a study through time, tags, and the dashboard for Grafana."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Served, serving
from stores import write_study

from dbdyno.serve.comparing import compared, word_of
from dbdyno.serve.grafana import dashboard
from dbdyno.serve.home import Home
from dbdyno.serve.inside import Inside
from dbdyno.serve.past import past
from dbdyno.serve.prometheus import GAUGES, PREFIX
from dbdyno.serve.stored import Mean, made_of, stored_answer

TABLE = """cell,clients,baseline,mean,ratio,ratio_95_low,ratio_95_high,verdict
"wal, full",4,"delete, full",80.5,3.5,3,4,faster
wal,nan,delete,80.5,x,0,1,faster
"""


def mean(cell: str, value: float, interval: tuple[float, float] | None) -> Mean:
    return Mean(cell, 4, value, interval, "")


def answer_with(folder: Path, *means: Mean, figure: str = "Throughput") -> None:
    """Gives a study's answer these figures."""
    document = json.loads((folder / "answer.json").read_text())
    document["figure"], document["unit"] = figure, "events/s"
    document["means"] = [
        {
            "cell": entry.cell,
            "clients": entry.clients,
            "value": entry.value,
            **dict(zip(("low", "high"), entry.interval or (None, None), strict=True)),
        }
        for entry in means
    ]
    (folder / "answer.json").write_text(json.dumps(document))


def declare(folder: Path, **keys: object) -> None:
    """Changes what a study declares."""
    document = json.loads((folder / "study.json").read_text())
    document["study"].update(keys)
    (folder / "study.json").write_text(json.dumps(document))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    before, after = write_study(tmp_path, "wal"), write_study(tmp_path, "wal.2")
    answer_with(before, mean("a", 100, (90, 110)), mean("b", 5, None), mean("gone", 1, None))
    answer_with(after, mean("a", 200, (190, 210)), mean("b", 6, None))
    level = {"name": "pg", "provision": "postgresql:18.4"}
    declare(after, factors=[{"name": "server", "levels": [level]}], question="Other words")
    return tmp_path


@pytest.fixture
def served(store: Path) -> Iterator[Served]:
    with serving(store) as opened:
        yield opened


def test_what_differs_is_what_is_measured_and_not_how_it_is_worded(store: Path) -> None:
    both = compared(Inside(store), "wal", "wal.2")
    assert [(entry.place, entry.base, entry.new) for entry in both.differences] == [
        ("factors · server · levels · pg · provision", "", "postgresql:18.4")
    ]
    back = compared(Inside(store), "wal.2", "wal")
    assert [(entry.base, entry.new) for entry in back.differences] == [("postgresql:18.4", "")]


def test_cells_of_both_are_paired_and_judged_by_their_intervals(store: Path) -> None:
    both = compared(Inside(store), "wal", "wal.2")
    assert [(pair.new.cell, pair.ratio, pair.word) for pair in both.pairs] == [
        ("a", 2.0, "higher"),
        ("b", 1.2, "no interval: one block"),
    ]
    assert both.unpaired == ("base: gone, 4 clients",)
    back = compared(Inside(store), "wal.2", "wal")
    assert (back.pairs[0].ratio, back.pairs[0].word) == (0.5, "lower")
    overlapping = word_of(mean("a", 1, (0.5, 2)), mean("a", 3, (2, 4)))
    assert overlapping == "can't tell: the intervals overlap"


def test_studies_of_other_figures_have_no_ratio(store: Path) -> None:
    answer_with(store / "wal.2", mean("a", 200, (190, 210)), figure="Response time, p99")
    both = compared(Inside(store), "wal", "wal.2")
    assert both.pairs == ()


def test_the_pages_choose_swap_and_name_the_command_that_judges(served: Served) -> None:
    page = served.get("/compare?base=wal&new=wal.2").text
    assert 'href="/compare?base=wal.2&amp;new=wal"' in page
    assert page.index("What differs") < page.index('id="pairs"')
    assert "dbdyno compare wal wal.2 --store" in page
    assert served.get("/compare?base=wal&new=none").status == 404
    choices = re.findall(r"<option>(.*?)</option>", served.get("/compare").text)
    assert choices == ["wal", "wal.2"] * 2
    for where in ("/", "/studies/wal/history"):
        for link in re.findall(r'href="(/[^"]*)"', served.get(where).text):
            assert served.get(link.replace("&amp;", "&")).status == 200


def test_a_history_follows_one_effect_through_all_repeats(store: Path, served: Served) -> None:
    document = json.loads((store / "wal" / "answer.json").read_text())
    document["effects"] = []
    (store / "wal" / "answer.json").write_text(json.dumps(document))
    write_study(store, "wal.old.3")
    history = past(Inside(store), Home(Inside(store)).repeats("wal.2"))
    assert {
        time.row.study: time.effect.ends if time.effect else None for time in history.times
    } == {
        "wal.2": (1.5, 2.0, 2.5),
        "wal": None,
    }
    page = served.get("/studies/wal.2/history").text
    assert 'href="/studies/wal/"' in page and 'href="/studies/wal.2/"' in page
    assert served.get("/studies/none/history").status == 404


def test_an_answer_of_before_has_the_effects_of_its_report(store: Path) -> None:
    (store / "wal" / "answer.json").unlink()
    (store / "wal" / "report").mkdir()
    (store / "wal" / "report" / "comparisons.csv").write_text(TABLE)
    (effect,) = stored_answer(Inside(store), "wal").effects
    assert (effect.cell, effect.clients, effect.ends) == ("wal, full", 4, (3.0, 3.5, 4.0))
    row = Home(Inside(store)).row("wal")
    assert row is not None and row.effect == (3.0, 3.5, 4.0)


def test_tags_find_studies_like_it(store: Path) -> None:
    home = Home(Inside(store))
    rows, count = home.rows("postgresql")
    assert (count, rows[0].study) == (1, "wal.2")
    assert rows[0].tags == ("postgresql", "throughput", "small")


def test_a_document_without_end_is_cut(store: Path) -> None:
    deep: object = "x"
    for _ in range(100):
        deep = {"a": [deep]}
    declare(store / "wal", load={str(number): number for number in range(5000)}, host=deep)
    assert len(made_of(Inside(store), "wal")) <= 2100
    both = compared(Inside(store), "wal", "wal.2")
    assert len(both.differences) == 200 and both.more_differences > 1000


def test_the_dashboard_has_a_panel_for_each_metric() -> None:
    made = dashboard()
    text = json.dumps(made)
    asked = set(re.findall(rf"{PREFIX}(\w+)\{{study=~", text))
    assert asked == set(GAUGES)
    places = [panel["gridPos"] for panel in made["panels"]]  # type: ignore[attr-defined]
    assert len({(place["x"], place["y"]) for place in places}) == len(GAUGES)
