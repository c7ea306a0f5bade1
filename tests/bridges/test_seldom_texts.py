"""Texts as they seldom are: quoted, cut, contradicting themselves, of nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import texts_json
import texts_others
import texts_pgbench
import texts_sysbench
from reading import rate, result, results

from dbdyno.errors import UsageError

PGBENCH, SYSBENCH, YCSB = texts_pgbench.V14, texts_sysbench.V1_0, texts_others.YCSB_F
HAMMERDB = texts_others.HAMMERDB_SEQUENCE.format(
    version="4.11",
    first="12000 NOPM from 28000 PostgreSQL TPM",
    second="20000 NOPM from 46000 PostgreSQL TPM",
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def every_line(before: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{before}{line}\n" for line in text.splitlines())


WRAPPED: dict[str, Callable[[str], str]] = {
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "carriage returns": lambda text: text.replace("\n", "\r"),
    "byte order mark": lambda text: "\ufeff" + text,
    "colours": lambda text: "\x1b[32m" + text.replace("\n", "\x1b[0m\n\x1b[1m"),
    "fence": lambda text: "```\n$ ./run.sh\n" + text + "```\n",
    "indented": every_line("    "),
    "quoted": every_line("> "),
    "tab": every_line("\t"),
    "blank lines": lambda text: "\n\n" + text + "\n\n",
    "no last line end": lambda text: text.rstrip("\n"),
}


@pytest.mark.parametrize("wrap", WRAPPED)
@pytest.mark.parametrize(
    ("text", "clients", "per_s", "version"),
    [
        (PGBENCH, 8, 800.0, "14.20"),
        (SYSBENCH, 4, 500.0, "1.0.20"),
        (YCSB, 8, 1000.0, "0.17.0"),
    ],
)
def test_a_text_may_be_wrapped(
    text: str, clients: int, per_s: float, version: str, wrap: str
) -> None:
    entry = result(WRAPPED[wrap](text))
    assert (entry.clients, entry.result.version) == (clients, version)
    assert rate(entry) == pytest.approx(per_s)


@pytest.mark.parametrize(
    ("banner", "version", "server"),
    [
        ("pgbench (PostgreSQL) 16.3", "16.3", None),
        ("pgbench (16.3 (Debian 16.3-1.pgdg120+1))", "16.3", None),
        ("pgbench (17beta1)", "17beta1", None),
        ("pgbench (18devel)", "18devel", None),
        ("pgbench (14.20, server 12.3)", "14.20", "12.3"),
        ("pgbench (15.18 (Ubuntu 15.18-1), server 16.3 (Debian 16.3-1))", "15.18", "16.3"),
    ],
)
def test_pgbench_names_its_release(banner: str, version: str, server: str | None) -> None:
    measured = result(PGBENCH.replace("pgbench (14.20)", banner)).result
    assert (measured.version, measured.options.get("server_version")) == (version, server)


def test_a_run_that_was_stopped_is_told_beside_a_whole_one() -> None:
    stopped = PGBENCH[: PGBENCH.index("tps =")]
    for text in (stopped + PGBENCH, PGBENCH + stopped):
        entry = result(text)
        assert entry.result.version == "14.20"
        assert rate(entry) == pytest.approx(800)
        assert any("without a summary with `tps" in note for note in entry.notes)


COUNTED = PGBENCH.replace("duration: 60 s", "number of transactions per client: 6000")


@pytest.mark.parametrize(
    ("text", "against"),
    [
        (COUNTED.replace("48000", "48000/48000"), ()),
        (
            COUNTED.replace("48000", "40000/48000"),
            ("8000 of 48000 transactions were not processed: clients ended early",),
        ),
        (
            COUNTED.replace("48000", "40000/48000").replace(
                "latency average", "number of failed transactions: 8000 (16.7%)\nlatency average"
            ),
            (),
        ),
    ],
)
def test_transactions_that_are_missing_are_a_fault(text: str, against: tuple[str, ...]) -> None:
    assert result(text).result.outcome.against == against


def benchbase(**changed: Any) -> str:
    names = {name.lower().split(" (")[0].replace(" ", "_"): name for name in texts_json.BENCHBASE}
    return json.dumps(
        texts_json.BENCHBASE | {names[name]: value for name, value in changed.items()}
    )


def memtier(**totals: float) -> str:
    stats = texts_json.MEMTIER["ALL STATS"]
    changed = {"Totals": {**stats["Totals"], **totals}}
    return json.dumps({**texts_json.MEMTIER, "ALL STATS": {**stats, **changed}})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            PGBENCH.replace("48000", "0").replace("10.000 ms", "-nan ms").replace("800.0", "0.0"),
            "no transaction ended",
        ),
        (PGBENCH[: PGBENCH.index("number of threads")], "the text ends without"),
        (SYSBENCH.replace("events:              2000", "events:              0"), "no event ended"),
        (
            SYSBENCH[: SYSBENCH.index("SQL statistics")]
            + "FATAL: mysql_drv_query() failed: 1290\n",
            "sysbench failed and printed no figures: FATAL: mysql_drv_query() failed: 1290",
        ),
        (SYSBENCH[: SYSBENCH.index("General statistics")], "the text ends without"),
        (YCSB[: YCSB.index("[OVERALL], Throughput")], "the text ends without operations"),
        (HAMMERDB.replace("12000 NOPM from 28000", "0 NOPM from 0"), "counted no new orders"),
        (texts_json.fio(texts_json.job(read=texts_json.way(0))), "no read and no write of fio"),
        (texts_json.fio(texts_json.job())[:-20], "fio's JSON ends or breaks here"),
        (benchbase(measured_requests=0), "no request of BenchBase ended"),
        (benchbase(measured_requests=-5), "can't have measured this: events: -5"),
        (benchbase(throughput=0.0), "no request of BenchBase ended"),
        (memtier(**{"Count": 0, "Ops/sec": 0.0}), "response times and a rate of 0"),
        (
            texts_json.REDIS_7_0[: texts_json.REDIS_7_0.rindex("throughput")],
            "the text ends without",
        ),
    ],
)
def test_what_holds_no_figures_is_refused_for_its_own_reason(text: str, reason: str | None) -> None:
    if reason is None:
        return
    with pytest.raises(UsageError) as caught:
        results(text)
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (PGBENCH.replace("800.000000", "700.000000"), "at its rate took 68.6 s of 60 s"),
        (SYSBENCH.replace("4.0000s", "8.0000s"), "its rates are of 4 s, its total time is 8 s"),
        (SYSBENCH + "FATAL: forcing shutdown...\n", "not read: `FATAL: forcing shutdown...`"),
        (SYSBENCH.replace("started!", "started!\nFATAL: thread 3"), "not read: `FATAL: thread 3`"),
        (SYSBENCH.replace("started!", "started!\nhello"), "not read: `hello`"),
        (YCSB.replace("Throughput(ops/sec), 1000", "Throughput(ops/sec), 500"), "states 500"),
        (HAMMERDB.replace("2:FINISHED SUCCESS", "2:FINISHED FAILED", 1), "1 virtual user failed"),
        (HAMMERDB[: HAMMERDB.rindex("TEST RESULT")], "not imported: a.txt:33: the text ends"),
        (texts_json.fio(texts_json.job(error=28)), "ended with error 28 (ENOSPC"),
        (texts_json.fio(texts_json.job(read=texts_json.way(9, drop_ios=7))), "fio dropped 7"),
        (benchbase(throughput=100.0), "its requests at its rate took 201 s of 60 s"),
        (benchbase(final_state="ERROR"), 'left out of verdicts: BenchBase ended in state "ERROR"'),
        (benchbase(goodput=300.0), "10.4 % of its requests were not good"),
        (benchbase(isolation=None), "usual lines that are not there: isolation"),
        (memtier(**{"Ops/sec": 4000.0}), "its operations at its rate took 15 s of 30 s"),
    ],
)
def test_what_speaks_against_a_text_is_told(text: str, note: str) -> None:
    notes = [entry for source in results(text) for entry in source.notes]
    assert any(note in entry for entry in notes), notes
