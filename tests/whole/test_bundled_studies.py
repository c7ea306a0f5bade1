"""Every study that comes with the lab, from provisioning to a report, and what it promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from product import dbdyno

from dbdyno.cli import call
from dbdyno.conduct import bundled_studies, open_study
from dbdyno.conduct.estimate import estimate
from dbdyno.conduct.opening import SMALL
from dbdyno.conduct.tool import provisions_of
from dbdyno.design import plan
from dbdyno.formats.study import PAPER, SMOKE, read_study
from dbdyno.servers import parse_provision, parse_tool
from dbdyno.servers.sources.apt import MOVING

MEDIUM = "medium"
"""A machine of 8 cores and 32 GiB, an hour."""

STUDIES = bundled_studies()
CLASSICS = [name for name, file in STUDIES.items() if read_study(file).study.source]

FIRST_TO_USE = {
    "functions in C, a check after each window": "audit-trigger",
    "tables of another script, a machine at rest before each window": "custom-lua-workload",
    "several servers of several vendors, settings of each": "durability-and-versions",
    "files and keys made for a server, turns": "encryption-overhead",
    "processors of a server": "engines-and-cores",
    "file systems of its own, fio": "ext4-direct-io",
    "proxies": "hundred-thousand-connections",
    "damaged files, databases without a server process": "page-checksums",
    "scheduling class": "postgresql-varchar-scheduler",
    "db_bench": "rocksdb-block-cache",
}
"""Mechanism → the study whose smoke run shows in `make check` that it works. All others run
nightly: they add settings and statements to a mechanism, which `check` examines. Networks, TLS and
switches of the kernel have tests of their own, on the real machine: `tests/setters`,
`tests/servers/test_tls.py`."""

SMOKE_RUNS = [
    name if name in FIRST_TO_USE.values() else pytest.param(name, marks=pytest.mark.nightly)
    for name in CLASSICS
]


def test_a_mechanism_is_shown_by_a_published_benchmark() -> None:
    assert set(FIRST_TO_USE.values()) <= set(CLASSICS)


@pytest.mark.parametrize("name", CLASSICS)
def test_a_published_benchmark_has_every_scale(name: str) -> None:
    assert {PAPER, MEDIUM, SMALL, SMOKE} <= set(read_study(STUDIES[name]).study.scales)


@pytest.mark.parametrize("name", CLASSICS)
def test_large_scales_name_their_machine_and_medium_takes_an_hour(name: str) -> None:
    paper, medium = (open_study(name, scale=scale).study for scale in (PAPER, MEDIUM))

    assert paper.needs.cores
    assert paper.needs.memory_bytes
    assert (medium.needs.cores, medium.needs.memory_bytes) == (8, 32 << 30)
    assert 40 * 60 <= estimate(medium, plan(medium)).time_s <= 80 * 60


@pytest.mark.slow
@pytest.mark.parametrize("scale", [PAPER, MEDIUM])
@pytest.mark.parametrize("name", CLASSICS)
def test_a_published_benchmark_is_valid_at_its_large_scales(
    name: str,
    scale: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code = call(["check", name, "--scale", scale])

    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert "\nneeds    " in printed.out


@pytest.mark.parametrize("name", CLASSICS)
def test_a_published_benchmark_compares_with_a_baseline_at_every_scale(name: str) -> None:
    for scale in read_study(STUDIES[name]).study.scales:
        study = read_study(STUDIES[name], scale=scale).study
        factors = {factor.name: {level.name for level in factor.levels} for factor in study.factors}

        assert study.primary.smallest_effect > 0
        for factor, level in study.design.baseline.items():
            assert level in factors[factor], scale


@pytest.mark.parametrize("name", CLASSICS)
def test_a_smoke_run_needs_nothing_of_a_suite_that_moves(name: str) -> None:
    study = read_study(STUDIES[name], scale=SMOKE).study

    for provision in provisions_of(plan(study, seed=1)):
        tool = provision.startswith("tool:")
        found = parse_tool(provision) if tool else parse_provision(provision)
        package = found.package
        assert package is None or package.name.partition("/")[0] not in MOVING, provision


@pytest.mark.slow
@pytest.mark.pictures
@pytest.mark.parametrize("name", SMOKE_RUNS)
def test_a_published_benchmark_runs_at_smoke_scale(name: str, tmp_path: Path, clean: None) -> None:
    told = dbdyno("run", name, "--scale", SMOKE, "--json", folder=tmp_path)

    assert told.code == 0, told.err
    document = json.loads(told.out)
    assert document["failed"] == []
    assert document["complete"] > 0
    assert Path(tmp_path, document["report"]).read_text().count("A smoke run:") >= 1
