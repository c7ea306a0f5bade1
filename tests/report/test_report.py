"""What a report says of studies whose truth is known, and that nothing is left out or cut off."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import altair as alt
import pytest
import vl_convert
from made_up_runs import World, page_of, tables_nowhere_on, write_study
from made_up_studies import SMALL

from dbdyno.errors import StoreError, StudyError, UsageError
from dbdyno.model import EngineWarning, PlannedRun, Step
from dbdyno.report import write
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.answer.answer import answers, headline, qualification
from dbdyno.report.charts import charts
from dbdyno.report.charts.encoding import number_axis
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather
from dbdyno.report.material.material import RunMaterial
from dbdyno.report.sections.host_changes import host_change_tables
from dbdyno.report.sections.provenance import other_settings, settings_that_differ
from dbdyno.report.terms.wording import interval, number, quantity, ratio
from dbdyno.stats import NotComparable, StabilityWord, Verdict

SHORT = SMALL.replace('"30 s"', '"12 s"').replace('"5 s"', '"2 s"')


def rate(run: PlannedRun, step: Step, second: int) -> float:
    """`wal` is 2.5 times as fast; `normal` makes no difference; blocks drift by 5 %."""
    factor = 2.5 if run.cell.levels["journal"] == "wal" else 1.0
    more: float = step.clients**0.4
    return 400 * factor * more * (1 + 0.05 * run.block)


def told(folder: Path, text: str, world: World) -> Analysis:
    return analyse(gather(write_study(folder, text, world), "study"))


@dataclass(frozen=True)
class Written:
    page: Path
    text: str

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.page.with_suffix("") / f"{name}.csv").open() as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("report")
    world = World(
        rate,
        error_share=1e-3,
        faulty=frozenset(f"b{block}-wal,normal" for block in (1, 2, 3)),
        status={"b3-wal,normal": "interrupted", "b2-wal,full": "failed"},
        missing=frozenset({"b1-delete,normal"}),
        failed_before={"b2-delete,full": 1},
    )
    page = write(write_study(folder, SHORT, world), "study", folder / "out").page
    return Written(page, page.read_text("utf-8"))


def test_every_table_is_on_the_page(written: Written) -> None:
    assert tables_nowhere_on(written.page) == []


def test_a_true_effect_is_found_and_none_is_invented(tmp_path: Path) -> None:
    analysis = told(tmp_path, SHORT, World(rate))
    verdicts = {
        (c.point.label, c.point.clients): (c.judgement.verdict, c.point.label)
        for c in analysis.comparisons
    }
    assert len(verdicts) == 6
    for (label, _), (verdict, _) in verdicts.items():
        wanted = (Verdict.BETTER,) if "wal" in label else (Verdict.EQUIVALENT, Verdict.CANNOT_TELL)
        assert verdict in wanted, label
    assert "faster in 4" in headline(analysis)
    assert "×2.5" in headline(analysis)


def test_the_drift_over_blocks_shows_as_spread_and_not_as_effect(tmp_path: Path) -> None:
    analysis = told(tmp_path, SHORT, World(rate))
    for comparison in analysis.comparisons:
        found = comparison.point.spread("throughput")
        assert found is not None
        assert found.cv == pytest.approx(0.045, abs=0.01)
    # Each block's ratio is free of the drift: a hundredth of it is what chance leaves.
    wal = [c for c in analysis.comparisons if c.point.label == "wal, full"]
    for comparison in wal:
        effect = comparison.judgement.effect
        assert hasattr(effect, "log_sd")
        assert effect.log_sd < 0.01


def test_a_single_block_says_that_it_gives_no_interval(tmp_path: Path) -> None:
    analysis = told(tmp_path, SHORT.replace("blocks = 3", "blocks = 1"), World(rate))
    assert {c.judgement.verdict for c in analysis.comparisons} == {Verdict.CANNOT_TELL}
    blocks = next(gate for gate in gates(analysis) if gate.name == "Blocks")
    assert blocks.state == "failed"
    assert "no interval" in blocks.text
    assert "one block holds no spread" in page_of(tmp_path / "store")


def test_a_run_with_failed_gates_is_out_of_verdicts_and_the_sentence_says_so(
    tmp_path: Path,
) -> None:
    world = World(rate, error_share=1e-3, faulty=frozenset({"b2-wal,full"}))
    analysis = told(tmp_path, SHORT, world)
    wal = [c for c in analysis.comparisons if c.point.label == "wal, full"]
    assert {c.blocks for c in wal} == {(1, 3)}
    assert "of its statements failed" in wal[0].left_out[2]
    others = [c for c in analysis.comparisons if c.point.label != "wal, full"]
    assert {c.blocks for c in others} == {(1, 2, 3)}
    assert any(" Left out: block 2: 0." in answer for answer in answers(analysis))
    assert "Not to be relied on" not in headline(analysis) or "errors" in headline(analysis)


@pytest.mark.parametrize("metric", ["p99.9", "max"])
def test_a_percentile_decides_only_with_enough_events(tmp_path: Path, metric: str) -> None:
    text = SHORT.replace('metric = "throughput", better = "higher"', f'metric = "{metric}"')
    analysis = told(tmp_path, text, World(rate))
    effects = [comparison.judgement.effect for comparison in analysis.comparisons]
    reasons = {effect.reason for effect in effects if isinstance(effect, NotComparable)}
    wanted = f"{metric} needs 10\u202f000 events in each block"
    assert any(wanted in reason for reason in reasons)


def test_the_studys_own_words_are_filled_in(tmp_path: Path) -> None:
    own = 'answer = "{candidate} did {effect} against {baseline} in {blocks} blocks ({interval})."'
    text = own + SHORT.replace("clients = [1, 4]", "clients = 4")
    filled = headline(told(tmp_path, text, World(rate)))
    assert re.match(r"wal, \w+ did ×2\.\d+ against delete, full in 3 blocks", filled)
    with pytest.raises(StudyError, match=r"no placeholder `\{efect\}`"):
        told(tmp_path, text.replace("{effect}", "{efect}"), World(rate))


def test_doubt_is_told_once_and_not_in_every_sentence(tmp_path: Path) -> None:
    analysis = told(tmp_path, SHORT.replace('"12 s"', '"6 s"'), World(rate))
    assert headline(analysis).count("Read with care") == 1
    assert "not judged" not in " ".join(answers(analysis))
    assert qualification(()) == ""


def test_two_blocks_give_no_absurd_figures(tmp_path: Path) -> None:
    assert interval(1e-9, 4.6e9) == "from below a tenth to above ten times: no answer"
    assert interval(0.5, 4.6e9) == "×0.500 to above ×1\u202f000"
    assert interval(0.275, 0.628) == "×0.275 to ×0.628"
    assert interval(0.9, 2.6) == "×0.900 to ×2.60"
    assert interval(0.9, 1.6) == "−10.0\u202f% to +60.0\u202f%"
    text = SHORT.replace("blocks = 3", "blocks = 2")
    for answer in answers(told(tmp_path, text, World(rate))):
        assert not re.search(r"\d\u202f\d{3}\u202f\d{3}", answer)


def test_a_study_without_baseline_ranks_and_gives_no_verdict(tmp_path: Path) -> None:
    text = re.sub("baseline = .*", "", SHORT)
    analysis = told(tmp_path, text, World(rate))
    assert analysis.comparisons == ()
    assert "wal" in headline(analysis)
    assert "no verdict" in headline(analysis)


def test_a_baseline_of_one_factor_compares_within_the_other(tmp_path: Path) -> None:
    text = re.sub("baseline = .*", 'baseline = { journal = "delete" }', SHORT)
    analysis = told(tmp_path, text, World(rate))
    assert {(c.point.label, c.baseline.label) for c in analysis.comparisons} == {
        ("wal, full", "delete, full"),
        ("wal, normal", "delete, normal"),
    }


def test_a_stall_is_named_beside_the_mean(tmp_path: Path) -> None:
    def stalling(run: PlannedRun, step: Step, second: int) -> float:
        return 1.0 if second == 6 and "wal" in run.id else 400.0

    analysis = told(tmp_path, SHORT, World(stalling))
    for point in analysis.points:
        words = {figures.stability.word for figures in point.blocks}
        assert words == {StabilityWord.STALLING if "wal" in point.label else StabilityWord.FLAT}


def test_runs_cut_short_or_failed_or_missing_are_shown_and_not_counted(written: Written) -> None:
    runs = written.table("runs")
    status = {(run["cell"], run["block"], run["attempt"]): run["status"] for run in runs}
    assert len(runs) == 13
    assert status["wal, normal", "3", "1"] == "interrupted"
    assert status["wal, full", "2", "1"] == "failed"
    assert status["delete, full", "2", "1"] == "failed"
    assert status["delete, full", "2", "2"] == "complete"
    assert status["delete, normal", "1", ""] == "missing"
    blocks = {(row["cell"], row["clients"]): row["blocks"] for row in written.table("cells")}
    assert blocks["wal, normal", "4"] == blocks["wal, full", "4"] == "2"
    assert blocks["delete, full", "4"] == "3"
    assert "9 of 12 planned runs are complete, 1 interrupted, 1 failed, 1 missing" in written.text
    assert "the server ended while warming up" in written.text


def test_errors_are_shown_by_code_and_fail_their_gate(written: Written) -> None:
    errors = written.table("errors")
    assert {row["code"] for row in errors} == {"40001"}
    assert float(errors[0]["share"]) == pytest.approx(1e-3, rel=0.3)
    assert re.search(r'class="gate failed" id="check-errors"><dt>.*?Errors', written.text)


def test_the_page_answers_in_its_first_lines(written: Written) -> None:
    body = written.text.split("<body>")[1]
    assert body.index('class="headline"') < body.index("<h2>")
    assert "What do the journal mode" in body.split('class="headline"')[0]


def test_every_chart_has_its_pictures_and_every_table_its_figures(written: Written) -> None:
    folder = written.page.with_suffix("")
    names = re.findall(r'data-chart="([^"]+)"', written.text)
    assert names == [
        "answer",
        "effects",
        "throughput-by-clients",
        "latency-percentiles",
        "latency-curve",
        "throughput-over-time",
        "latency-over-time",
        "client-cpu",
    ]
    for name in names:
        assert "<svg" in (folder / f"{name}.svg").read_text("utf-8")
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    for link in re.findall(r'href="(out/|study/)([^"]+)"', written.text):
        assert (folder / link[1]).is_file(), link
    assert "# What do the journal mode" in (folder / "summary.md").read_text("utf-8")


def test_charts_that_the_study_asks_for_come_first_under_its_titles(tmp_path: Path) -> None:
    asked = '[[chart]]\nkind = "latency-over-time"\ntitle = "Does it stall?"\n'
    asked += '[[chart]]\nkind = "latency-percentiles"\n'
    text = page_of(write_study(tmp_path, SHORT + asked, World(rate)))

    assert re.findall(r'data-chart="([^"]+)"', text)[1:6] == [
        "effects",
        "latency-over-time",
        "throughput-over-time",
        "latency-percentiles",
        "latency-curve",
    ]
    assert "<figcaption>Does it stall?</figcaption>" in text


def test_an_open_loop_shows_what_response_times_are_made_of(tmp_path: Path) -> None:
    constant = '[load]\narrival = { kind = "constant", rate = 100 }'
    text = SHORT.replace("[load]", constant)
    page = page_of(write_study(tmp_path, text, World(rate)))

    assert "<summary>Events behind their intended start</summary>" in page


def test_what_bends_numbers_is_told_once_with_the_runs_it_was_seen_in(written: Written) -> None:
    store = written.page.parents[1] / "store"
    host = next(g for g in gates(analyse(gather(store, "study"))) if g.name == "Host")

    assert host.state == "doubtful"
    assert host.text == "1 MiB are swapped out (10 of 11 runs)."


def test_a_warning_is_told_once_with_what_to_do(tmp_path: Path) -> None:
    paused = EngineWarning("paused", "clients paused", "choose longer intervals")
    found = gates(told(tmp_path, SHORT, World(rate, warnings=(paused, EngineWarning("a", "b")))))

    assert [(g.name, g.text) for g in found if g.name.startswith(("Load: ", "Engine: "))] == [
        ("Load: paused", "Clients paused (12 times). Choose longer intervals."),
        ("Load: a", "B (12 times)."),
        ("Engine: paused", "Clients paused (24 times). Choose longer intervals."),
        ("Engine: a", "B (24 times)."),
    ]


def test_axes_name_the_figure_and_its_unit(tmp_path: Path) -> None:
    def far_apart(run: PlannedRun, step: Step, second: int) -> float:
        return 40_000.0 if run.cell.levels["journal"] == "wal" else 50.0

    for world, wanted in (
        (rate, "Throughput, events/s"),
        (far_apart, "Throughput, events/s (log scale)"),
    ):
        (tmp_path / wanted[-8:-1]).mkdir()
        drawn = {c.name: c for c in charts(told(tmp_path / wanted[-8:-1], SHORT, World(world)))}
        assert f'"title": "{wanted}"' in json.dumps(drawn["throughput-by-clients"].spec)
    assert "Client CPU per statement, µs" in json.dumps(
        drawn["client-cpu"].spec, ensure_ascii=False
    )


@pytest.mark.parametrize(("greatest", "label"), [(0.16, "0.16"), (40_000.0, "40k")])
def test_axes_shorten_thousands_and_not_fractions(greatest: float, label: str) -> None:
    values = alt.InlineData(values=[{"figure": 0.0}, {"figure": greatest}])
    drawing = alt.Chart(values).mark_point().encode(y=alt.Y("figure:Q", axis=number_axis()))
    assert f">{label}<" in vl_convert.vegalite_to_svg(drawing.to_json())


def test_the_page_names_no_address(written: Written) -> None:
    outside = written.text.split("<script>")[0]
    assert "http:" not in outside
    assert "https:" not in outside
    assert "default-src 'none'" in outside


def test_the_same_store_gives_the_same_page(tmp_path: Path) -> None:
    store = write_study(tmp_path, SHORT, World(rate))
    assert page_of(store) == page_of(store)


def test_names_with_markup_stay_names(tmp_path: Path) -> None:
    text = SHORT.replace("What do", "Is <b>bold</b> & </script> shown? What do")
    page = page_of(write_study(tmp_path, text, World(rate)))
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;/script&gt;" in page


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    store = write_study(tmp_path, SHORT, World(rate))
    with pytest.raises(UsageError, match="no study `stdy`"):
        write(store, "stdy", tmp_path / "out")
    manifest = store / "study" / "runs" / "b1-wal,full" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b" ")
    (told,) = gather(store, "study").damages
    assert "b1-wal,full/manifest.json: was changed" in told


def test_a_page_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    store = write_study(tmp_path, SHORT, World(rate))
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StoreError, match="taken"):
        write(store, "study", tmp_path / "taken" / "page.html")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12_345.6, "12\u202f300"),
        (999.6, "1\u202f000"),
        (0.012_345, "0.0123"),
        (1.2, "1.20"),
        (0, "0"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_numbers_have_three_digits(value: float | None, text: str) -> None:
    assert number(value) == text


def test_ratios_read_as_percent_or_as_multiples() -> None:
    assert [ratio(r) for r in (1.034, 0.9, 2.5, 0.25, 1.0001)] == [
        "+3.4\u202f%",
        "−10.0\u202f%",
        "×2.50",
        "×0.250",
        "±0.0\u202f%",
    ]
    assert quantity(1500, "µs") == "1.50 ms"


def test_settings_studied_come_first_and_each_run_s_own_last(tmp_path: Path) -> None:
    analysis = told(tmp_path, SHORT, World(rate))
    first, rest = settings_that_differ(analysis), other_settings(analysis)
    assert [row[:2] for row in first.rows] == [
        ("journal_mode", "studied"),
        ("synchronous", "studied"),
    ]
    assert {row[0]: row[2] for row in rest.rows} == {
        "data_directory": "each run's own",
        "page_size": "",
        "port": "each run's own",
    }


def test_a_setting_that_a_cell_has_by_itself_is_said_to_differ(tmp_path: Path) -> None:
    analysis = told(tmp_path, SHORT, World(rate))
    material = analysis.material
    runs = tuple(
        replace(run, settings={**run.settings, "page_size": run.manifest.cell["journal"]})
        for run in material.runs
    )
    found = settings_that_differ(replace(analysis, material=replace(material, runs=runs)))
    assert [row[:2] for row in found.rows][-1] == ("page_size", "differs")


def test_what_the_server_got_of_a_changed_host_is_told_by_cell(tmp_path: Path) -> None:
    analysis = told(tmp_path, SHORT, World(rate))
    material = analysis.material

    def changed(run: RunMaterial) -> RunMaterial:
        got = {"shared_bytes": (run.manifest.block + 1) * 2**20, "server": "0-1"}
        part = {"before": {"enabled": "madvise"}, "after": {"enabled": "always"}, "got": got}
        return replace(run, facts={**run.facts, "host_change": {"huge_pages": part}})

    assert list(host_change_tables(analysis)) == []
    runs = tuple(map(changed, material.runs))
    (table,) = host_change_tables(replace(analysis, material=replace(material, runs=runs)))

    blocks = material.study.design.blocks
    assert len(table.rows) == len(analysis.cells)
    assert table.rows[0][1:] == (
        "huge pages",
        "enabled: madvise",
        "enabled: always",
        f"shared: 2.00 to {blocks + 1}.00 MB; server: 0-1",
    )
