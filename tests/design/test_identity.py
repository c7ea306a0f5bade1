"""Identities of studies: a stored study must be found again by every later version.

`identities.json` has those of every bundled study at each of its scales: the plan's fingerprint,
the digest of its design, and one of its runs (ids, order, seeds); with `again` where its baseline's
cell may stand twice. `DBDYNO_UPDATE=1 pytest tests/design/test_identity.py` writes it anew, which
is right only where a study's file has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path

import pytest

from dbdyno.conduct import bundled_studies
from dbdyno.design import design_digest, plan
from dbdyno.design.identity import FIRST, LATER, NO_PART
from dbdyno.formats.study import read_study
from dbdyno.model import (
    Constant,
    Design,
    ErrorPolicy,
    ErrorRule,
    Factor,
    FindMax,
    Group,
    Level,
    Load,
    Poisson,
    Ramp,
    Replay,
    Sine,
    Steps,
    Study,
    Tables,
    Workload,
)

KEPT = Path(__file__).with_name("identities.json")
STUDIES = bundled_studies()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def identity(study: Study) -> list[str]:
    """Fingerprint, digest of the design, digest of the runs."""
    planned = plan(study)
    runs = []
    for run in planned.runs:
        steps = [(step.index, step.clients, step.seed) for step in run.steps]
        runs.append((run.id, run.block, run.position, run.data_seed, run.seed, *steps))
    return [planned.fingerprint, design_digest(study), digest(json.dumps(runs))]


def identities(name: str) -> Iterator[tuple[str, list[str]]]:
    """Of a bundled study: by scale, with a cell that stands twice as a scale of its own."""
    for scale in read_study(STUDIES[name]).study.scales:
        study = read_study(STUDIES[name], scale=scale).study
        design = study.design
        yield scale, identity(replace(study, design=replace(design, twice_if_long={})))
        if design.twice_if_long:
            twice = replace(design, twice=design.twice_if_long, twice_if_long={})
            yield f"{scale} again", identity(replace(study, design=twice))


@pytest.fixture(scope="module")
def kept() -> Mapping[str, Mapping[str, object]]:
    if os.environ.get("DBDYNO_UPDATE"):
        lines = (
            f"{json.dumps(name)}: "
            f"{json.dumps({'file': digest(file.read_text()), **dict(identities(name))})}"
            for name, file in STUDIES.items()
        )
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    found: Mapping[str, Mapping[str, object]] = json.loads(KEPT.read_text())
    return found


def test_every_bundled_study_is_kept(kept: Mapping[str, object]) -> None:
    assert set(kept) == set(STUDIES), "see this file's docstring"


@pytest.mark.parametrize("name", STUDIES)
def test_a_bundled_study_is_the_one_it_was(
    kept: Mapping[str, Mapping[str, object]], name: str
) -> None:
    same_file = kept[name]["file"] == digest(STUDIES[name].read_text())
    now = dict(identities(name))
    was = {scale: value for scale, value in kept[name].items() if scale != "file"}

    assert now == was, (
        "its file is what it was: stored studies would begin anew"
        if same_file
        else "its file has changed: see this file's docstring"
    )


POLICY = ErrorPolicy((ErrorRule(("40001", "connection"), "retry", 3),), 30.0, 0.5)
GROUPS = (
    Group("plain", 2),
    Group("idle", 3, idle=True),
    Group("writer", 1, "kv_update", {"n": 1, "of": ["a", "b"]}, True, Constant(5.0), False, 0.1, 7),
    Group("ramp", 1, arrival=Ramp(1.0, 2.0, 3.0)),
    Group("steps", 1, arrival=Steps(((1.0, 5.0), (2.0, 10.0)))),
    Group("sine", 1, arrival=Sine(5.0, 1.0, 2.0)),
    Group("replay", 1, arrival=Replay(Path("starts.txt"))),
)
FULL_LOAD = Load(
    clients=(1, 4),
    warm_up_s=1.5,
    measure_s=2.5,
    events=100,
    interval_s=0.5,
    think_time_s=0.25,
    arrival=Poisson(100.0),
    find_max=FindMax("p99", 0.01, 10.0, 1000.0, 0.1),
    reconnect_every=9,
    groups=GROUPS,
    errors=POLICY,
    prepared_statements=False,
    reactor="epoll",
    scheduling="inherit",
    bind="each",
    shards=2,
    loaders=3,
    verify="counts",
    processes=2,
)
PLAIN_LOAD = Load(clients=(1,), warm_up_s=1.0, measure_s=2.0)
FULL_LEVEL = Level(
    "full",
    settings={"journal_mode": "wal"},
    script="kv_update",
    options={"rows": 10},
    host={"cpus": {"server": [0], "client": [1]}, "idle": "poll"},
    generator="engine",
    connection={"transport": "tcp", "tls": True},
    c_functions=("stamp.c",),
    proxy={"kind": "pgbouncer", "processes": 2, "settings": {"pool_mode": "session"}},
    most_clients=3,
)
SERVERS = Factor("server", (Level("lite", provision="sqlite"),))
PLAIN = Study("plain", "q?", (SERVERS,), Workload("w"), PLAIN_LOAD)
TURNS = Design(order="turns", turn_s=0.5, lead_in_s=0.2, reconnect=3, freeze=True)
FULL = Study(
    "full",
    "q?",
    (SERVERS, Factor("change", (Level("none"), FULL_LEVEL, Level("fio", generator="fio")))),
    Workload("w", {"tables": 1}, tables=Tables("makes", {"rows": 3})),
    FULL_LOAD,
    Design(order="runs", seed=3, stop_half_width=0.02, twice={"change": "none"}),
    host={"drop_caches": True},
    connection={"compression": "zlib"},
    scale="small",
)


@pytest.mark.parametrize(
    ("study", "was"),
    [
        (PLAIN, ["f95bd4d41f8e9ad4", "f95bd4d41f8e9ad4", "beb8f8697f97d61d"]),
        (
            replace(PLAIN, design=TURNS),
            ["1a8e8fd42e2c7912", "37c07ce8414c7606", "beb8f8697f97d61d"],
        ),
        (
            replace(PLAIN, design=Design(order="runs")),
            ["f95bd4d41f8e9ad4", "f95bd4d41f8e9ad4", "beb8f8697f97d61d"],
        ),
        (FULL, ["97d8007c6da6ce79", "68e9f98885149426", "461c345df4f3777b"]),
        (
            replace(FULL, load=replace(FULL_LOAD, find_max=None)),
            ["657a26b9dcd75bcd", "8a7dbd93d577f571", "461c345df4f3777b"],
        ),
    ],
    ids=["plain", "turns", "runs", "full", "full without a search"],
)
def test_every_key_counts_as_it_did(study: Study, was: list[str]) -> None:
    assert identity(study) == was


@pytest.mark.parametrize("kind", FIRST, ids=lambda kind: str(kind.__name__))
def test_every_key_is_decided_on(kind: type) -> None:
    """A new key is added to `LATER` with its default, or to `NO_PART` with the reason."""
    decided = [*FIRST[kind], *LATER.get(kind, ()), *NO_PART.get(kind, ())]

    assert sorted(decided) == sorted(field.name for field in fields(kind))


def test_a_key_of_later_counts_only_where_it_is_not_at_its_default() -> None:
    plain = identity(PLAIN)

    assert identity(replace(PLAIN, design=Design(stop_half_width=None))) == plain
    assert identity(replace(PLAIN, design=Design(stop_half_width=0.1))) != plain
