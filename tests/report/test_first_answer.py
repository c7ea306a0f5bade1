"""The answer at first sight, case by case: plain words, figures first, at most 45 words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_answers import Case, Levels, analysed

from dbdyno.report.answer.first import MOST_WORDS, first_answer
from dbdyno.report.answer.fitting import fitted, words_in
from dbdyno.report.gates.gate import all_blocks
from dbdyno.report.gates.registry import gates

JOURNAL = {"journal": ("delete", "wal")}
FOUR = {"journal": ("delete", "wal", "memory", "off")}
TWO = {"journal": ("delete", "wal"), "synchronous": ("full", "normal")}
DELETE = {"journal": "delete"}
DELETE_FULL = {"journal": "delete", "synchronous": "full"}
P95 = 'metric = "p95", better = "lower", smallest_effect = "5 %"'
MEAN = 'metric = "mean", better = "lower", smallest_effect = "5 %"'
SHARE = 'metric = "silently_wrong_share", better = "lower", smallest_effect = "10 %"'


def by(**rates: float) -> Callable[[Levels, int], float]:
    """Events per second by journal."""
    return lambda levels, clients: rates[levels["journal"]]


def both(wal: float, normal: float, together: float = 1) -> Callable[[Levels, int], float]:
    """Factors of two levels, and of both at once."""

    def rate(levels: Levels, clients: int) -> float:
        is_wal, is_normal = levels["journal"] == "wal", levels["synchronous"] == "normal"
        factor = (wal if is_wal else 1) * (normal if is_normal else 1)
        more: float = clients**0.3
        return 400 * more * factor * (together if is_wal and is_normal else 1)

    return rate


def by_clients(one: float, more: float) -> Callable[[Levels, int], float]:
    """The factor of `wal` at one client and at more."""

    def rate(levels: Levels, clients: int) -> float:
        return 100 * clients * ((more if clients > 1 else one) if levels["journal"] == "wal" else 1)

    return rate


def damage(
    *wrong: int, names: tuple[str, ...] = ("delete", "wal")
) -> Mapping[str, Mapping[str, int]]:
    """Outcomes of sixty trials a run, by level."""
    return {
        level: {"silently wrong": trials, "noticed": 60 - trials}
        for level, trials in zip(names, wrong, strict=True)
    }


PAIR = Case(JOURNAL, by(delete=400, wal=460), baseline=DELETE)
MANY = Case(FOUR, by(delete=400, wal=4600, memory=2000, off=401), baseline=DELETE)
NAMED = '{ factor = "journal", level = "wal", name = "Write-ahead log against rollback journal" }'

CASES: dict[str, tuple[Case, str]] = {
    "many times as many": (
        replace(PAIR, rate=by(delete=400, wal=34_000), noise=0.2),
        "Faster with wal: 32\u202f200 events a second against 408 with delete, about 79 times "
        "as many (28 to 230).",
    ),
    "some per cent more": (
        PAIR,
        "Faster with wal: 457 events a second against 401 with delete, 14\u202f% more (7.2 to "
        "21\u202f%).",
    ),
    "some per cent fewer": (
        replace(PAIR, rate=by(delete=400, wal=340)),
        "Slower with wal: 338 events a second against 401 with delete, 16\u202f% fewer (11 to "
        "21\u202f%).",
    ),
    "a fifth": (
        replace(PAIR, rate=by(delete=400, wal=80), noise=0.05),
        "Slower with wal: 79.4 events a second against 404 with delete, 5.1 times fewer "
        "(3.9 to 6.6).",
    ),
    "a sixtieth": (
        replace(PAIR, rate=by(delete=2400, wal=40), noise=0.05),
        "Slower with wal: 39.5 events a second against 2\u202f420 with delete, about 61 times "
        "fewer (46 to 82).",
    ),
    "a small change": (
        replace(PAIR, rate=by(delete=400, wal=412), noise=0.0002, measure=60),
        "Slightly faster with wal: 412 events a second against 400 with delete, 2.9\u202f% "
        "more (2.0 to 3.8\u202f%).",
    ),
    "equivalent": (
        replace(PAIR, rate=by(delete=400, wal=401), noise=0.005),
        "No difference of 5\u202f% or more between wal and delete: 399 events a second against "
        "401 (\u22123.1\u202f% to +1.9\u202f%).",
    ),
    "undecided": (
        replace(PAIR, rate=by(delete=400, wal=420), noise=0.06),
        "Can't tell whether wal is faster or slower than delete: 413 events a second against "
        "404 in three repeats, anything from 25\u202f% fewer to 40\u202f% more.",
    ),
    "undecided beyond a factor of two": (
        replace(PAIR, noise=0.25),
        "Can't tell whether wal is faster or slower than delete: 429 events a second against "
        "409 in three repeats, anything from 0.28 to 3.9 times as many.",
    ),
    "nothing but noise": (
        replace(PAIR, noise=0.9),
        "Can't tell whether wal is faster or slower than delete: 216 events a second against "
        "262 in three repeats, with noise of more than a factor of ten.",
    ),
    "one repeat": (
        replace(PAIR, blocks=1),
        "Can't tell whether wal is faster or slower than delete from one repeat: 461 events a "
        "second against 393.",
    ),
    "three others": (
        MANY,
        "Faster with wal: 4\u202f570 events a second against 401 with delete, about 11 times "
        "as many (11 to 12). Also faster: memory (5.0 times, 4.7 to 5.3). Can't tell: off.",
    ),
    "three others, all open": (
        replace(MANY, rate=by(delete=400, wal=440, memory=360, off=410), noise=0.04),
        "Can't tell whether memory is faster or slower than delete: 358 events a second "
        "against 403 in three repeats, anything from 29\u202f% fewer to 11\u202f% more. Also "
        "can't tell: wal; off.",
    ),
    "three others, all slower": (
        replace(MANY, rate=by(delete=400, wal=100, memory=360, off=300)),
        "Slower with wal: 99.9 events a second against 401 with delete, 4.0 times fewer "
        "(3.8 to 4.3). Also slower: off (26\u202f% fewer, 21 to 29\u202f%); memory "
        "(10\u202f% fewer, 4.1 to 16\u202f%).",
    ),
    "two factors": (
        Case(TWO, both(20, 1, 3), baseline=DELETE_FULL),
        "Faster with journal=wal and synchronous=normal: 36\u202f200 events a second against "
        "609 with journal=delete and synchronous=full, about 59 times as many (57 to 62). "
        "Also faster: journal=wal and synchronous=full (20 times, 19 to 21). Can't tell: "
        "journal=delete and synchronous=normal.",
    ),
    "two factors at two loads": (
        Case(TWO, both(20, 1, 3), baseline=DELETE_FULL, clients=(1, 4)),
        "At 4\xa0clients, faster with journal=wal and synchronous=normal: 36\u202f300 events a "
        "second against 607 with journal=delete and synchronous=full, about 60 times as "
        "many (56 to 63). Also faster: journal=wal and synchronous=full (20 times, "
        "19 to 21). Can't tell: journal=delete and synchronous=normal. Faster at "
        "1\xa0client, too.",
    ),
    "three loads": (
        replace(PAIR, rate=by_clients(1.5, 1.5), clients=(1, 4, 16)),
        "At 16\xa0clients, faster with wal: 2\u202f390 events a second against 1\u202f600 with "
        "delete, 49\u202f% more (40 to 59\u202f%). Faster at 1\xa0client and "
        "4\xa0clients, too.",
    ),
    "another verdict at another load": (
        replace(PAIR, rate=by_clients(0.7, 1.5), clients=(1, 4)),
        "At 4\xa0clients, faster with wal: 605 events a second against 400 with delete, "
        "51\u202f% more (43 to 59\u202f%). At 1\xa0client: slower.",
    ),
    "a level that failed": (
        replace(MANY, failed=("memory",)),
        "Faster with wal: 4\u202f570 events a second against 401 with delete, about 11 times "
        "as many (11 to 12). Can't tell: off. Not measured: memory "
        "(the server ended while warming up).",
    ),
    "a level that was cut short": (
        replace(MANY, cut=("memory",)),
        "Faster with wal: 4\u202f570 events a second against 401 with delete, about 11 times "
        "as many (11 to 12). Can't tell: off. Not measured: memory "
        "(its run was interrupted).",
    ),
    "all failed": (
        replace(PAIR, failed=("delete", "wal")),
        "No run is complete, so the question stays open. The server ended while warming up.",
    ),
    "the baseline failed": (
        replace(PAIR, failed=("delete",)),
        "457 events a second (450 to 465) with wal at 4\xa0clients, p95 response time 16.3 ms. "
        "Nothing was measured to compare with. Not measured: delete "
        "(the server ended while warming up).",
    ),
    "two of three repeats failed": (
        replace(PAIR, failed_blocks=("b1-wal", "b2-wal")),
        "Can't tell whether wal is faster or slower than delete from one repeat: 456 events a "
        "second against 405.",
    ),
    "no baseline": (
        replace(MANY, baseline={}),
        "Highest of 4: 4\u202f590 events a second (4\u202f420 to 4\u202f760) with wal. Lowest: "
        "400 events a second (390 to 411) with off. No baseline is named, so none of it is "
        "judged.",
    ),
    "no baseline, several loads": (
        replace(PAIR, baseline={}, clients=(1, 4)),
        "Highest of 2: 466 events a second (454 to 478) with wal at 4\xa0clients. Lowest: 400 "
        "events a second (389 to 411) with delete at 4\xa0clients. No baseline is named, so "
        "none of it is judged.",
    ),
    "a single cell": (
        Case({"journal": ("wal",)}, by(wal=4600)),
        "4\u202f590 events a second (4\u202f420 to 4\u202f760) at 4\xa0clients, p95 response "
        "time 1.67 ms. Nothing was compared.",
    ),
    "a single cell, one repeat": (
        Case({"journal": ("wal",)}, by(wal=4600), blocks=1),
        "4\u202f510 events a second at 4\xa0clients, p95 response time 1.67 ms. One repeat, so "
        "nothing shows how far another would differ. Nothing was compared.",
    ),
    "lower is better": (
        replace(PAIR, rate=by(delete=400, wal=1200), primary=P95),
        "Lower p95 response time with wal: 6.36 ms against 18.8 ms with delete, 3.0 times "
        "lower (2.7 to 3.2).",
    ),
    "lower is better, per cent": (
        replace(PAIR, primary=MEAN),
        "Lower mean response time with wal: 9.41 ms against 10.7 ms with delete, 12\u202f% "
        "lower (3.1 to 21\u202f%).",
    ),
    "lower is better, worse": (
        replace(PAIR, rate=by(delete=400, wal=100), primary=MEAN),
        "Higher mean response time with wal: 42.8 ms against 10.7 ms with delete, 4.0 "
        "times as high (3.8 to 4.2).",
    ),
    "lower is better, undecided": (
        replace(PAIR, rate=by(delete=400, wal=405), primary=MEAN, noise=0.1),
        "Can't tell whether mean response time differs between wal and delete: 10.9 ms against "
        "10.6 ms in three repeats, anything from 42\u202f% lower to 81\u202f% higher.",
    ),
    "lower is better, the same": (
        replace(PAIR, rate=by(delete=400, wal=401), primary=MEAN, noise=0.001),
        "No difference of 5\u202f% or more between wal and delete: mean response time 10.8 ms "
        "against 10.7 ms (\u22123.2\u202f% to +4.0\u202f%).",
    ),
    "lower is better, no baseline": (
        replace(PAIR, primary=P95, baseline={}),
        "Lowest of 2: p95 response time 16.5 ms (15.6 ms to 17.5 ms) with wal. Highest: p95 "
        "response time 18.8 ms (17.7 ms to 19.9 ms) with delete. No baseline is named, so none "
        "of it is judged.",
    ),
    "factors by themselves": (
        Case(
            TWO,
            both(1.3, 1.1),
            baseline=DELETE_FULL,
            lines=f'leads = [{NAMED}, {{ factor = "synchronous", level = "normal" }}]',
        ),
        "Write-ahead log against rollback journal: faster, 823 events a second against "
        "636, 29\u202f% more (27 to 32\u202f%). Faster with synchronous=normal: 757 events a "
        "second against 692 with full, 9.4\u202f% more (6.8 to 12\u202f%).",
    ),
    "a factor that depends on the other": (
        Case(
            TWO,
            both(1.3, 1, 3),
            baseline=DELETE_FULL,
            lines='leads = { factor = "journal", level = "wal" }',
        ),
        "Faster with journal=wal: 1\u202f360 events a second against 607 with delete, 2.2 "
        "times as many (2.2 to 2.3); 29\u202f% more to 3.9 times as many by the other "
        "settings.",
    ),
    "a named cell against its baseline": (
        replace(
            PAIR,
            lines='leads = { cell = { journal = "wal" }, name = "The log against the journal" }',
        ),
        "The log against the journal: faster, 457 events a second against 401, 14\u202f% more "
        "(7.2 to 21\u202f%).",
    ),
    "a named lead, undecided": (
        replace(PAIR, noise=0.06, lines=f"leads = {NAMED}"),
        "Write-ahead log against rollback journal: can't tell, 453 events a second against 404 "
        "in three repeats, anything from 18\u202f% fewer to 54\u202f% more.",
    ),
    "a named lead, lower is better": (
        replace(PAIR, rate=by(delete=400, wal=1200), primary=P95, lines=f"leads = {NAMED}"),
        "Write-ahead log against rollback journal: lower p95 response time, 6.36 ms "
        "against 18.8 ms, 3.0 times lower (2.7 to 3.2).",
    ),
    "a lead for which there is no room, lower is better": (
        replace(
            MANY,
            rate=by(delete=400, wal=4600, memory=2000, off=900),
            primary=MEAN,
            lines="""leads = [
                { cell = { journal = "wal" }, name = "Write-ahead log against rollback journal" },
                { cell = { journal = "memory" }, name = "In memory" },
                { cell = { journal = "off" }, name = "Off" },
            ]""",
        ),
        "Write-ahead log against rollback journal: mean response time 941 µs against 10.7 ms, "
        "about 11 times lower (10 to 13). In memory: 2.18 ms against 10.7 ms, 4.9 times lower "
        "(4.5 to 5.4). Off: 4.81 ms against 10.7 ms, 2.2 times lower (2.1 to 2.4).",
    ),
    "leads that can't be told have their ranges": (
        replace(
            MANY,
            rate=by(delete=400, wal=440, memory=360, off=410),
            noise=0.06,
            lines="""leads = [
                { cell = { journal = "wal" }, name = "Write-ahead log against rollback journal" },
                { cell = { journal = "memory" }, name = "In memory" },
                { cell = { journal = "off" }, name = "Off" },
            ]""",
        ),
        "Write-ahead log against rollback journal: can't tell, 433 events a second against 404 "
        "(\u221222\u202f% to +47\u202f%). In memory: can't tell, 356 events a second against 404 "
        "(\u221236\u202f% to +22\u202f%). Off: can't tell, 404 events a second against 404 "
        "(\u221228\u202f% to +39\u202f%).",
    ),
    "a mean of what can't be told by itself": (
        Case(
            {"journal": ("delete", "wal"), "synchronous": ("full", "normal", "extra")},
            both(1.35, 1.1),
            noise=0.08,
            shifted="synchronous",
            baseline={"journal": "delete"},
            lines=f"leads = {NAMED}",
        ),
        "Write-ahead log against rollback journal: faster, 831 events a second against 632, "
        "31\u202f% more (31 to 32\u202f%) on average; none of the three comparisons shows it "
        "alone.",
    ),
    "a figure without a unit is named": (
        replace(PAIR, primary='metric = "rate_held", smallest_effect = "5 %"'),
        "Can't tell whether rate at the end over that at the beginning differs between wal and "
        "delete: 1.01 against 0.997 in three repeats, anything from 4.6\u202f% lower to "
        "7.7\u202f% higher.",
    ),
    "a level that is called like a block": (
        Case(
            {"cache": ("lru", "block-cache"), "synchronous": ("full", "normal")},
            lambda levels, clients: 400,
            baseline={"cache": "lru", "synchronous": "full"},
            failed_blocks=tuple(
                f"b{block}-{cell}"
                for block, cell in ((1, "block-cache,full"), (2, "block-cache,normal"))
            ),
            blocks=2,
            lines='leads = { factor = "cache", level = "block-cache" }',
        ),
        "Can't tell whether cache=block-cache is faster or slower than lru from one "
        "repeat: 402 events a second against 399.",
    ),
    "the baseline by itself": (
        Case(
            TWO,
            both(1.3, 1),
            baseline=DELETE_FULL,
            lines='leads = { cell = { journal = "delete" }, name = "The journal as it comes" }',
        ),
        "The journal as it comes: 609 events a second (595 to 624) at 4\xa0clients, p95 "
        "response time 12.8 ms.",
    ),
    "a curve": (
        Case(
            JOURNAL,
            lambda levels, clients: 400 * min(clients, 4),
            baseline=DELETE,
            clients=(1, 4, 16),
            lines='leads = { cell = { journal = "wal" }, curve = true }',
        ),
        "wal: throughput ends at 4\xa0clients (1\u202f610 events/s).",
    ),
    "a lead that failed": (
        replace(
            MANY,
            failed=("memory",),
            lines='leads = { cell = { journal = "memory" }, name = "In memory" }',
        ),
        "Faster with wal: 4\u202f570 events a second against 401 with delete, about 11 times "
        "as many (11 to 12). Can't tell: off. Not measured: memory "
        "(the server ended while warming up).",
    ),
    "shares": (
        replace(PAIR, primary=SHARE, outcomes=damage(27, 3)),
        "Silently wrong share: 9 of 180 with wal, 81 of 180 with delete, 40 points fewer (32 "
        "to 48).",
    ),
    "shares, undecided": (
        replace(PAIR, primary=SHARE, outcomes=damage(12, 9)),
        "Can't tell whether silently wrong share differs: 27 of 180 with wal, 36 of 180 with "
        "delete, anything from −13 to +3 points.",
    ),
    "shares of names with a hyphen": (
        replace(
            PAIR,
            factors={"journal": ("no-log", "write-ahead")},
            rate=by(**{"no-log": 400, "write-ahead": 400}),
            baseline={"journal": "no-log"},
            primary=SHARE,
            outcomes=damage(12, 9, names=("no-log", "write-ahead")),
        ),
        "Can't tell whether silently wrong share differs: 27 of 180 with write-ahead, 36 of 180 "
        "with no-log, anything from −13 to +3 points.",
    ),
    "shares, none of either": (
        replace(PAIR, primary=SHARE, outcomes=damage(0, 0)),
        "Silently wrong share is within 10 points: 0 of 180 with wal, 0 of 180 with delete.",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_answer_of_a_case(name: str, tmp_path: Path) -> None:
    case, wanted = CASES[name]
    answer = first_answer(analysed(tmp_path, case))
    assert answer.text == wanted
    assert words_in(answer.text) <= MOST_WORDS
    words = answer.text.replace("block-cache", "")  # a level of one of the cases
    assert not re.search(r"×|\bp =|interval|block|δ|cell\b|gate|candidate", words)


def test_there_are_cases_enough() -> None:
    assert len(CASES) >= 30


def test_what_does_not_fit_is_left_out_and_the_first_sentence_cut() -> None:
    assert fitted(["One two three.", "Four five six.", "Seven."], 4) == "One two three. Seven."
    assert fitted([("A long wording of it.", "A short one.")], 3) == "A short one."
    assert fitted(["word " * 30 + "end."], 10).endswith(" …")


def test_sentences_beside_each_other_are_shortened_alike() -> None:
    first = ("A first one in full.", "First, briefer.", "First.")
    other = ("Another one of them in full.", "Another, briefer.", "Another.")

    assert fitted([first, other], 11) == "A first one in full. Another one of them in full."
    assert fitted([first, other], 10) == "A first one in full. Another, briefer."
    assert fitted([first, other], 4) == "First, briefer. Another, briefer."
    assert fitted([first, other], 3) == "First, briefer. Another."
    assert fitted([first, other], 1) == "First."


def test_long_names_leave_room_for_the_figures(tmp_path: Path) -> None:
    levels = tuple(f"the-{word}-server-of-them-all-with-a-name" for word in ("one", "other"))
    case = replace(
        PAIR,
        factors={"journal": levels},
        rate=by(**{levels[0]: 400, levels[1]: 800}),
        baseline={"journal": levels[0]},
    )
    assert words_in(first_answer(analysed(tmp_path, case)).text) <= MOST_WORDS


def test_runs_that_were_cut_short_shorten_no_window_and_no_number_of_blocks(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, replace(MANY, cut=("memory",)))
    matched = {gate.name: gate for gate in gates(analysis)}

    shortest = min(figures.summary.window_s for figures in all_blocks(analysis))
    assert matched["Window"].text.startswith("The shortest is 4 s") and shortest < 4
    assert matched["Blocks"].text.startswith("3 blocks")


def test_where_nothing_the_study_asks_first_can_be_told_the_answer_names_what_can(
    tmp_path: Path,
) -> None:
    lead = 'leads = { cell = { journal = "off" } }'
    case = replace(MANY, lines=lead)
    text = first_answer(analysed(tmp_path, case)).text
    assert text.startswith("Can't tell whether off is faster or slower than delete"), text
    assert "Faster: wal (11 times, 11 to 12); memory (5.0 times, 4.7 to 5.3)." in text
