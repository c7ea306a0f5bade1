"""Events per dollar: a figure of each cell by what its levels cost an hour."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_runs import World, page_of, write_study

from dbdyno.errors import StudyError
from dbdyno.formats.study import read_study
from dbdyno.model import PER_DOLLAR
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.material.gather import gather
from dbdyno.stats import Verdict

STUDY = """\
question = "Which machine gives most for its price?"
primary = {{ metric = "events_per_dollar", better = "higher", smallest_effect = "5 %" }}

[server.sqlite]
provision = "sqlite"

[factor.machine]
small = {{ settings = {{ cache_size = 100 }} }}
large = {{ settings = {{ cache_size = 200 }} }}

[workload]
script = "kv_update"

[load]
clients = [1]
measure = "4 s"

[design]
blocks = 3
baseline = {{ machine = "small" }}

{prices}
"""
PRICES = "[prices]\nmachine = { small = 0.10, large = 0.30 }"
RATES = {"small": 100.0, "large": 200.0}


def made_up(folder: Path) -> Path:
    """Twice the rate for three times the price."""
    noise = (0.99, 1.0, 1.01)
    world = World(
        lambda run, _step, second: (
            RATES[run.cell.levels["machine"]] * noise[run.block - 1] * (1 + 0.01 * (second % 2))
        )
    )
    return write_study(folder, STUDY.format(prices=PRICES), world)


def test_the_faster_machine_may_give_less_for_its_price(tmp_path: Path) -> None:
    analysis = analyse(gather(made_up(tmp_path), "study"))

    by_machine = {point.label: point.values(PER_DOLLAR) for point in analysis.points}
    rates = {point.label: point.values("throughput") for point in analysis.points}
    for machine, price in (("small", 0.10), ("large", 0.30)):
        for block, value in by_machine[machine].items():
            assert value == pytest.approx(rates[machine][block] * 3600 / price)
    (comparison,) = analysis.comparisons
    assert comparison.judgement.verdict is Verdict.WORSE


def test_later_prices_change_the_figure_of_the_same_runs(tmp_path: Path) -> None:
    store = made_up(tmp_path)
    later = tmp_path / "study.toml"
    later.write_text(STUDY.format(prices=PRICES.replace("0.30", "0.10")))

    analysis = analyse(gather(store, "study", asked=read_study(later).study))

    assert [change.what for change in analysis.material.changes] == ["prices"]
    (comparison,) = analysis.comparisons
    assert comparison.judgement.verdict is Verdict.BETTER


def test_the_answer_has_events_per_dollar(tmp_path: Path) -> None:
    page = page_of(made_up(tmp_path)).lower()

    assert "events per dollar" in page
    assert "events per dollar, events" not in page


@pytest.mark.parametrize(
    ("prices", "line", "problem"),
    [
        ("", 2, "`events_per_dollar` needs [prices]"),
        ("[prices]\nmachine = { small = 0.1 }", 23, "none for `large` of factor `machine`"),
        ("[prices]\nmachine = { small = 1, large = 2, huge = 3 }", 23, "no level `huge`"),
        ("[prices]\nhost = { small = 1 }", 23, "there is no factor `host`"),
        ("[prices]\nmachine = { small = 0, large = 2 }", 23, "greater than 0"),
    ],
)
def test_prices_that_fit_no_cell_are_refused(
    prices: str, line: int, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(prices=prices))

    with pytest.raises(StudyError) as raised:
        read_study(file)

    assert problem in str(raised.value)
    assert raised.value.line == line


def test_several_factors_add_up_and_a_cell_without_a_price_has_none(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(prices=PRICES))
    study = read_study(file).study

    assert study.price_of({"server": "sqlite", "machine": "large"}) == 0.30
    assert study.price_of({"server": "sqlite"}) is None
