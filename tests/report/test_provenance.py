"""Settings and facts behind a page: what is not the default, and how large the data was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_runs import World, write_study
from made_up_studies import SMALL

from dbdyno.model import Option, PlannedRun, Step
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.material.gather import gather
from dbdyno.report.sections.provenance import (
    bytes_of,
    data_to_cache,
    host_facts,
    other_settings,
    rerun_lines,
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


CACHES = {
    "innodb_buffer_pool_size": str(2**27),
    "aria_pagecache_buffer_size": str(2**26),
    "rocksdb_block_cache_size": str(2**25),
    "key_buffer_size": str(2**24),
}


@pytest.mark.parametrize(
    ("engines", "options", "default", "ratio"),
    [
        (["InnoDB"], {}, "Aria", "0.50"),
        (["Aria"], {}, "InnoDB", "1.0"),
        (["ROCKSDB"], {}, "InnoDB", "2.0"),
        (["MyISAM"], {}, "InnoDB", "4.0"),
        (["InnoDB", "MyISAM"], {"storage_engine": "innodb"}, "InnoDB", None),
        ([], {}, "InnoDB", None),
        (["TokuDB"], {}, "InnoDB", None),
        (None, {"storage_engine": "rocksdb"}, "InnoDB", "2.0"),
        (None, {"mysql_storage_engine": "aria"}, "InnoDB", "1.0"),
        (None, {}, "InnoDB", "0.50"),
        (None, {}, "Aria", None),
    ],
)
def test_the_cache_is_that_of_the_storage_engine_that_has_the_data(
    analysis: Analysis,
    engines: list[str] | None,
    options: Mapping[str, str],
    default: str,
    ratio: str | None,
) -> None:
    facts = {} if engines is None else {"data_engines": engines}
    told = seen(analysis, {**CACHES, "default_storage_engine": default}, facts)
    runs = tuple(
        replace(run, manifest=replace(run.manifest, options=options)) for run in told.material.runs
    )
    found = dict(data_to_cache(replace(told, material=replace(told.material, runs=runs))))
    ours = found.get("data set ÷ cache, delete, full")
    assert (ours and ours.split(" ")[0]) == ratio


def test_a_cell_of_two_engines_is_left_out_and_the_others_are_named(analysis: Analysis) -> None:
    runs = tuple(
        replace(
            run,
            settings=CACHES,
            facts={
                "server": {"data_engines": ["InnoDB", "MyISAM"][: 1 + ("wal" in run.manifest.id)]}
            },
            manifest=replace(run.manifest, server={"size_bytes": {"prepared": 2**27}}),
        )
        for run in analysis.material.runs
    )
    told = data_to_cache(replace(analysis, material=replace(analysis.material, runs=runs)))
    assert sorted(name for name, _ in told) == [
        "data set ÷ cache, delete, full",
        "data set ÷ cache, delete, normal",
    ]


def test_data_that_grew_is_told_at_the_end_too_and_db_bench_by_its_own_option(
    analysis: Analysis,
) -> None:
    def sized(
        sizes: Mapping[str, int],
        generator: str = "engine",
        options: Mapping[str, Option] | None = None,
    ) -> str | None:
        runs = tuple(
            replace(
                run,
                settings={"shared_buffers": "8MB"} if generator == "engine" else {},
                manifest=replace(
                    run.manifest,
                    server={"size_bytes": sizes},
                    generator=generator,
                    options=options or {},
                ),
            )
            for run in analysis.material.runs
        )
        found = data_to_cache(replace(analysis, material=replace(analysis.material, runs=runs)))
        return dict(found).get("data set ÷ cache")

    mib = 2**20
    assert sized({"prepared": 16 * mib, "end": 20 * mib}) == (
        "2.0 (16.0 MiB of data, 8.00 MiB of cache)"
    )
    assert sized({"prepared": mib, "end": 20 * mib}) == (
        "0.12, at the end 2.5 (1.00 MiB, then 20.0 MiB of data, 8.00 MiB of cache)"
    )
    empty = {"prepared": 0, "end": 64 * mib}
    assert sized(empty, "db_bench", {"cache_size": 256 * mib}) == (
        "at the end 0.25 (64.0 MiB of data, 256 MiB of cache)"
    )
    assert sized(empty, "db_bench") is None
    assert sized({}) is None


@pytest.mark.parametrize(
    ("text", "size"), [("128MB", 2**27), ("134217728", 2**27), ("8kB", 8192), ("lots", None)]
)
def test_amounts_of_memory_are_read_as_servers_write_them(text: str, size: int | None) -> None:
    assert bytes_of(text) == size


def test_a_study_that_was_run_again_is_repeated_from_its_own_file(analysis: Analysis) -> None:
    again = replace(analysis.material.study, name="study.2")
    lines = rerun_lines(replace(analysis, material=replace(analysis.material, study=again)))

    assert lines[-1] == f"dbdyno run study.toml --seed {analysis.material.plan.seed}"
    assert lines[0].endswith(" study.toml")
