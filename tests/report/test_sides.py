"""Two cells of two studies: what differs is said; a verdict is given where one factor does."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_runs import World, write_study
from made_up_studies import SMALL
from scipy import stats as scipy_stats

from dbdyno.cli import call
from dbdyno.errors import UsageError
from dbdyno.model import PlannedRun, Primary, Step, TurnResult
from dbdyno.report.analysis.side import Side
from dbdyno.report.analysis.sides import confront, open_side, open_sides
from dbdyno.report.analysis.whole_studies import confront_studies
from dbdyno.stats import NotComparable, PairedEffect, Verdict, unpaired_effect

SHORT = SMALL.replace('"30 s"', '"4 s"').replace('"5 s"', '"1 s"').replace("[1, 4]", "4")
THROUGHPUT = Primary()
TURN = TurnResult(0, 0, 0, 1, 2, 2, 1.0, 9, 9, 0, 1, 9, 1.0, 1.0, 1.0, 1.0, None)


def rate(run: PlannedRun, step: Step, second: int) -> float:
    return 400.0 * (2.5 if run.cell.levels["journal"] == "wal" else 1.0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sides")
    write_study(folder, SHORT, World(rate), name="one")
    write_study(folder, SHORT, World(rate), name="again")
    longer = SHORT.replace('measure = "4 s"', 'measure = "5 s"')
    write_study(folder, longer, World(rate), name="longer")
    return folder / "store"


def test_one_factor_of_one_study_is_judged_block_by_block(store: Path) -> None:
    a, b = open_side(store, "one/delete, full"), open_side(store, "one/wal, full")
    outcome = confront(a, b, THROUGHPUT)
    assert {one.group for one in outcome.differences} == {"settings"}
    assert ("journal_mode", "delete", "wal") in {(d.what, d.a, d.b) for d in outcome.differences}
    ((clients, judgement),) = outcome.judged
    assert (clients, judgement.verdict) == (4, Verdict.BETTER)
    assert isinstance(judgement.effect, PairedEffect)
    assert judgement.effect.method == "t over blocks"


def test_sides_are_compared_by_a_figure_that_their_study_does_not_name(store: Path) -> None:
    (a,), (b,) = (open_sides(store, f"one/{cell}, full", "rate_held") for cell in ("delete", "wal"))
    ((_, judgement),) = confront(a, b, Primary("rate_held")).judged

    assert isinstance(judgement.effect, PairedEffect)
    assert judgement.effect.ratio == pytest.approx(1, rel=0.1)


def test_the_same_cell_of_two_studies_differs_in_nothing_and_is_not_paired(store: Path) -> None:
    outcome = confront(
        open_side(store, "one/wal, full"), open_side(store, "again/wal, full"), THROUGHPUT
    )
    assert outcome.differences == ()
    ((_, judgement),) = outcome.judged
    assert judgement.verdict not in (Verdict.BETTER, Verdict.WORSE)
    assert isinstance(judgement.effect, PairedEffect)
    assert judgement.effect.method == "Welch's t over runs"


def test_the_same_plan_in_two_stores_is_not_paired(store: Path, tmp_path: Path) -> None:
    other = write_study(tmp_path, SHORT, World(rate), name="one")
    a, b = open_side(store, "one/wal, full"), open_side(other, "one/wal, full")
    assert a.runs[0].manifest.plan == b.runs[0].manifest.plan
    ((_, judgement),) = confront(a, b, THROUGHPUT).judged
    assert isinstance(judgement.effect, PairedEffect)
    assert judgement.effect.method == "Welch's t over runs"


def test_another_load_refuses_the_verdict_and_says_what_differs(store: Path) -> None:
    outcome = confront(
        open_side(store, "one/delete, full"), open_side(store, "longer/wal, full"), THROUGHPUT
    )
    assert outcome.judged == ()
    assert outcome.refused is not None
    assert "load differ" in outcome.refused
    (load,) = [one for one in outcome.differences if one.group == "load"]
    assert (load.what, load.a, load.b) == ("time", "4 s", "5 s")


def otherwise(side: Side, **changes: Any) -> Side:
    runs = tuple(replace(run, manifest=replace(run.manifest, **changes)) for run in side.runs)
    return replace(side, runs=runs)


def test_host_factors_tools_and_turns_are_differences_too(store: Path) -> None:
    a, b = open_side(store, "one/wal, full"), open_side(store, "again/wal, full")

    factor = confront(a, otherwise(b, host={"limits": {"cpus": 1}}), THROUGHPUT)
    assert [(d.group, d.what) for d in factor.differences] == [("host factors", "asked for")]
    assert factor.refused is None
    machine = confront(a, otherwise(b, environment_id="another"), THROUGHPUT)
    assert machine.refused is not None
    same = open_side(store, "one/wal, full")
    huge = otherwise(same, host={"transparent_hugepages": "always"}, environment_id="another")
    assert confront(a, huge, THROUGHPUT).refused is None

    tool = confront(a, otherwise(b, generator="pgbench"), THROUGHPUT)
    assert [(d.group, d.what) for d in tool.differences] == [("workload", "generator")]
    turns = replace(b, runs=tuple(replace(run, turns=(TURN,)) for run in b.runs))
    in_turns = confront(a, turns, THROUGHPUT)
    assert in_turns.refused is not None
    assert "order differ" in in_turns.refused


def test_sides_are_found_by_cell_run_and_folder_and_wrong_ones_name_the_right_ones(
    store: Path,
) -> None:
    run = open_side(store, "one/b2-wal,full")
    assert [len(point.blocks) for point in run.points] == [1]
    elsewhere = open_side(Path("nowhere"), f"{store}/one/wal, full")
    assert len(elsewhere.runs) == 3
    with pytest.raises(UsageError, match="holds several cells") as caught:
        open_side(store, "one")
    assert "`one/wal, full`" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="no cell or run `wall`"):
        open_side(store, "one/wall")


def test_the_verb_tells_and_fails_on_what_it_is_asked_to(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = ["compare", "one/wal, full", "one/delete, full", "--store", str(store)]
    assert call(sides) == 0
    told = capsys.readouterr().out
    assert "journal_mode: wal → delete" in told
    assert "4 clients: B against A: slower" in told
    assert re.search(r"\nthroughput: [\d\u202f]+ events a second in A, \d+ in B\n", told)
    assert call([*sides, "--fail-on", "slower"]) == 1
    assert call(["compare", sides[2], sides[1], "--store", str(store), "--fail-on", "slower"]) == 0
    longer = ["compare", "one/wal, full", "longer/wal, full", "--store", str(store)]
    assert call([*longer, "--fail-on", "slower"]) == 1
    assert "no verdict: load differ" in capsys.readouterr().err


def test_welch_agrees_with_scipy() -> None:
    a, b = [100.0, 102.0, 98.0, 101.0], [110.0, 109.0, 115.0]
    found = unpaired_effect(a, b)
    assert isinstance(found, PairedEffect)
    oracle = scipy_stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    assert found.p == pytest.approx(oracle.pvalue)
    low, high = oracle.confidence_interval(0.95)
    assert (found.low95, found.high95) == pytest.approx((low, high))
    assert found.ratio == pytest.approx(math.exp(np.log(b).mean() - np.log(a).mean()))
    assert isinstance(unpaired_effect([1.0], b), NotComparable)
    assert isinstance(unpaired_effect([1.0, 0.0], b), NotComparable)


def slower_in_half(run: PlannedRun, step: Step, second: int) -> float:
    """From the second second of the window on, half of it."""
    return rate(run, step, second) * (0.5 if second >= 2 else 1.0)


@pytest.fixture(scope="module")
def halved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("halved"), SHORT, World(slower_in_half))


def test_windows_of_time_of_one_cell_are_compared_block_by_block(halved: Path) -> None:
    a, b = (open_side(halved, f"study/wal, full@{span}") for span in ("0s-2s", "2s-4s"))
    outcome = confront(a, b, THROUGHPUT)

    assert [(d.what, d.a, d.b) for d in outcome.differences] == [
        ("window", "0 s to 2 s", "2 s to 4 s")
    ]
    ((_, judgement),) = outcome.judged
    assert judgement.verdict is Verdict.WORSE
    assert isinstance(judgement.effect, PairedEffect)
    assert judgement.effect.method == "t over blocks"
    assert judgement.effect.ratio == pytest.approx(0.5, rel=0.03)


def test_a_window_is_a_factor_like_the_others(halved: Path) -> None:
    window, whole = open_side(halved, "study/wal, full@0s-2s"), open_side(halved, "study/wal, full")
    other = open_side(halved, "study/delete, full@1s-2s")

    assert confront(whole, window, THROUGHPUT).refused is None
    refused = confront(other, whole, THROUGHPUT).refused
    assert refused is not None
    assert "settings and window differ at once" in refused
    with pytest.raises(UsageError, match="windows of time have no p99"):
        confront(window, window, Primary("p99", "lower"))


@pytest.mark.parametrize(
    ("span", "told"),
    [
        ("2s-9s", "has no window of time 2 s to 9 s: its own ends after 4 s"),
        ("100ms-900ms", "in intervals of 1 s"),
        ("3s-2s", "ends before it begins"),
    ],
)
def test_a_window_that_is_not_there_is_refused(halved: Path, span: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        open_side(halved, f"study/wal, full@{span}")


def test_turns_have_no_window_of_time(tmp_path: Path) -> None:
    text = SHORT.replace("blocks = 3", "blocks = 1")
    store = write_study(tmp_path, text, World(rate, turns=lambda *_: (TURN,)))

    with pytest.raises(UsageError, match="was driven in turns"):
        open_side(store, "study/wal, full@0s-2s")


def test_an_at_sign_that_begins_no_window_belongs_to_the_name(store: Path) -> None:
    with pytest.raises(UsageError, match="no cell or run `wal, full@home-work`"):
        open_side(store, "one/wal, full@home-work")


def test_two_studies_are_compared_cell_by_cell_as_one_family(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def faster(run: PlannedRun, step: Step, second: int) -> float:
        return rate(run, step, second) * (1.5 if run.cell.levels["journal"] == "wal" else 1.0)

    text = SHORT.replace('normal = { settings = { synchronous = "normal" } }\n', "")
    other = write_study(tmp_path, text, World(faster), name="other") / "other"
    whole = confront_studies(open_sides(store, "one"), open_sides(store, str(other)), THROUGHPUT)

    assert list(whole.outcomes) == ["delete, full", "wal, full"]
    assert (whole.only_a, whole.only_b) == (("delete, normal", "wal, normal"), ())
    found = {name: one.judged[0][1] for name, one in whole.outcomes.items()}
    assert found["wal, full"].verdict is Verdict.BETTER
    assert found["delete, full"].verdict not in (Verdict.BETTER, Verdict.WORSE)
    raw = [j.effect.p for j in found.values() if isinstance(j.effect, PairedEffect)]
    assert found["wal, full"].p_adjusted == pytest.approx(min(2 * min(raw), max(raw)))

    assert call(["compare", "one", str(other), "--store", str(store)]) == 0
    told = capsys.readouterr().out
    assert "\nwal, full\n" in told
    assert "only A has delete, normal; wal, normal" in told
    verb = ["compare", str(other), "one", "--store", str(store), "--fail-on", "slower", "--json"]
    assert call(verb) == 1
    assert '"wal, full": {' in capsys.readouterr().out


def test_studies_of_other_loads_refuse_each_cell_and_one_study_is_no_two(store: Path) -> None:
    whole = confront_studies(open_sides(store, "one"), open_sides(store, "longer"), THROUGHPUT)

    assert len(whole.outcomes) == 4
    assert all("load differ" in (one.refused or "") for one in whole.outcomes.values())
    with pytest.raises(UsageError, match="is compared with itself"):
        confront_studies(open_sides(store, "one"), open_sides(store, "one"), THROUGHPUT)
    assert call(["compare", "one", "again/wal, full", "--store", str(store)]) == 2
