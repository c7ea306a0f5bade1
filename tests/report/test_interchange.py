"""What is stored, for other programs: benchfmt, CSV, JSON, HdrHistogram's logs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from made_up_runs import World, write_study
from made_up_studies import SMALL

from dbdyno.cli import call
from dbdyno.model import PlannedRun, Step
from dbdyno.report.page.interchange import as_benchfmt, as_csv, as_json, exported, hlogs

SHORT = SMALL.replace('"30 s"', '"4 s"').replace('"5 s"', '"1 s"')


def rate(run: PlannedRun, step: Step, second: int) -> float:
    return 400.0 * step.clients


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    return write_study(folder, SHORT, World(rate), name="small-one")


def test_every_step_of_every_run_is_a_line_of_csv(store: Path) -> None:
    found = exported(store, "small-one")
    rows = list(csv.DictReader(io.StringIO(as_csv(found))))
    assert len(rows) == len(found.rows) > 4
    assert {row["clients"] for row in rows} == {"1", "4"}
    four = next(row for row in rows if row["clients"] == "4")
    assert float(four["throughput"]) == pytest.approx(1600, rel=0.05)
    assert four["factor.journal"] in ("delete", "wal")


def test_json_says_what_each_figure_is(store: Path) -> None:
    document = json.loads(as_json(exported(store, "small-one")))
    assert document["schema"] == 1
    assert document["figures"]["p99"] == {
        "title": "Response time, p99",
        "unit": "µs",
        "better": "lower",
    }
    assert set(document["rows"][0]["figures"]) == set(document["figures"])


def test_benchfmt_has_a_result_a_row_in_base_units(store: Path) -> None:
    found = exported(store, "small-one")
    text = as_benchfmt(found)
    assert "study: small-one\n" in text
    assert "Unit events/s better=higher\n" in text
    results = [line for line in text.splitlines() if line.startswith("Benchmark")]
    assert len(results) == len(found.rows)
    for line, row in zip(results, found.rows, strict=True):
        name, events, *pairs = line.split("\t")
        assert re.fullmatch(r"BenchmarkSmall-one(/[\w-]+=[\w.+%-]+)+/clients=\d+", name)
        assert int(events) == row.events
        told = {unit: float(value) for value, unit in (pair.split(" ") for pair in pairs)}
        assert told["p99-sec"] == pytest.approx(row.figures["p99"] / 1e6, rel=1e-5)


def test_one_cell_or_one_run_can_be_named(store: Path) -> None:
    assert {row.cell["journal"] for row in exported(store, "small-one/wal, full").rows} == {"wal"}
    (run,) = {row.run for row in exported(store, "small-one/b1-wal,full").rows}
    assert run == "b1-wal,full"


def test_logs_hold_what_the_runs_measured(store: Path, tmp_path: Path) -> None:
    found = exported(store, "small-one/b1-wal,full")
    ((run, log),) = hlogs(found).items()
    file = tmp_path / f"{run}.hlog"
    file.write_text(log)
    reader = HistogramLogReader(str(file), HdrHistogram(1, 3_600_000_000_000, 3))
    counts = []
    while (histogram := reader.get_next_interval_histogram()) is not None:
        counts.append(histogram.get_total_count())
    kept = store / "small-one" / "runs" / run / "latency.hlog"
    assert log == kept.read_text()
    assert len(counts) == log.count("\nTag=") > 4
    assert min(counts) > 0


def test_the_verb_writes_files_and_says_what_it_has_not(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["export", "small-one/b1-wal,full", "--store", str(store)]
    out = tmp_path / "deep" / "a.csv"
    assert call([*asked, "--format", "csv", "--out", str(out)]) == 0
    assert out.read_text().startswith("study,scale,factor.")
    assert call([*asked, "--format", "hlog", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "b1-wal,full.hlog").is_file()
    assert call(["export", "nothing", "--store", str(store), "--format", "csv"]) == 2
    assert "holds no study `nothing`" in capsys.readouterr().err
