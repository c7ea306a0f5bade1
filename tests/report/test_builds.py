"""Servers that were built differently are named beside what a study does not show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from made_up_runs import World, write_study
from made_up_studies import SMALL

from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.analysis.builds import built_differently
from dbdyno.report.material.gather import gather


def built(analysis: Analysis, *features: list[str] | None) -> Analysis:
    """The same runs, whose servers say in turn what they were built with."""
    material = analysis.material
    runs = [
        replace(run, facts={"server": {} if known is None else {"features": known}})
        for run, known in zip(material.runs, [*features] * len(material.runs), strict=False)
    ]
    return replace(analysis, material=replace(material, runs=tuple(runs)))


def test_builds_are_named_where_they_differ(tmp_path: Path) -> None:
    text = SMALL.replace('"30 s"', '"2 s"').replace('"5 s"', '"0 s"').replace("[1, 4]", "4")
    store = write_study(tmp_path, text, World(lambda run, step, second: 100.0))
    analysis = analyse(gather(store, "study"))

    (sentence,) = built_differently(built(analysis, ["openssl", "lz4"], []))
    assert "1.0 with openssl, lz4" in sentence
    assert "1.0 with none of these" in sentence
    assert built_differently(built(analysis, ["openssl"], ["openssl"])) == []
    assert built_differently(built(analysis, None, ["openssl"])) == []
    assert built_differently(analysis) == []


def test_servers_of_other_kinds_are_not_compared_by_their_builds(tmp_path: Path) -> None:
    text = SMALL.replace('"30 s"', '"2 s"').replace('"5 s"', '"0 s"').replace("[1, 4]", "4")
    store = write_study(tmp_path, text, World(lambda run, step, second: 100.0))
    analysis = built(analyse(gather(store, "study")), ["openssl"], ["wolfssl"])
    kinds = ("postgresql:18.4", "url:mariadb://root@localhost/db")
    runs = [
        replace(run, manifest=replace(run.manifest, provision=kind))
        for run, kind in zip(analysis.material.runs, kinds * len(kinds) * 8, strict=False)
    ]
    material = replace(analysis.material, runs=tuple(runs))

    assert built_differently(analysis)
    assert built_differently(replace(analysis, material=material)) == []
