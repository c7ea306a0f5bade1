"""Results of other tools: recognised, read, put into a store; what is not known is not passed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from outputs import HISTOGRAM, pgbench, sysbench

from dbdyno.bridges.keep import keep
from dbdyno.bridges.sources import Source, read_sources
from dbdyno.cli import call
from dbdyno.errors import UsageError
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.answer.first import first_answer
from dbdyno.report.answer.limits import limits
from dbdyno.report.answer.measured import measured_words
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather
from dbdyno.stats import Verdict
from dbdyno.store import Store

LOG = [
    f"{n % 2} {n} {100 * n} 0 {1_700_000_000 + n // 25} {n % 25 * 40_000}" for n in range(1, 101)
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def file(name: str, content: str) -> str:
    Path(name).write_text(content)
    return name


def read(*named: str, tool: str | None = None, clients: int | None = None) -> list[Source]:
    return read_sources(named, tool=tool, clients=clients)


def test_sysbench_is_recognised_and_read() -> None:
    (entry,) = read(file("a.txt", sysbench()))
    measured = entry.result.outcome
    assert (entry.bridge.tool, entry.clients, entry.result.version) == ("sysbench", 2, "1.0.20")
    assert (measured.events, measured.statements, measured.window_s) == (100, 1600, 2.0183)
    assert measured.latency_us == {"mean": 6250, "max": 91_500, "p95": 2000}
    assert entry.result.outcome.distribution == ()


def test_a_histogram_of_sysbench_gives_percentiles_and_a_distribution() -> None:
    text = sysbench().replace("SQL statistics", f"{HISTOGRAM}SQL statistics")
    (entry,) = read(file("a.txt", text))
    assert entry.result.outcome.latency_us["p50"] == 1500
    assert sum(count for _, count in entry.result.outcome.distribution) == 100


def test_pgbench_is_recognised_and_read() -> None:
    (entry,) = read(file("a.txt", pgbench()))
    measured = entry.result.outcome
    assert (entry.bridge.tool, entry.clients, entry.result.version) == ("pgbench", 4, "15.18")
    assert entry.result.script == "select only"
    assert entry.result.options == {"scale": 1, "protocol": "simple", "threads": 2, "duration_s": 3}
    assert (measured.events, measured.window_s, measured.latency_us) == (3000, 3.0, {"mean": 390.0})
    assert [sample.value for sample in measured.samples] == [1000.0, 0.394]


def test_a_log_of_pgbench_alone_is_a_result() -> None:
    (entry,) = read(
        file("pgbench_log.7", "\n".join(LOG[:50])), file("pgbench_log.7.1", "\n".join(LOG[50:]))
    )
    measured = entry.result.outcome
    assert (entry.bridge.tool, entry.clients, measured.events) == ("pgbench", 2, 100)
    assert [entry.name for entry in entry.files] == ["pgbench_log.7", "pgbench_log.7.1"]
    assert (measured.latency_us["p50"], measured.latency_us["max"]) == (5000, 10_000)
    assert measured.window_s == pytest.approx(4.0 - 0.04 + 0.0001)
    assert measured.ended_unix_ns == 1_700_000_004 * 10**9
    assert [s.value for s in measured.samples if s.metric == "transactions_per_s"] == [
        25.0,
        25.0,
        25.0,
    ]


def test_logs_beside_the_text_say_how_many_they_hold() -> None:
    text, log = file("a.txt", pgbench()), file("pgbench_log.1", "\n".join(LOG))
    (entry,) = read(f"{text}+{log}")
    assert entry.result.outcome.events == 3000
    assert entry.result.outcome.latency_us["p99"] == 9900
    (warning,) = entry.result.outcome.warnings
    assert "100 of 3000" in warning


@pytest.mark.parametrize(
    ("content", "printed"),
    [
        ("", "a.txt: is empty"),
        ("hello\n", "a.txt:1: not recognised"),
        (sysbench().partition("General")[0], "a.txt:11: the text ends without `General"),
        (sysbench().partition("Threads fairness")[0], "Threads fairness"),
        (pgbench().partition("tps = ")[0][:-1], "the text ends without a summary"),
        ("\n".join([*LOG[:3], "0 4 12"]), "a.txt:4: not a transaction"),
        ("\n".join([LOG[0], "1700000000 25 9 9 9 9"]), "a.txt:2: an aggregated log"),
        ("pgbench (15.18)\n", "a.txt:1: the text ends without"),
    ],
)
def test_what_can_not_be_read_is_told_with_file_and_line(content: str, printed: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(file("a.txt", content))
    assert printed in caught.value.message


@pytest.mark.parametrize("content", [sysbench(), pgbench()])
def test_two_results_are_not_joined_into_one(content: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(f"{file('a.txt', content)}+{file('b.txt', content)}")
    assert caught.value.message.startswith("b.txt")
    assert "`a.txt` `b.txt`" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("content", "printed"),
    [
        (sysbench().replace("events:              100", f"events:     {'9' * 400}"), "events: "),
        (sysbench().replace("2.0183s", "0.0000s"), "a window of 0 s"),
        (sysbench().replace("threads: 2", f"threads: {'9' * 30}"), "clients: "),
        (f"0 1 {'9' * 40} 0 1700000000 5\n", "a number that pgbench can't have printed"),
        ('{"fio version" : "fio-3.33", "jobs": []}', "fio ran no job"),
        ('{"fio version" : "fio-3.33", "jobs": [5]}', "fio's JSON has no"),
    ],
)
def test_figures_that_no_run_can_have_are_told(content: str, printed: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(file("a.txt", content))
    assert caught.value.message.startswith("a.txt")
    assert printed in caught.value.message


@pytest.mark.parametrize("named", ["", "a=", "a=+", "+"])
def test_no_file_at_all(named: str) -> None:
    with pytest.raises(UsageError, match="names no file"):
        read(named)


def test_a_folder_in_place_of_a_file(here: Path) -> None:
    with pytest.raises(UsageError, match=f"{here} is a folder"):
        read(str(here))


@pytest.mark.parametrize("name", ["", "../out", "/out", "..", "a/b", ".hidden", "a\nb", "a" * 201])
def test_a_name_never_leads_out_of_the_store(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = here / "inner" / "store"
    a = file("a.txt", sysbench())
    assert call(["import", a, "--as", name, "--store", str(store)]) == 2
    assert "is not a name a folder can have" in capsys.readouterr().err
    assert not store.parent.exists()


def test_bytes_that_are_no_text_are_told_with_their_line() -> None:
    Path("a.txt").write_bytes(b"sysbench 1.0\n\xff\n")
    with pytest.raises(UsageError, match=r"a\.txt:2: is not text"):
        read("a.txt")


def test_another_tool_than_the_one_named_is_refused() -> None:
    with pytest.raises(UsageError, match=r"a\.txt:1: is no output of pgbench"):
        read(file("a.txt", sysbench()), tool="pgbench")


def test_clients_must_be_what_the_text_says() -> None:
    with pytest.raises(UsageError, match="says 2 clients; --clients says 3"):
        read(file("a.txt", sysbench()), clients=3)


def test_files_become_cells_blocks_and_steps() -> None:
    names = [file(f"{t}-{n}.txt", sysbench(threads=t) + "\n" * n) for t in (1, 8) for n in (1, 2)]
    other = file("b.txt", sysbench(threads=8).replace("1600", "1601"))
    kept = keep(
        Store(Path("s")), "mine", read(*(f"a={n}" for n in names), f"b={other}"), "dbdyno import …"
    )
    runs = Store(Path("s")).study("mine").survey(whole=True).runs
    assert (kept.study, kept.new) == ("mine", True)
    matched = {name: [s.clients for s in run.summaries] for name, run in runs.items()}
    assert matched == {"b1-a": [1, 8], "b2-a": [1, 8], "b1-b": [8]}
    imported = runs["b1-b"].manifest.imported
    assert imported is not None
    assert (imported.tool, imported.dated_by, imported.files[0].name) == (
        "sysbench",
        "file",
        "b.txt",
    )
    assert "host" in imported.not_known


def test_the_same_files_are_kept_once_and_others_beside_them() -> None:
    sources = read(file("a.txt", sysbench()))
    store = Store(Path("s"))
    assert keep(store, "mine", sources, "…").new
    again = keep(store, "mine", sources, "…")
    assert (again.study, again.new) == ("mine", False)
    assert keep(store, "mine", read(file("b.txt", sysbench(threads=3))), "…").study == "mine.2"


def test_results_of_another_load_are_no_repeats() -> None:
    sources = read(file("a.txt", pgbench(scale=1)), file("b.txt", pgbench(scale=10)))
    with pytest.raises(UsageError, match=r"b\.txt and a\.txt are not repeats .*: scale 1 → 10"):
        keep(Store(Path("s")), "mine", sources, "…")


def test_gates_that_nothing_is_known_of_do_not_pass() -> None:
    keep(Store(Path("s")), "mine", read(file("a.txt", pgbench())), "…")
    analysis = analyse(gather(Path("s"), "mine"))
    matched = {gate.name: gate for gate in gates(analysis)}
    for name in ("Order", "Warm-up", "Load generator", "Data", "Host"):
        assert matched[name].state == "not judged"
        assert matched[name].text.startswith("Not known")
    assert matched["Errors"].state == "ok"
    assert any("results: host, server" in measured for measured in limits(analysis))


def test_the_first_screen_says_whose_date_it_has_and_how_many_files_were_read() -> None:
    sources = read(file("a.txt", sysbench()), file("b.txt", sysbench(threads=3)))
    keep(Store(Path("s")), "mine", sources, "…")
    words = measured_words(analyse(gather(Path("s"), "mine")))
    assert re.match(r"files of \d+ \w+ \d{4}", words[0])
    assert words[-1] == "2 files read"


def test_errors_that_the_tool_counted_fail_their_gate() -> None:
    keep(Store(Path("s")), "mine", read(file("a.txt", pgbench(failed=50))), "…")
    matched = {gate.name: gate.state for gate in gates(analyse(gather(Path("s"), "mine")))}
    assert matched["Errors"] == "failed"


def run(*words: str) -> int:
    return call([*words, "--store", "s"])


def test_a_verdict_on_imported_results_needs_a_word_for_what_is_not_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rates = np.random.default_rng(3).normal(1, 0.01, (2, 4)) * [[1000.0], [2000.0]]
    named = [
        f"{cell}={file(f'{cell}{n}.txt', pgbench(rate=round(rate, 3)))}"
        for cell, row in zip("ab", rates.tolist(), strict=True)
        for n, rate in enumerate(row)
    ]
    assert run("import", *named, "--as", "mine") == 0
    assert capsys.readouterr().out == "mine\n"
    assert run("compare", "mine/a", "mine/b", "--json") == 0
    refused = json.loads(capsys.readouterr().out)
    assert refused["judged"] == []
    assert "host, server, settings" in refused["refused"]
    assert run("compare", "mine/a", "mine/b", "--json", "--assume-alike") == 0
    measured = json.loads(capsys.readouterr().out)
    assert [entry["verdict"] for entry in measured["judged"]] == ["better"]
    assert "host" in measured["not_known"]
    assert run("compare", "mine/a", "mine/b", "--fail-on", "slower") == 1
    analysis = analyse(gather(Path("s"), "mine"))
    (comparison,) = analysis.comparisons
    assert comparison.judgement.verdict is Verdict.CANNOT_TELL
    assert first_answer(analysis).answer.startswith("Can't tell whether b is faster or slower")


def test_another_length_refuses_a_verdict_even_so(capsys: pytest.CaptureFixture[str]) -> None:
    longer = pgbench().replace("duration: 3 s", "duration: 9 s")
    named = [f"a={file('a.txt', pgbench())}", f"b={file('b.txt', longer)}"]
    assert run("import", *named, "--as", "mine") == 0
    assert run("compare", "mine/a", "mine/b", "--assume-alike", "--json") == 0
    assert "load differ" in json.loads(capsys.readouterr().out.partition("\n")[2])["refused"]


def test_what_neither_side_has_is_no_fault_of_one_side(capsys: pytest.CaptureFixture[str]) -> None:
    rates = {"a1": 1000, "a2": 1010, "b1": 1200, "b2": 1210}
    named = [f"{name[0]}={file(f'{name}.txt', pgbench(rate=r))}" for name, r in rates.items()]
    assert run("import", *named, "--as", "mine") == 0
    assert run("compare", "mine/a", "mine/b", "--metric", "mean.x", "--assume-alike") == 0
    why = "no event was labelled `x` in b; no event was labelled `x` in a"
    assert f"all 4 runs are left out: {why}" in capsys.readouterr().out


def test_imported_results_are_reported_and_not_carried_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("import", file("a.txt", sysbench())) == 0
    assert run("report", "a") == 0
    assert "Imported from sysbench 1.0.20, not measured by dbdyno." in capsys.readouterr().err
    assert run("resume", "a") == 2
    assert "holds imported results" in capsys.readouterr().err
