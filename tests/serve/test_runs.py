"""Runs that have ended: their pages, lines and logs, and two studies second by second."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from serving import Served, serving

from dbdyno.serve import seconds
from dbdyno.store.journal import dump_entry

KEPT = Path(__file__).parents[1] / "store/kept-turns/schema-2/study"
RUN = "b1-wal"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for name in ("study", "other"):
        shutil.copytree(KEPT, tmp_path / name)
        logs = tmp_path / name / "runs" / RUN / "logs"
        logs.mkdir(exist_ok=True)
        (logs / "engine.log").write_text("nothing to say\n")
    return tmp_path


@pytest.fixture
def served(store: Path) -> Iterator[Served]:
    with serving(store) as there:
        yield there


def test_a_run_s_page_has_all_that_is_stored_of_it(store: Path, served: Served) -> None:
    run = store / "study/runs" / RUN
    page = served.get(f"/studies/study/runs/{RUN}")
    assert page.status == 200
    settings = json.loads((run / "settings.json").read_text())
    for name in settings:
        assert f"<td>{name}</td>" in page.text
    for log in (run / "logs").iterdir():
        assert f"/studies/study/runs/{RUN}/logs/{quote(log.name)}" in page.text
    table = pq.read_table(run / "metrics.parquet")
    sources, metrics = (table[name].to_pylist() for name in ("source", "metric"))
    for source, metric in set(zip(sources, metrics, strict=True)):
        assert f'<option value="{source}.{metric}">' in page.text


def test_a_run_s_lines_are_its_intervals(store: Path, served: Served) -> None:
    rows = pq.read_table(store / "study/runs" / RUN / "series.parquet").to_pylist()
    answer = served.get(f"/api/studies/study/runs/{RUN}").json
    (points,) = [points for panel, _, points in answer["lines"] if panel == "throughput"]
    shown = [row for row in rows if row["phase"] in ("warm-up", "measure")]
    rates = [row["events"] / (row["end_s"] - row["start_s"]) for row in shown]
    assert [value for _, value in points] == pytest.approx(rates, rel=1e-4)


def test_a_long_run_is_drawn_from_its_beginning_to_its_end(
    monkeypatch: pytest.MonkeyPatch, store: Path, served: Served
) -> None:
    address = f"/api/studies/study/runs/{RUN}"

    def times() -> list[float]:
        lines = served.get(address).json["lines"]
        return [at for panel, _, points in lines for at, _ in points if panel == "throughput"]

    whole = times()
    monkeypatch.setattr(seconds, "MOST_POINTS", len(whole) // 2)
    thinned = times()
    assert len(thinned) <= len(whole) // 2 + 1
    assert thinned[0] == whole[0]
    assert whole[-1] - thinned[-1] <= (whole[-1] - whole[0]) / 2


def test_a_counter_is_shown_per_second_and_a_gauge_as_it_is(store: Path, served: Served) -> None:
    rows = pq.read_table(store / "study/runs" / RUN / "metrics.parquet").to_pylist()

    def values(source: str, metric: str) -> list[tuple[float, float]]:
        named = (row for row in rows if (row["source"], row["metric"]) == (source, metric))
        return sorted((row["unix_ns"] / 1e9, row["value"]) for row in named)

    def line(metric: str) -> list[float]:
        answer = served.get(f"/api/studies/study/runs/{RUN}?metric={metric}").json
        (points,) = [points for _, _, points in answer["lines"]]
        return [value for _, value in points]

    gauge = [value for _, value in values("mysql", "history_list")]
    assert line("mysql.history_list") == pytest.approx(gauge, rel=1e-4)
    syncs = values("mysql", "syncs")
    rates = [(value - before) / (at - then) for (then, before), (at, value) in pairwise(syncs)]
    assert line("mysql.syncs") == pytest.approx(rates, rel=1e-4)


def test_a_note_of_the_run_s_time_is_on_its_page(store: Path, served: Served) -> None:
    manifest = json.loads((store / "study/runs" / RUN / "manifest.json").read_text())
    within, after = (manifest["started_unix_s"] + 1, manifest["ended_unix_s"] + 1)
    notes = (("a vacuum <started>", within), ("too late", after))
    lines = (dump_entry({"note": text, "at": int(at * 1e9)}) for text, at in notes)
    (store / "study/notes.log").write_bytes(b"".join(lines))
    page = served.get(f"/studies/study/runs/{RUN}").text
    assert "<li>a vacuum &lt;started&gt;</li>" in page
    assert "too late" not in page
    marks = served.get(f"/api/studies/study/runs/{RUN}").json["marks"]
    assert [mark["text"] for mark in marks] == ["a vacuum <started>"]


def test_two_studies_lie_over_each_other_by_seconds_since_their_windows_began(
    store: Path, served: Served
) -> None:
    rows = [
        row
        for run in ("b1-wal", "b2-wal")
        for row in pq.read_table(store / "study/runs" / run / "series.parquet").to_pylist()
        if row["phase"] == "measure" and row["step"] == 0
    ]
    clients = rows[0]["clients"]
    asked = f"/api/compare?base=study&new=other&cell=wal&clients={clients}"
    answer = served.get(asked).json
    sides = {whose: points for panel, whose, points in answer["lines"] if panel == "throughput"}
    assert sides["base"] == sides["new"]
    assert sides["base"][0][0] == pytest.approx(rows[0]["end_s"] - rows[0]["start_s"], rel=0.2)
    assert [at for at, _ in sides["base"]] == sorted(at for at, _ in sides["base"])
    events = sum(row["events"] for row in rows) / 2
    ends = [0.0, *(at for at, _ in sides["base"])]
    lengths = [end - begin for begin, end in pairwise(ends)]
    shown = sum(value * length for (_, value), length in zip(sides["base"], lengths, strict=True))
    assert shown == pytest.approx(events, rel=0.2)
    assert served.get(asked.replace("wal", "nothing")).json["lines"] == []
    assert served.get(asked.replace("clients=", "clients=x")).status == 404


@pytest.mark.parametrize("name", ["series.parquet", "metrics.parquet", "manifest.json"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"[7]", b'{"phases": 7, "steps": [7, {}]}'])
def test_a_run_of_any_shape_is_shown(
    store: Path, served: Served, name: str, content: bytes
) -> None:
    (store / "study/runs" / RUN / name).write_bytes(content)
    for path in (
        f"/studies/study/runs/{RUN}",
        f"/api/studies/study/runs/{RUN}",
        f"/api/studies/study/runs/{RUN}?metric=mysql.history_list",
        "/api/compare?base=study&new=other&cell=wal&clients=1",
    ):
        assert served.get(path).status in (200, 404)


def test_a_log_is_text_that_nothing_of_is_executed(store: Path, served: Served) -> None:
    logs = store / "study/runs" / RUN / "logs"
    (logs / "page.html").write_text("<script>alert(1)</script>")
    (logs / "linked.log").symlink_to(store / "study/study.json")
    answer = served.get(f"/studies/study/runs/{RUN}/logs/page.html")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain")
    assert "sandbox" in answer.headers["content-security-policy"]
    for name in ("linked.log", "..%2fmanifest.json", "nothing.log", "."):
        assert served.get(f"/studies/study/runs/{RUN}/logs/{name}").status == 404


@pytest.mark.parametrize("run", ["..%2fb1-wal", "nothing", "b1-wal.partial", ".", "%00"])
def test_what_is_no_ended_run_is_not_there(served: Served, run: str) -> None:
    assert served.get(f"/studies/study/runs/{run}").status in (400, 404)
    assert served.get(f"/api/studies/study/runs/{run}").status in (400, 404)
