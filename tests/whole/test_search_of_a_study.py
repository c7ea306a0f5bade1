"""A search for the highest rate, for real: on a server whose capacity follows from how long its
statements sleep."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
import zstandard

from dbdyno.conduct import conduct_study, open_study
from dbdyno.design import plan
from dbdyno.design.search import begin, joined, misses, next_rate
from dbdyno.engine import find_engine
from dbdyno.model import RateSearch
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.material.gather import gather
from dbdyno.report.sections.tables import tables
from dbdyno.store import Store, StoredRun

pytestmark = pytest.mark.slow

CLIENTS = 8
SLEEP_S = {"short": 0.01, "long": 0.02}

STUDY = """\
question = "What does a statement of twice the length leave of the rate?"

[server.pg]
provision = "postgresql:15@system"

[factor.sleep]
short = { options = { sleep_s = "0.01" } }
long = { options = { sleep_s = "0.02" } }

[workload]
script = "asleep"

[load]
clients = 8
warm_up = "200 ms"
measure = "1 s"
interval = "250 ms"
find_max = { p50 = "500 ms", to = 6400, precision = "20 %" }

[design]
blocks = 1
baseline = { sleep = "short" }
"""

SCRIPT = """\
sysbench.cmdline.options = { sleep_s = { "How long", "0.01" } }
function prepare() end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT pg_sleep(" .. sysbench.opt.sleep_s .. ")") end
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("search")
    file = folder / "search.toml"
    file.write_text(STUDY)
    (folder / "asleep.lua").write_text(SCRIPT)
    loaded = open_study(str(file))
    made = plan(loaded.study, seed=5)
    assert made.order == "runs"
    store = Store(folder / "store")
    outcome = conduct_study(loaded, made, store, find_engine(), observe=lambda _: None)
    assert outcome.failures == ()
    return store


def found(run: StoredRun) -> RateSearch:
    (summary,) = run.summaries
    assert summary.search is not None
    return summary.search


def test_no_rate_beyond_the_server_s_capacity_is_met(store: Store) -> None:
    rates = {}
    for name, run in store.study("search").runs().items():
        search = found(run)
        level = name.rpartition("-")[2]
        # Arrivals are drawn at random, and a few are in flight or waiting when the window ends.
        assert search.low_per_s is not None
        assert search.low_per_s < 1.25 * CLIENTS / SLEEP_S[level]
        assert search.high_per_s is not None and search.high_per_s <= 1.2 * search.low_per_s
        rates[level] = search.rate_per_s or 0.0
    assert rates["long"] < rates["short"]


def test_the_store_holds_every_probe_and_the_search_can_be_replayed(store: Store) -> None:
    for run in store.study("search").runs().values():
        search = found(run)
        again = begin(search.objective, run.manifest.steps[0].seed)
        for number, probe in enumerate(search.probes):
            assert next_rate(again) == probe.rate_per_s
            again = joined(again, probe)
            spec: Any = run.document(f"spec-step-0-probe-{number}.json")
            (group,) = spec["groups"]
            assert group["arrival"] == {"kind": "poisson", "rate_per_s": probe.rate_per_s}
            assert spec["seed"] == probe.seed
        assert next_rate(again) is None
        assert again == search
        assert len({probe.seed for probe in search.probes}) == len(search.probes)
        packed = run.read("records.ndjson.zst")
        text = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed)).read().decode()
        records = [json.loads(line) for line in text.splitlines()]
        begun = [one["start_unix_ns"] for one in records if one["record"] == "hello"]
        assert begun[-len(search.probes) :] == [probe.start_unix_ns for probe in search.probes]


def test_the_step_s_figures_are_those_of_the_highest_rate_met(store: Store) -> None:
    for run in store.study("search").runs().values():
        (summary,) = run.summaries
        (step,) = run.manifest.steps
        search = found(run)
        chosen = search.probes[search.chosen]
        assert (summary.events, summary.latency_us) == (chosen.events, chosen.latency_us)
        assert step.engine_start_unix_ns == chosen.start_unix_ns
        assert misses(search.objective, summary, {}) == ()
        measured = [row for row in run.series.to_pylist() if row["phase"] == "measure"]
        assert sum(row["events"] for row in measured) == summary.events
        run.verify()


def test_the_report_shows_what_was_tried(store: Store) -> None:
    analysis = analyse(gather(store.root, "search"))
    every = {table.name: table for table in tables(analysis)}

    probes = list(csv.DictReader(io.StringIO(every["probes"].csv())))
    searches = [found(run) for run in store.study("search").runs().values()]
    assert len(probes) == sum(len(search.probes) for search in searches)
    (comparison,) = analysis.comparisons
    assert (comparison.point.label, comparison.baseline.label) == ("long", "short")
    assert {row["cell"] for row in csv.DictReader(io.StringIO(every["search"].csv()))} == {
        "short",
        "long",
    }
