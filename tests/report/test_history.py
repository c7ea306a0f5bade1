"""A metric over dates and versions: what a point is relative to, what changed, what confirms it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_history import DRIFT, NIGHTLY, NIGHTS, SLOWER_FROM, night, write_nights
from made_up_runs import World, write_study

from dbdyno.cli import call
from dbdyno.conduct import bundled_studies
from dbdyno.design.cells import cells
from dbdyno.errors import UsageError
from dbdyno.formats.study import read_study
from dbdyno.model import PlannedRun, Primary, Step
from dbdyno.report.analysis.confirmation import Confirmation, confirmation
from dbdyno.report.analysis.history import histories
from dbdyno.report.analysis.history_series import Asked, Histories
from dbdyno.report.analysis.study_points import study_points, version_factors, version_key
from dbdyno.report.page.history_page import render_history
from dbdyno.store import Store


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten nights of one study; a host that drifts by more than what is to be found."""
    return write_nights(tmp_path_factory.mktemp("nights"))


VERSIONS = ("9.6.24", "10.23", "11.21", "12.22", "13.20", "14.17", "15.12", "16.8", "17.4", "18.0")


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One study of ten versions, in no order of theirs; slower from 14 on."""
    folder = tmp_path_factory.mktemp("versions")
    servers = "\n".join(
        f'"pg{one}" = {{ provision = "postgresql:{one}" }}' for one in sorted(VERSIONS)
    )
    head, _, rest = NIGHTLY.partition("[server]")
    text = f"{head}[server]\n{servers}\n[workload]{rest.partition('[workload]')[2]}"
    text = text.replace('server = "fixed"', 'server = "pg9.6.24"').replace("[1, 4]", "[4]")
    text = text.replace('levels = { mode = ["sync"] }\n', "")

    def rate(run: PlannedRun, step: Step, second: int) -> float:
        place = VERSIONS.index(run.cell.levels["server"].removeprefix("pg"))
        wiggle = 1 + 0.002 * ((place * 7) % 5) + 0.003 * ((place * run.block) % 3)
        return 1000 * run.block * (0.92 if place >= 5 else 1.0) * wiggle

    world = World(rate, version=lambda run: run.cell.levels["server"].removeprefix("pg"))
    write_study(folder, text, world, name="releases")
    return folder / "store"


def told(store: Path, *, metric: str = "throughput", **how: object) -> Histories:
    asked = Asked(metric, **how)  # type: ignore[arg-type]
    return histories(study_points(Store(store), (), metric), asked)


def test_the_host_drifts_and_the_ratio_to_the_anchor_does_not(nights: Path) -> None:
    (series,) = told(nights).series
    assert series.name == "newest"
    assert series.anchor == "fixed (postgresql 17.5)"
    assert [place.value for place in series.places[:2]] == pytest.approx([1.01, 1.01], abs=0.02)
    (change,) = series.found.changes
    assert change.index == SLOWER_FROM
    assert change.relative == pytest.approx(-0.1, abs=0.02)
    assert change.p <= 0.05
    assert series.found.outliers == (2,)
    assert all(p.low is not None and p.low < p.value < (p.high or 0) for p in series.places)


def test_without_an_anchor_the_drift_is_in_it_and_said(
    nights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (series,) = told(nights, anchor="none", cell="newest").series
    assert series.anchor is None
    raw = [place.value for place in series.places]
    assert raw[9] / raw[0] == pytest.approx(0.9 * DRIFT[9] / DRIFT[0], rel=0.03)
    assert call(["history", "throughput", "--store", str(nights), "--anchor", "none"]) == 0
    out = capsys.readouterr().out
    assert "as measured (no anchor was asked for): host drift is not cancelled" in out


def test_what_else_changed_at_a_point_is_told(nights: Path) -> None:
    (series,) = told(nights).series
    differ = {i: {d.group for d in p.besides} for i, p in enumerate(series.places) if p.besides}
    assert differ == {8: {"host"}}


def test_versions_of_one_study_stand_in_their_order(versions: Path) -> None:
    found = told(versions)
    assert found.by == "version"
    (series,) = found.series
    assert [place.entry.version for place in series.places] == list(VERSIONS)
    assert (series.places[0].value, series.places[0].low) == (1.0, None)
    (change,) = series.found.changes
    assert series.places[change.index].entry.version == "14.17"
    assert change.relative == pytest.approx(-0.08, abs=0.01)


def test_versions_of_several_studies_are_linked_by_the_anchor(tmp_path: Path) -> None:
    text = NIGHTLY.replace("[1, 4]", "[4]")
    for day in (0, 7):
        store = write_study(tmp_path, text, night(day), name="nightly", again=day > 0)
    (series,) = told(store, by="version").series
    points = [(p.entry.version, p.entry.side.name) for p in series.places]
    assert points == [("17.5", "nightly"), ("18.3", "nightly"), ("18.4", "nightly.2")]
    assert [place.value for place in series.places] == pytest.approx([1, 1.01, 0.91], abs=0.02)


def test_versions_are_ordered_by_their_numbers_and_betas_come_first() -> None:
    known = ["9.6.24", "10.0", "18beta1", "18beta2", "18rc1", "18.0", "18.1", "19devel"]
    backwards = list(reversed(known))
    assert sorted(backwards, key=version_key) == known
    assert version_key("10.11.6-MariaDB") == version_key("10.11.6")


def confirmed(tmp_path: Path, store: Path, *more: str) -> Path:
    file = tmp_path / "ab.toml"
    command = ["history", "throughput", "--store", str(store), "--study-out", str(file), *more]
    assert call(command) == 0
    return file


def test_a_change_is_handed_to_run_as_an_a_b_of_its_neighbours(
    nights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = read_study(confirmed(tmp_path, nights, "--smallest-effect", "3 %")).study
    assert f"confirm it: dbdyno run {tmp_path / 'ab.toml'}" in capsys.readouterr().out
    (server,) = [factor for factor in study.factors if factor.name == "server"]
    sides = [(level.name, level.provision, dict(level.settings)) for level in server.levels]
    memory = {"work_mem": "8MB"}
    assert sides == [("18.3", "postgresql:18.3", memory), ("18.4", "postgresql:18.4", memory)]
    assert study.design.baseline == {"server": "18.3"}
    assert [len(factor.levels) for factor in study.factors] == [2, 1]
    assert (study.load.clients, study.design.blocks) == ((4,), 2)
    assert (study.primary.metric, study.primary.smallest_effect) == ("throughput", 0.03)


def test_two_releases_of_one_study_keep_their_names_and_provisions(
    versions: Path, tmp_path: Path
) -> None:
    study = read_study(confirmed(tmp_path, versions)).study
    (server,) = [factor for factor in study.factors if factor.name == "server"]
    assert [(level.name, level.provision) for level in server.levels] == [
        ("pg13.20", "postgresql:13.20"),
        ("pg14.17", "postgresql:14.17"),
    ]


def test_no_study_compares_a_server_with_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = NIGHTLY.replace("[1, 4]", "[4]")

    def same(day: int) -> World:
        world = night(day)
        return World(world.rate, day=day, version=lambda run: run.cell.levels["server"])

    for day in range(NIGHTS):
        store = write_study(tmp_path, text, same(day), name="nightly", again=day > 0)
    assert not confirmed(tmp_path, store).exists()
    told = capsys.readouterr().out
    assert "both sides ran postgresql newest: what changed is not the version" in told


def test_what_was_measured_otherwise_is_left_out_and_named(tmp_path: Path) -> None:
    text = NIGHTLY.replace("[1, 4]", "[4]")
    write_study(tmp_path, text.replace('"2 s"', '"3 s"'), night(0), name="nightly")
    for day in (1, 2):
        store = write_study(tmp_path, text, night(day), name="nightly", again=day > 1)
    (series,) = told(store).series
    assert len(series.places) == 2
    ((why, studies),) = series.left_out.items()
    assert "measured otherwise than later (time: 3 s → 2 s" in why
    assert studies == ("nightly",)
    assert series.not_searched == "2 points: changes are looked for in 8 or more"


def test_an_anchor_that_is_not_the_same_throughout_is_none(tmp_path: Path) -> None:
    text = NIGHTLY.replace("[1, 4]", "[4]")
    for day in (0, 1):

        def updated(_run: PlannedRun, minor: int = day) -> str:
            return f"17.{minor}"

        world = replace(night(day), version=updated)
        store = write_study(tmp_path, text, world, name="nightly", again=day > 0)
    series = told(store, cell="newest").series[0]
    assert series.anchor is None
    assert "the anchor is not the same throughout: postgresql 17." in (series.raw_because or "")
    with pytest.raises(UsageError, match="can't be the anchor"):
        told(store, anchor="fixed")


def test_the_page_holds_every_point(nights: Path) -> None:
    page = render_history(told(nights))
    assert "Throughput by date: 1 change in the series of 10 points." in page
    assert page.count('<td class="figure">') == 3 * NIGHTS
    assert "slower, −" in page


def test_programs_read_all_of_it(nights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["history", "throughput", "nightly", "--store", str(nights), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (series,) = document["series"]
    assert (document["seed"], document["level"], document["by"]) == (1, 0.05, "date")
    assert series["changes"][0]["direction"] == "slower"
    assert [point["outlier"] for point in series["points"]].index(True) == 2
    assert series["points"][8]["differs_besides"][0]["group"] == "host"


def test_it_fails_on_what_it_is_asked_to(nights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["history", "throughput", "--store", str(nights), "--fail-on"]
    assert call([*command, "slower"]) == 1
    assert "slower, −" in capsys.readouterr().err
    assert call([*command, "change", "--last", "4"]) == 0
    assert call([*command, "change", "--smallest-effect", "30 %"]) == 0


WRONG: list[tuple[list[str], str]] = [
    (["through"], "there is no figure `through`"),
    (["wrong_share"], "`wrong_share` is a share"),
    (
        ["process.user_s"],
        "no point has a figure `process.user_s`: process.user_s was not measured in newest",
    ),
    (["throughput", "nightli"], "holds no study `nightli`"),
    (["throughput", "--cell", "newst"], "no level `newst` in the study `nightly`"),
    (["throughput", "--anchor", "fxed"], "did you mean `fixed`?"),
    (["throughput", "--clients", "3"], "no cell is left"),
    (["throughput", "--study-out", "ab.txt"], "`ab.txt` is no study's file"),
    (["throughput", "--smallest-effect", "much"], "much"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda one: str(one))
def test_what_can_not_be_asked_is_told(
    nights: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert call(["history", *arguments, "--store", str(nights)]) == 2
    assert message in capsys.readouterr().err


def test_an_empty_store_and_one_of_several_studies_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["history", "throughput", "--store", str(tmp_path)]) == 2
    assert "holds no study" in capsys.readouterr().err
    text = NIGHTLY.replace("[1, 4]", "[4]")
    for name in ("one", "two"):
        store = write_study(tmp_path, text, night(0), name=name)
    assert call(["history", "throughput", "--store", str(store)]) == 2
    assert "name those to read: one, two" in capsys.readouterr().err
    assert call(["history", "throughput", "one", f"{store}/two", "--store", str(store)]) == 0


def test_two_cells_of_one_version_are_told_apart_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(night(0).rate, version=lambda _run: "18.0")
    store = write_study(tmp_path, NIGHTLY, world, name="nightly")
    assert call(["history", "throughput", "--store", str(store)]) == 2
    assert "are both of 18.0" in capsys.readouterr().err
    assert call(["history", "throughput", "--store", str(store), "--cell", "newest"]) == 0


def of_bundled() -> list[tuple[str, str]]:
    """Bundled studies with two servers or more in one factor, at each scale."""
    found = []
    for name, file in bundled_studies().items():
        for scale in read_study(file).study.scales:
            study = read_study(file, scale=scale).study
            if len({cell.provision for cell in cells(study)}) > 1:
                found.append((name, scale))
    return found


@pytest.mark.parametrize(("name", "scale"), of_bundled())
def test_any_bundled_study_of_versions_gives_a_study_of_two(
    nights: Path, tmp_path: Path, name: str, scale: str
) -> None:
    """Whatever such a file says: scales, scripts, charts, published figures."""
    stored = read_study(bundled_studies()[name], scale=scale).study
    factor = max(version_factors(stored))
    first, *others = cells(stored)
    rest = {key: level for key, level in first.levels.items() if key != factor}
    second = next(
        cell
        for cell in others
        if rest.items() <= cell.levels.items() and cell.provision != first.provision
    )
    session = study_points(Store(nights), ("nightly",), "throughput")[0]
    before, after = (
        replace(session, study=stored, version=version, point=replace(session.point, cell=cell))
        for version, cell in (("1.0", first), ("2.0", second))
    )
    made = confirmation(before, after, Primary("p99", "lower", 0.05))
    assert isinstance(made, Confirmation), made
    file = tmp_path / "ab.toml"
    file.write_text(made.text)
    study = read_study(file).study
    assert [cell.levels[factor] for cell in cells(study)] == [made.before, made.after]
    assert [cell.provision for cell in cells(study)] == [first.provision, second.provision]
    assert [cell.settings for cell in cells(study)] == [first.settings, second.settings]
    assert [cell.script for cell in cells(study)] == [first.script, second.script]
    assert study.load.clients == (session.point.clients,)
    assert study.load.measure_s == stored.load.measure_s
    assert study.design.blocks == stored.design.blocks
