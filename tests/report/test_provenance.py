"""Settings and facts behind a page: what is not the default, and how large the data was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_runs import World, write_study
from made_up_studies import SMALL

from dbdyno.model import PlannedRun, Step
from dbdyno.report.analyse import Analysis, analyse
from dbdyno.report.gather import gather
from dbdyno.report.provenance import (
    bytes_of,
    data_to_cache,
    host_facts,
    other_settings,
    settings_that_differ,
)

SHORT = SMALL.replace('"30 s"', '"3 s"').replace('"5 s"', '"1 s"').replace("[1, 4]", "1")


def rate(run: PlannedRun, step: Step, second: int) -> float:
    return 400


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder: Path = tmp_path_factory.mktemp("provenance")
    return analyse(gather(write_study(folder, SHORT, World(rate)), "study"))


def seen(analysis: Analysis, settings: Mapping[str, str], server: Mapping[str, object]) -> Analysis:
    """The same, of a server with these settings and facts."""
    runs = tuple(
        replace(
            run,
            settings={**run.settings, **settings},
            facts={**run.facts, "server": server},
            manifest=replace(
                run.manifest,
                server={"size_bytes": {"prepared": 64 * 2**20 * (1 + ("wal" in run.manifest.id))}},
            ),
        )
        for run in analysis.material.runs
    )
    return replace(analysis, material=replace(analysis.material, runs=runs))


def test_what_is_not_the_default_follows_what_is_studied_with_its_default(
    analysis: Analysis,
) -> None:
    changed = {
        "work_mem": {"value": "64MB", "default": "4MB", "source": "configuration file"},
        "synchronous": {"value": "full", "default_value": "normal", "source": "CONFIG"},
        "port": {"value": "4000", "default": "5432", "source": "configuration file"},
    }
    told = seen(analysis, {"work_mem": "64MB"}, {"settings_changed": changed})
    rows = [row[:3] for row in settings_that_differ(told).rows]
    assert rows == [
        ("journal_mode", "studied", "–"),
        ("synchronous", "studied", "normal"),
        ("work_mem", "not the default", "4MB"),
    ]
    assert "work_mem" not in [row[0] for row in other_settings(told).rows]
    assert not any("work_mem" in row[0] for row in host_facts(told).rows)


def test_the_data_set_by_the_cache_is_told_by_cell_where_it_differs(analysis: Analysis) -> None:
    told = dict(data_to_cache(seen(analysis, {"shared_buffers": "128MB"}, {})))
    assert told["data set ÷ cache, delete, full"] == "0.50 (64.0 MiB of data, 128 MiB of cache)"
    assert told["data set ÷ cache, wal, full"] == "1.0 (128 MiB of data, 128 MiB of cache)"
    assert data_to_cache(analysis) == []


@pytest.mark.parametrize(
    ("text", "size"), [("128MB", 2**27), ("134217728", 2**27), ("8kB", 8192), ("lots", None)]
)
def test_amounts_of_memory_are_read_as_servers_write_them(text: str, size: int | None) -> None:
    assert bytes_of(text) == size
