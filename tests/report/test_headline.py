"""What a report says first: what the machine can't answer, then what the study leads with."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_runs import World, page_of, write_study
from made_up_studies import SMALL

from dbdyno.model import PlannedRun, RunStatus, Step
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.answer.answer import answers, headline, tally
from dbdyno.report.answer.limits import limits
from dbdyno.report.charts import charts
from dbdyno.report.material.declared import asked_now, is_exploratory
from dbdyno.report.material.gather import gather
from dbdyno.report.material.material import RunMaterial
from dbdyno.report.material.sampled import IDLE, wanted
from dbdyno.report.page.page import context, render_summary
from dbdyno.report.sections.provenance import provenance
from dbdyno.report.sections.tables import tables
from dbdyno.stats import PairedEffect, Verdict, would_be_found

SHORT = (
    SMALL.replace('"30 s"', '"4 s"')
    .replace('"5 s"', '"1 s"')
    .replace("blocks = 3", "blocks = 3\nseed = 1")
)
ONE_LOAD = SHORT.replace("[1, 4]", "4")
Rate = Callable[[PlannedRun, Step, int], float]


def steady(run: PlannedRun, step: Step, second: int) -> float:
    """`wal` is 2.5 times as fast, `normal` 1.5 times."""
    wal, normal = (name in run.cell.levels.values() for name in ("wal", "normal"))
    return 400 * (2.5 if wal else 1) * (1.5 if normal else 1)


def restless(run: PlannedRun, step: Step, second: int) -> float:
    """`wal` is neither faster nor slower, and nobody knows; at one client the noise is less."""
    if "wal" not in run.cell.levels.values():
        return 400
    return 400 * [1.3, 0.8, 1.02][run.block - 1] ** (1 if step.clients > 1 else 0.3)


def told(folder: Path, text: str, rate: Rate = steady, *, world: World | None = None) -> Analysis:
    return analyse(gather(write_study(folder, text, world or World(rate)), "study"))


def led(leads: str, text: str = ONE_LOAD) -> str:
    return f"leads = {leads}\n{text}"


def test_a_named_cell_leads_though_another_effect_is_larger(tmp_path: Path) -> None:
    analysis = told(tmp_path, led('{ cell = { synchronous = "normal" } }'))
    said = headline(analysis)
    assert said.startswith("delete, normal against delete, full: faster, throughput +")
    assert " Of 3 comparisons with the baseline: faster in 3." in said
    assert "largest" not in said
    unled = replace(analysis.material, study=replace(analysis.material.study, leads=()))
    assert "The largest effect: wal, normal against delete, full" in headline(analyse(unled))


def test_its_own_words_are_those_of_what_leads(tmp_path: Path) -> None:
    own = 'answer = "{candidate} against {baseline}: {effect}."\n'
    leads = '[{ cell = { journal = "wal" } }, { factor = "synchronous", level = "normal" }]'
    said = headline(told(tmp_path, own + led(leads)))
    assert re.match(r"wal, full against delete, full: ×2\.\d+\. normal against full: \+\d", said)


def test_a_name_stands_for_the_levels_whether_the_answer_is_definite_or_not(
    tmp_path: Path,
) -> None:
    own = 'answer = "{candidate} against {baseline}: {effect}."\n'
    leads = """[
      { cell = { journal = "wal" }, name = "A log in place of a journal" },
      { factor = "synchronous", level = "normal", name = "Fewer syncs" },
      { clients = 4, name = "As it was" },
    ]"""
    (tmp_path / "sure").mkdir()
    said = headline(told(tmp_path / "sure", own + led(leads)))
    pattern = (
        r"A log in place of a journal: faster, throughput ×2\.\d+ .*"
        r"Fewer syncs: faster, \+\d+.*As it was: throughput \d"
    )
    assert re.match(pattern, said)

    (tmp_path / "open").mkdir()
    open_one = led('{ cell = { journal = "wal" }, name = "A log in place of a journal" }', SHORT)
    said = headline(told(tmp_path / "open", open_one, restless))
    assert said.startswith("A log in place of a journal · 4\u00a0clients: cannot tell, throughput")


def test_an_open_question_leads_and_says_what_would_have_been_found(tmp_path: Path) -> None:
    analysis = told(tmp_path, led('{ cell = { journal = "wal" } }'), restless)
    (one,) = [c for c in analysis.comparisons if c.point.label == "wal, full"]
    effect = one.judgement.effect
    assert one.judgement.verdict is Verdict.CANNOT_TELL
    assert isinstance(effect, PairedEffect)
    said = headline(analysis)
    assert said.startswith("wal, full against delete, full: cannot tell, throughput")
    ((size, unit),) = re.findall(
        r"Smallest difference that this run could reliably detect: ([\d.]+)(\u202f%| times)\.", said
    )
    # None of the three has changed, so that a first one needs a third of 5 %.
    ratio = math.exp(would_be_found(effect, 0.05 / 3))
    expected = ratio if unit == " times" else 100 * (ratio - 1)
    assert float(size) == pytest.approx(expected, rel=0.05)
    assert " Of 3 comparisons with the baseline: " in said.partition("reliably detect")[2]


def test_without_a_lead_open_comparisons_say_it_from_the_least_to_the_most(tmp_path: Path) -> None:
    text = re.sub("baseline = .*", 'baseline = { journal = "delete" }', SHORT)
    analysis = told(tmp_path, text, restless)
    assert tally(analysis) == {"cannot tell": 4}
    size = r"([\d.]+)(\u202f%| times)"
    pattern = rf"reliably detect: {size} \(.*1\u00a0client\) to {size} \(.*4\u00a0clients\)\."
    assert re.search(pattern, headline(analysis))


def test_what_is_decided_says_nothing_of_what_would_have_been_found(tmp_path: Path) -> None:
    analysis = told(tmp_path, led('{ cell = { journal = "wal" } }'))
    assert "reliably" not in headline(analysis)


def test_a_single_block_knows_no_noise_to_tell_it_by(tmp_path: Path) -> None:
    text = led('{ cell = { journal = "wal" } }').replace("blocks = 3", "blocks = 1")
    said = headline(told(tmp_path, text))
    assert "one block holds no spread" in said
    assert "reliably" not in said


def test_a_factor_by_itself_leads_and_tells_its_range_where_it_depends(tmp_path: Path) -> None:
    def depends(run: PlannedRun, step: Step, second: int) -> float:
        return 400 * (2.5 if set(run.cell.levels.values()) >= {"wal", "normal"} else 1)

    said = headline(
        told(tmp_path, led('{ factor = "journal", level = "wal", clients = 1 }', SHORT), depends)
    )
    assert said.startswith("journal by itself, wal against delete at 1\u00a0client: faster, ")
    assert "over 2 matched pairs. It depends on the others: " in said


def test_a_factor_that_alone_varies_leads_by_its_one_comparison(tmp_path: Path) -> None:
    text = re.sub("baseline = .*", 'baseline = { journal = "delete" }', ONE_LOAD)
    text += '\nlevels = { synchronous = ["full"] }\n'
    analysis = told(tmp_path, led('{ factor = "journal", level = "wal" }', text))
    assert analysis.main_effects == ()
    assert headline(analysis).startswith("wal against delete: faster, throughput ×2.")
    assert "comparison" not in headline(analysis)


def test_a_baseline_leads_by_its_own_figure(tmp_path: Path) -> None:
    world = World(steady, status={"b2-delete,full": "failed"}, error_share=1e-3)
    said = headline(told(tmp_path, led("{ clients = 4 }", SHORT), world=world))
    assert re.match(
        r"delete, full · 4\u00a0clients: throughput \d+ events/s \(blocks: .*\), p95 .*; complete "
        r"in 2 of 3 blocks, 0\.\d+\u202f% of [\d\u202f]+ statements failed\. Of 6 comparisons",
        said,
    )


def test_what_was_never_measured_is_said_with_the_reason(tmp_path: Path) -> None:
    failed: dict[str, RunStatus] = {f"b{block}-wal,full": "failed" for block in (1, 2, 3)}
    leads = '{ cell = { journal = "wal" }, clients = 4 }'
    said = headline(told(tmp_path, led(leads, SHORT), world=World(steady, status=failed)))
    assert said.startswith(
        "wal, full · 4\u00a0clients: not measured: the server ended while warming up. Of "
    )


def test_leads_may_be_named_after_the_data_and_change_no_verdict(tmp_path: Path) -> None:
    study = told(tmp_path, led("{ clients = 4 }")).material.study
    _, changes = asked_now(replace(study, leads=()), study)
    told_so = [(one.what, one.then, one.now) for one in changes]
    assert told_so == [("leads", "nothing", "clients = 4")]
    assert not is_exploratory(changes)


CPUS = '{ host = { cpus = { server = "%s" } } }'
PROCESSORS = (
    SHORT.replace("clients = [1, 4]", "clients = [1, 2, 4]")
    .replace("[factor.journal]", "[factor.processors]")
    .replace('delete = { settings = { journal_mode = "delete" } }', f"threads = {CPUS % 'threads'}")
    .replace('wal = { settings = { journal_mode = "wal" } }', f"cores = {CPUS % 'cores'}")
    .replace('journal = "delete", synchronous = "full"', 'processors = "threads"')
    .replace('normal = { settings = { synchronous = "normal" } }\n', "")
)


def on_two_cores(run: PlannedRun, step: Step, second: int) -> float:
    return 400 * min(step.clients, 2)


def bound(analysis: Analysis, cores: str) -> Analysis:
    """On two processors, of which `threads` had both and `cores` had these; half of them busy at
    one client."""

    def seen(run: RunMaterial) -> RunMaterial:
        server = "0-1" if run.manifest.cell["processors"] == "threads" else cores
        facts = {
            "host": {"processor": {"threads": 2, "cores": 2 if cores == "0-1" else 1}},
            "host_change": {"cpus": {"after": {"server": server}}},
        }
        summaries = {
            step: replace(one, figures={IDLE: 2.0 - 0.98 * min(one.clients, 2)})
            for step, one in run.summaries.items()
        }
        return replace(run, facts={**run.facts, **facts}, summaries=summaries)

    material = analysis.material
    return analyse(replace(material, runs=tuple(map(seen, material.runs))))


def test_levels_that_are_the_same_here_are_said_first_and_count_for_nothing(
    tmp_path: Path,
) -> None:
    asked = told(tmp_path, led("{ curve = true }", PROCESSORS), on_two_cores)
    analysis = bound(asked, "0-1")
    assert headline(analysis).startswith(
        "This machine has no hardware threads (or a hypervisor hides them): `threads` and `cores` "
        "are the same here; how they differ can't be said. threads: throughput ends at "
        "2\u00a0clients ("
    )
    assert "comparison" not in headline(analysis)
    assert tally(analysis) == {}
    assert answers(analysis) == ()
    assert not any("hardware threads" in limit for limit in limits(analysis))

    differing = bound(asked, "0")
    assert headline(differing).startswith("threads: throughput ends at")
    assert sum(tally(differing).values()) == 3


def test_a_lead_of_what_is_the_same_here_leaves_only_that_to_say(tmp_path: Path) -> None:
    for number, leads in enumerate(('{ cell = { processors = "cores" } }', None)):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = PROCESSORS if leads is None else led(leads, PROCESSORS)
        said = headline(bound(told(folder, text, on_two_cores), "0-1"))
        assert "can't be said. What was compared is the same here: it shows the noise" in said


def test_the_curve_tells_its_end_and_what_a_half_is(tmp_path: Path) -> None:
    asked = told(tmp_path, led("{ curve = true }", PROCESSORS), on_two_cores)
    assert IDLE in wanted(asked.material.study)
    said = headline(bound(asked, "0"))
    assert re.match(
        r"threads: throughput ends at 2\u00a0clients \(\d{3} events/s\), with 98\u202f% of the "
        r"processors busy\. With 1\u00a0client 49\u202f% of them are busy, and throughput is at "
        r"(49|50|51)\u202f% of that \(blocks: ",
        said,
    )
    unsampled = r"threads: throughput ends at 2\u00a0clients \(\d+ events/s\)\. Of"
    assert re.match(unsampled, headline(asked))


def test_throughput_that_grows_to_the_last_load_has_no_end(tmp_path: Path) -> None:
    def grows(run: PlannedRun, step: Step, second: int) -> float:
        return 400.0 * step.clients

    said = headline(told(tmp_path, led("{ curve = true }", PROCESSORS), grows))
    assert said.startswith("threads: throughput still grows at 4\u00a0clients, the most measured")


@pytest.mark.parametrize(
    "needs",
    [
        'collect = ["hardware"]\n',
        '[[chart]]\nkind = "bars"\nmetric = "server_dtlb_misses_per_event"\n',
    ],
)
def test_a_source_that_gave_nothing_is_said_first_wherever_the_answer_is(
    tmp_path: Path, needs: str
) -> None:
    text = needs + ONE_LOAD if needs.startswith("collect") else ONE_LOAD + needs
    store = write_study(tmp_path, text, World(steady))
    material = gather(store, "study")
    why = {"hardware": {"what": "the processor counts nothing", "cure": "another one"}}
    runs = tuple(
        replace(run, manifest=replace(run.manifest, collected=why)) for run in material.runs
    )
    analysis = analyse(replace(material, runs=runs))
    first = "`hardware` was not sampled: the processor counts nothing. Of 3 comparisons"
    said = context(analysis, charts(analysis), tables(analysis), provenance(analysis))
    assert headline(analysis).startswith(first)
    assert f"**{first}" in render_summary(said)
    assert not any("hardware" in limit for limit in limits(analysis))
    assert "hardware" not in headline(analyse(material))


@pytest.mark.parametrize(
    ("metric", "is_missing"), [("tables.changes", True), ("throughput", False)]
)
def test_a_source_sampled_in_part_is_said_where_the_figure_is_missing(
    tmp_path: Path, metric: str, is_missing: bool
) -> None:
    text = 'collect = ["tables"]\n' + ONE_LOAD.replace("throughput", metric)
    material = gather(write_study(tmp_path, text, World(steady)), "study")
    why = {"tables": {"samples": 3, "what": "no rows are counted", "cure": "`userstat`"}}
    runs = tuple(
        replace(run, manifest=replace(run.manifest, collected=why)) for run in material.runs
    )
    answer = headline(analyse(replace(material, runs=runs)))
    first = "`tables` was not sampled in full: no rows are counted; expected `userstat`."
    assert answer.startswith(first) is is_missing
    assert ("not sampled" in answer) is is_missing


def test_the_page_shows_names_in_the_headline_as_code(tmp_path: Path) -> None:
    text = 'answer = "It is `{effect}`."\n' + led('{ cell = { journal = "wal" } }')
    page = page_of(write_study(tmp_path, text, World(steady)))
    assert re.search(r"<p>\s*It is <code>×2\.\d+</code>\.", page)
