"""The lines below the answer: how sure it is, on what it was measured, what was not, and whether
it may be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_answers import Case, analysed

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.answer.absent import absent_words
from dbdyno.report.answer.disk import disk_words
from dbdyno.report.answer.measured import credit, measured_words
from dbdyno.report.answer.trust import chips
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.material import RunMaterial

PAIR = Case(
    {"journal": ("delete", "wal")},
    lambda levels, clients: 460 if levels["journal"] == "wal" else 400,
    baseline={"journal": "delete"},
)
FOUR = replace(PAIR, factors={"journal": ("delete", "wal", "memory", "off")})
MEAN_ALONE = replace(
    PAIR,
    factors={**PAIR.factors, "synchronous": ("full", "normal", "extra")},
    noise=0.08,
    shifted="synchronous",
    lines='leads = { factor = "journal", level = "wal" }',
)
WAL = 'leads = { cell = { journal = "wal" } }'


def with_runs(analysis: Analysis, *runs: RunMaterial) -> Analysis:
    """The same of other runs."""
    return replace(analysis, material=replace(analysis.material, runs=runs))


def with_host(run: RunMaterial, **groups: object) -> RunMaterial:
    """The run on a machine with these facts."""
    return replace(run, facts={**run.facts, "host": {"processor": {"threads": 2}, **groups}})


def disks(*devices: Mapping[str, str | None], kind: str = "ext4") -> Mapping[str, object]:
    """Facts of a folder on these devices, the outermost first."""
    return {"file_system": kind, "devices": list(devices)}


@pytest.mark.parametrize(
    ("storage", "words"),
    [
        (
            disks({"name": "nvme0n1p2", "model": "Samsung  SSD 990 PRO"}),
            "ext4 on Samsung SSD 990 PRO",
        ),
        (disks({"name": "dm-0"}, {"name": "sda2", "model": "ST4000"}), "ext4 on ST4000"),
        (disks({"name": "vda", "model": None}), "ext4 on a virtual disk of unknown model (vda)"),
        (disks({"name": "xvdf1"}), "ext4 on a virtual disk of unknown model (xvdf1)"),
        (disks({"name": "loop3"}, kind="xfs"), "xfs in a file (loop device)"),
        (disks({"name": "md0"}), "ext4 on md0"),
        (disks(kind="overlay"), "overlay"),
        (disks(kind="tmpfs"), "in memory (tmpfs)"),
        ({}, ""),
    ],
)
def test_the_disk_is_named_as_far_as_it_is_known(
    storage: Mapping[str, object], words: str, tmp_path: Path
) -> None:
    run = analysed(tmp_path, PAIR).material.runs[0]
    assert disk_words([with_host(run, storage=storage)]) == words


def test_each_file_system_is_named_once_and_a_disk_that_nobody_saw_is_not_known(
    tmp_path: Path,
) -> None:
    run = analysed(tmp_path, PAIR).material.runs[0]
    on = [with_host(run, storage=disks({"name": "sda"}, kind=kind)) for kind in ("ext4", "xfs")]
    assert disk_words([*on, on[0]]) == "ext4 on sda and xfs on sda"

    by_url = replace(run.manifest, provision="url:postgresql://user@db1/test")
    elsewhere = replace(with_host(run), manifest=by_url)
    assert disk_words([elsewhere]) == "the server's disk not known"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://user@db1:5432/test", "clients on 2 processors"),
        ("postgresql://user@127.0.0.1:5432/test", "2 processors"),
        ("mysql://user@localhost/test", "2 processors"),
        ("postgresql://user@[::1]/test", "2 processors"),
        ("postgresql:///test?host=/run/postgresql", "2 processors"),
    ],
)
def test_the_clients_machine_is_not_taken_for_that_of_a_server_elsewhere(
    url: str, words: str, tmp_path: Path
) -> None:
    analysis = analysed(tmp_path, PAIR)
    run = analysis.material.runs[0]
    run = with_host(replace(run, manifest=replace(run.manifest, provision=f"url:{url}")))
    assert words in measured_words(with_runs(analysis, run))


def test_runs_that_are_not_complete_are_counted_beside_the_machine(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    assert measured_words(analysed(tmp_path / "all", PAIR))[-1] == "6 runs in 5 min"
    assert measured_words(analysed(tmp_path, replace(PAIR, failed=("wal",))))[-1].startswith(
        "3 of 6 runs"
    )


DONE = "all 6 runs are complete."


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (PAIR, f"nothing that was planned: {DONE}"),
        (replace(PAIR, failed=("wal",)), "3 of 6 planned runs."),
        (
            replace(PAIR, blocks=1),
            "a second repeat; all 2 runs are complete.",
        ),
        (
            replace(PAIR, factors={"journal": ("wal",)}, baseline={}, blocks=1),
            "a second repeat; its one run is complete.",
        ),
        (
            replace(PAIR, levels=("delete", "wal"), factors=FOUR.factors),
            f"journal memory and off; {DONE}",
        ),
        (
            replace(
                PAIR,
                levels=("delete", "wal"),
                factors={"journal": ("delete", "wal", "memory", "off", "truncate")},
            ),
            f"journal memory, off and truncate; {DONE}",
        ),
        (
            replace(
                PAIR, levels=("delete", "wal"), factors={"journal": ("delete", "wal", *"abcdefg")}
            ),
            f"journal a, b, c, d and three more; {DONE}",
        ),
    ],
)
def test_what_was_not_measured(case: Case, words: str, tmp_path: Path) -> None:
    assert absent_words(analysed(tmp_path, case)) == words


def test_a_scale_below_the_study_s_own_is_not_the_study_in_full(tmp_path: Path) -> None:
    case = replace(PAIR, levels=("delete", "wal"), factors=FOUR.factors)
    analysis = analysed(tmp_path, case)
    small = replace(analysis.material.study, scale="small", scales=("paper", "small"))
    analysis = replace(analysis, material=replace(analysis.material, study=small))

    assert absent_words(analysis) == (
        f"the full study (scale small, without journal memory and off); {DONE}"
    )
    assert measured_words(analysis)[-1] == "scale small"


SMALL = """
[scale.small]
workload.options = { rows = 10 }
factor.journal.wal.host.network.rate = "1 Mbit/s"
load = { clients = [4], measure = "1 s" }
"""


def test_what_a_scale_has_otherwise_is_said(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, PAIR)
    study = analysis.material.study
    small = replace(study, scale="small", scales=("paper", "small"), text=study.text + SMALL)
    analysis = replace(analysis, material=replace(analysis.material, study=small))

    assert absent_words(analysis) == (
        f"the full study (scale small has other amounts of data, loads and times); {DONE}"
    )


def test_whether_it_may_be_published_and_who_is_to_be_asked(tmp_path: Path) -> None:
    study = analysed(tmp_path, PAIR).material.study

    assert credit(study) == (
        "not without asking whoever gave you this page: no author or licence is named."
    )
    assert credit(replace(study, author="N. N.")) == (
        "not without asking the author, N. N.: no licence is named."
    )
    assert credit(replace(study, licence="CC0")) == "under the licence CC0; no author is named."
    assert credit(replace(study, author="N. N.", licence="CC0")) == (
        "under the licence CC0, given by the author, N. N."
    )


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (PAIR, "sure which is better (95\u202f%): only three repeats"),
        (replace(PAIR, noise=0.5), "not sure: only three repeats"),
        (replace(PAIR, blocks=1), "not sure: one repeat"),
        (FOUR, "sure (95\u202f%), but for each “can't tell”; only three repeats"),
        (replace(FOUR, lines=WAL), "sure which is better (95\u202f%): only three repeats"),
        (replace(PAIR, baseline={}), "only three repeats"),
        (replace(PAIR, baseline={}, blocks=1), "not sure: only one repeat"),
        (MEAN_ALONE, "sure (95\u202f%) of the average alone: only three repeats"),
        (
            replace(PAIR, rate=lambda levels, clients: 400, noise=0.003),
            "sure (95\u202f%): only three repeats",
        ),
    ],
)
def test_the_first_chip_says_whether_it_is_sure(case: Case, words: str, tmp_path: Path) -> None:
    analysis = analysed(tmp_path, case)
    assert chips(analysis, gates(analysis))[0].text == words
