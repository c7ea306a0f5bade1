"""`ycsb`: YCSB's keys, distributions, workload files and operations, on tables and on keys."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import chi2_contingency

from dbdyno.cli import call
from dbdyno.formats.ycsb import ycsb_text
from dbdyno.model import Summary
from dbdyno.servers import open_server
from dbdyno.store.figures import step_summary
from driven import HERE, Driven
from ycsb_names import names_of

pytestmark = pytest.mark.slow

SIZE: Mapping[str, Any] = {"recordcount": 300, "fieldcount": 3, "fieldlength": 20}
MIX: Mapping[str, Any] = {
    "readproportion": 0.3,
    "updateproportion": 0.2,
    "insertproportion": 0.2,
    "scanproportion": 0.1,
    "readmodifywriteproportion": 0.2,
    "maxscanlength": 20,
}
DISTRIBUTIONS = ("uniform", "zipfian", "latest", "hotspot", "exponential")
DRAWS = 1_000_000
OPERATIONS = 50_000
DEPENDENCIES = """<project>
<modelVersion>4.0.0</modelVersion><groupId>test</groupId><artifactId>ycsb</artifactId>
<version>1</version><dependencies><dependency><groupId>site.ycsb</groupId>
<artifactId>core</artifactId><version>0.17.0</version></dependency></dependencies></project>"""


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    folder = tmp_path_factory.mktemp("sqlite")
    with open_server("sqlite", {"synchronous": "off"}, folder) as server:
        server.start()
        yield Driven(server, "sqlite", folder)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    folder = tmp_path_factory.mktemp("redis")
    with open_server("redis@system", {"save": ""}, folder) as server:
        server.start()
        yield Driven(server, "redis", folder)


def operations(summary: Summary) -> Counter[str]:
    """Events of each operation; there is no warm-up whose events a window leaves out."""
    return Counter(
        {
            histogram.label.rpartition("/")[2]: histogram.count
            for histogram in summary.histograms
            if histogram.subject == "event" and histogram.time == "service"
        }
    )


def drawn(driven: Driven, draws: int, **options: Any) -> Counter[str]:
    """Keys as the workload draws them."""
    call = driven.call(str(HERE / "ycsb_keys.lua"), "prepare", draws=draws, **options)
    assert call.complaint == ""
    entries = (entry.split(",") for line in call.lines for entry in line.split())
    return Counter({key: int(times) for key, times in entries})


@pytest.mark.parametrize("distribution", ["zipfian", "latest"])
def test_every_mix_runs_on_tables_and_keeps_them_whole(distribution: str, driven: Driven) -> None:
    assert driven.call("ycsb", "prepare", clients=3, **SIZE).complaint == ""
    try:
        ran = driven.run(
            "ycsb", events=300, clients=3, requestdistribution=distribution, **SIZE, **MIX
        )
        assert ran.complaint == ""
        events = operations(ran.summary)
        assert set(events) == {"READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE"}
        assert driven.rows("SELECT COUNT(*), COUNT(DISTINCT ycsb_key) FROM usertable") == [
            [str(300 + events["INSERT"])] * 2
        ]
    finally:
        assert driven.call("ycsb", "cleanup", **SIZE).complaint == ""


def test_rows_are_the_same_whoever_loads(sqlite: Driven) -> None:
    stored = []
    for clients in (1, 3):
        size = {**SIZE, "recordcount": 25_000}
        assert sqlite.call("ycsb", "prepare", clients=clients, **size).complaint == ""
        rows = sqlite.rows("SELECT ycsb_key, field0, field2 FROM usertable ORDER BY ycsb_key")
        stored.append(rows)
        assert sqlite.call("ycsb", "cleanup", **size).complaint == ""
    assert len(stored[0]) == 25_000
    assert stored[0] == stored[1]
    assert len({row[1] for row in stored[0]}) > 24_990


def test_operations_on_keys_are_those_of_ycsb_s_client(redis: Driven) -> None:
    database = redis.server.database
    assert redis.call("ycsb", "prepare", clients=3, **SIZE).complaint == ""
    session = database.inside()
    try:
        assert session.rows("ZCARD _indices")[0]["value"] == 300
        before = database.counters()
        ran = redis.run("ycsb", events=300, clients=3, **SIZE, **MIX)
        after = database.counters()
        assert ran.complaint == ""
        events = operations(ran.summary)
        calls = {
            name: after[f"cmdstat_{name}_calls"] - before.get(f"cmdstat_{name}_calls", 0)
            for name in ("zadd", "hset", "zrangebyscore")
        }
        assert calls["zadd"] == events["INSERT"]
        assert calls["zrangebyscore"] == events["SCAN"]
        writes = events["INSERT"] + events["UPDATE"] + events["READ-MODIFY-WRITE"]
        assert calls["hset"] == writes
        assert session.rows("ZCARD _indices")[0]["value"] == 300 + events["INSERT"]
        assert redis.call("ycsb", "cleanup", **SIZE).complaint == ""
        assert session.rows("DBSIZE")[0]["value"] == 0
    finally:
        session.close()


def test_keys_are_named_as_ycsb_names_them(sqlite: Driven) -> None:
    """As `site.ycsb.Client -load` of 0.17.0 prints them."""
    assert set(drawn(sqlite, 200, recordcount=4)) == {
        "user6284781860667377211",
        "user8517097267634966620",
        "user1820151046732198393",
        "user4052466453699787802",
    }
    ordered = drawn(sqlite, 200, recordcount=3, insertorder="ordered", zeropadding=8)
    assert set(ordered) == {"user00000000", "user00000001", "user00000002"}


def test_popular_keys_are_where_each_distribution_has_them(sqlite: Driven) -> None:
    def numbers(distribution: str) -> Counter[int]:
        keys = drawn(
            sqlite,
            20_000,
            recordcount=1000,
            insertorder="ordered",
            requestdistribution=distribution,
        )
        return Counter({int(key.removeprefix("user")): times for key, times in keys.items()})

    latest = numbers("latest")
    assert [number for number, _ in latest.most_common(2)] == [999, 998]
    hotspot = numbers("hotspot")
    assert 15_000 < sum(times for number, times in hotspot.items() if number < 200) < 17_000
    exponential = numbers("exponential")
    recent = sum(times for number, times in exponential.items() if number >= 1000 - 857)
    assert 19_450 < recent < 19_750  # 95 % of those that are not drawn again
    assert set(numbers("sequential").values()) == {20}


def test_a_workload_file_is_read_as_it_is(sqlite: Driven, tmp_path: Path) -> None:
    first, second = tmp_path / "workload", tmp_path / "mine"
    first.write_text(
        "# a comment\n! another\nrecordcount=50\n  insertorder : ordered\n"
        "workload=site.ycsb.workloads.CoreWorkload\nthreadcount=8\n"
        "request\\\n   distribution latest\n"
    )
    second.write_text("recordcount = 20\r\nmeasurementtype=hdrhistogram\r\n")
    call = sqlite.call(str(HERE / "ycsb_keys.lua"), "prepare", draws=500, file=f"{first},{second}")
    assert call.complaint == ""
    said, *rest = call.lines
    assert said == (
        "not read from the workload file: measurementtype, threadcount (here --clients)"
    )
    counts = Counter({k: int(n) for k, n in (e.split(",") for x in rest for e in x.split())})
    assert counts.most_common(1)[0][0] == "user19"
    assert len(counts) <= 20


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("recordcount=ten", "workload:1: recordcount=ten: expected a number"),
        ("\nrequestdistribution=normal", "workload:2: requestdistribution=normal: expected expon"),
        ("readproportion", 'workload:1: expected NAME=VALUE; found "readproportion"'),
        ("a=\\\n1\nrecordcount=x", "workload:3: recordcount=x: expected a number"),
        ("workload=site.ycsb.workloads.TimeSeriesWorkload", "only CoreWorkload is"),
        ("dataintegrity=true", "workload:1: dataintegrity=true: not supported"),
        ("readproportion=0\nupdateproportion=0", "the proportions of all operations are 0"),
        ("insertstart=900\ninsertcount=200", "`insertstart` + `insertcount` is more than"),
        ("minscanlength=5\nmaxscanlength=4", "`minscanlength` <= `maxscanlength`"),
        ("table=a;b", "`table` and `fieldnameprefix` are names"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(
    text: str, why: str, sqlite: Driven, tmp_path: Path
) -> None:
    file = tmp_path / "workload"
    file.write_text(text)
    assert why in sqlite.call("ycsb", "prepare", file=str(file)).complaint


def test_a_missing_file_and_a_missing_record_are_named(sqlite: Driven) -> None:
    assert "there is no such file" in sqlite.call("ycsb", "prepare", file="absent").complaint
    assert sqlite.call("ycsb", "prepare", **SIZE).complaint == ""
    ran = sqlite.run("ycsb", events=500, **{**SIZE, "recordcount": 5000})
    assert "is not there; run `prepare` with the same `recordcount`" in ran.complaint
    assert sqlite.call("ycsb", "cleanup", **SIZE).complaint == ""


def test_a_bench_prints_results_as_ycsb_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = ["bench", f"sqlite://{tmp_path}/a.db", "--script", "ycsb", "--prepare", "--ycsb"]
    line += ["--clients", "1", "--events", "50", "--warm-up", "0s"]
    line += [w for n, v in (*SIZE.items(), ("readproportion", 1)) for w in ("--option", f"{n}={v}")]
    assert call([*line, "--option", "updateproportion=0"]) == 0
    (first, second, *read) = names_of(capsys.readouterr().out)
    assert (first[:2], second[:2]) == (
        ("OVERALL", "RunTime(ms)"),
        ("OVERALL", "Throughput(ops/sec)"),
    )
    assert {kind for kind, _, _ in read} == {"READ"}
    (kept,) = (path.name for path in (tmp_path / "results").glob("bench-ycsb-*"))
    assert call(["export", kept, "--format", "ycsb"]) == 0
    assert names_of(capsys.readouterr().out) == [first, second, *read]


@pytest.mark.nightly  # Fetches YCSB by Maven, and lets it draw five million keys.
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_keys_come_as_often_as_from_ycsb_itself(
    distribution: str, sqlite: Driven, tmp_path_factory: pytest.TempPathFactory
) -> None:
    options: Mapping[str, Any] = {"recordcount": 10_000, "requestdistribution": distribution}
    ours = drawn(sqlite, DRAWS, **options)
    theirs = drawn_by_ycsb(tmp_path_factory.getbasetemp() / "ycsb", options)
    ordered = [key for key, _ in (ours + theirs).most_common()]
    rest = sorted(ordered[100:])
    groups = [[key] for key in ordered[:100]] + [rest[part::10] for part in range(10)]
    table = [[sum(side[key] for key in group) for group in groups] for side in (ours, theirs)]
    assert table[0] != table[1]
    assert chi2_contingency(table).pvalue > 0.001


@pytest.mark.nightly  # As above.
def test_operations_come_as_often_as_from_ycsb_itself(
    sqlite: Driven, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Both of the same proportions, which do not add up to 1."""
    mix = {**MIX, "readproportion": 0.7}
    assert sqlite.call("ycsb", "prepare", **SIZE).complaint == ""
    try:
        ran = sqlite.run("ycsb", events=OPERATIONS, **SIZE, **mix)
    finally:
        assert sqlite.call("ycsb", "cleanup", **SIZE).complaint == ""
    assert ran.complaint == ""
    ours = operations(ran.summary)
    line = client_of(tmp_path_factory.getbasetemp() / "ycsb")
    given = {**SIZE, **mix, "operationcount": OPERATIONS}
    done = subprocess.run(
        [*line, *properties_of(given)], capture_output=True, text=True, check=True
    )
    counted = re.findall(r"^\[([A-Z-]+)\], Operations, (\d+)", done.stdout, re.MULTILINE)
    theirs = Counter({name: int(times) for name, times in counted})
    # A read-modify-write counts there as a read and an update, too.
    for name in ("READ", "UPDATE"):
        theirs[name] -= theirs["READ-MODIFY-WRITE"]
    names = sorted(ours)
    assert set(names) <= set(theirs)
    assert sum(theirs[name] for name in names) == ours.total() == OPERATIONS
    table = [[side[name] for name in names] for side in (ours, theirs)]
    assert chi2_contingency(table).pvalue > 0.001


@pytest.mark.nightly  # As above.
def test_results_are_named_and_ordered_as_by_ycsb_itself(
    sqlite: Driven, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Without inserts: there, whichever of the first insert and the first update was done first
    is printed first."""
    mix = {**MIX, "insertproportion": 0}
    assert sqlite.call("ycsb", "prepare", **SIZE).complaint == ""
    try:
        ran = sqlite.run("ycsb", events=2000, **SIZE, **mix)
    finally:
        assert sqlite.call("ycsb", "cleanup", **SIZE).complaint == ""
    assert ran.complaint == ""
    line = client_of(tmp_path_factory.getbasetemp() / "ycsb")
    quiet = {"operationcount": 2000, "basicdb.verbose": "false"}
    given = properties_of({**SIZE, **mix, **quiet})
    done = subprocess.run([*line, *given], capture_output=True, text=True, check=True)
    ours = ycsb_text(step_summary(0, ran.summary, {}))
    assert names_of(ours) == names_of(done.stdout)


def client_of(folder: Path) -> list[str]:
    """How YCSB's client is called on its database that does nothing; fetched first."""
    if not folder.exists():
        folder.mkdir()
        (folder / "pom.xml").write_text(DEPENDENCIES)
        fetch = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"]
        subprocess.run(fetch, cwd=folder, check=True)
    client = ["java", "-cp", f"{folder}/lib/*", "site.ycsb.Client", "-t"]
    return [*client, "-db", "site.ycsb.BasicDB"]


def properties_of(options: Mapping[str, Any]) -> list[str]:
    """A core workload's properties, as the client takes them."""
    properties = {**options, "workload": "site.ycsb.workloads.CoreWorkload"}
    return [word for name, value in properties.items() for word in ("-p", f"{name}={value}")]


def drawn_by_ycsb(folder: Path, options: Mapping[str, Any]) -> Counter[str]:
    """Keys of as many reads, as BasicDB prints them."""
    reads = {"operationcount": DRAWS, "readproportion": 1, "updateproportion": 0}
    line = [*client_of(folder), *properties_of({**options, **reads, "basicdb.verbose": "true"})]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as client:
        assert client.stdout is not None
        found = Counter(text.split()[2] for text in client.stdout if text.startswith("READ "))
    assert client.returncode == 0
    assert found.total() == DRAWS
    return found
