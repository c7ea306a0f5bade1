"""Specs and records: the lab's side against the engine's, field by field.

The examples in `crates/record/tests/golden` are complete: the types of `crates/record` write them,
and a test there fails when they are old.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import pytest

from dbdyno.engine import run_spec
from dbdyno.engine.merge import Merger
from dbdyno.engine.parts import split
from dbdyno.engine.spec import in_turns
from dbdyno.errors import EngineError
from dbdyno.formats.engine_plan import parse_engine_plan
from dbdyno.formats.records import dump_record, parse_record
from dbdyno.model import (
    MAIN,
    Arrival,
    Closed,
    Constant,
    ErrorPolicy,
    ErrorRule,
    Group,
    Interval,
    Load,
    Poisson,
    Ramp,
    Record,
    Replay,
    Sine,
    Steps,
    Summary,
    Turn,
)
from dbdyno.model.load import Bind, ErrorAction, Reactor, Scheduling
from dbdyno.model.measurement import FatalKind, PhaseName, Subject, TimeKind

GOLDEN = Path(__file__).parents[2] / "crates" / "record" / "tests" / "golden"

Document = Mapping[str, Any]


def documents(name: str) -> list[dict[str, Any]]:
    """A JSON document from each line."""
    return [json.loads(line) for line in (GOLDEN / name).read_text().splitlines()]


RECORDS = documents("records.ndjson")
SPECS = documents("specs.ndjson")
KINDS = {document["record"] for document in RECORDS}

# Written for `sysbench`'s own report, within the engine; the lab never asks for it.
NOT_FOR_THE_LAB = {"clients"}

# What the lab leaves to the engine's defaults.
LEFT_OUT = {"drain_s", "load", "connect_timeout_s"}


def read(kind: str) -> list[tuple[dict[str, Any], Record]]:
    """The examples of a kind, as the engine wrote them and as the lab reads them."""
    examples = [document for document in RECORDS if document["record"] == kind]
    return [(each, parse_record(json.dumps(each), number=1)) for each in examples]


@pytest.mark.parametrize("kind", sorted(KINDS - NOT_FOR_THE_LAB))
def test_the_lab_reads_each_field_of_a_record_and_knows_no_other(kind: str) -> None:
    for written, record in read(kind):
        assert json.loads(dump_record(record)) == written


def test_the_lab_reads_each_field_of_a_plan_and_knows_no_other() -> None:
    (written,) = documents("plans.ndjson")

    read = asdict(parse_engine_plan(json.dumps(written)))
    assert json.loads(json.dumps(read)) == written


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("clients", "16", "`clients` is '16'"),
        ("clients", True, "`clients` is True"),
        ("open_files_limit", 1.5, "`open_files_limit` is 1.5"),
        ("back_off", {"first_ms": 1, "longest_ms": None, "give_up_s": 1}, "`back_off.longest_ms`"),
        ("volumes", [{"rows": []}], "`volumes.0.rows`"),
        ("schema", 99, "schema 99"),
    ],
)
def test_another_plan_is_refused_with_its_place(field: str, value: object, words: str) -> None:
    (written,) = documents("plans.ndjson")
    with pytest.raises(EngineError, match=re.escape(words)):
        parse_engine_plan(json.dumps({**written, field: value}))


def test_a_plan_without_a_figure_is_refused() -> None:
    (written,) = documents("plans.ndjson")
    del written["shards"]
    with pytest.raises(EngineError, match="shards"):
        parse_engine_plan(json.dumps(written))


def values(documents: Sequence[Any], field: str) -> Iterator[str]:
    """What stands under this name, at any depth."""
    for document in documents:
        if isinstance(document, dict):
            if isinstance(document.get(field), str):
                yield document[field]
            yield from values(list(document.values()), field)
        elif isinstance(document, list):
            yield from values(document, field)


@pytest.mark.parametrize(
    ("documents", "field", "names"),
    [
        (RECORDS, "phase", PhaseName),
        (RECORDS, "subject", Subject),
        (RECORDS, "time", TimeKind),
        ([each for each in RECORDS if each["record"] == "fatal"], "kind", FatalKind),
        (SPECS, "action", ErrorAction),
        (SPECS, "reactor", Reactor),
        (SPECS, "scheduling", Scheduling),
        (SPECS, "bind", Bind),
    ],
    ids=["phase", "subject", "time", "fatal", "action", "reactor", "scheduling", "bind"],
)
def test_names_that_both_sides_list_are_the_same(
    documents: Sequence[Any], field: str, names: object
) -> None:
    assert set(values(documents, field)) == set(get_args(names))


@pytest.mark.parametrize("kind", ["interval", "turn", "summary"])
def test_merging_loses_no_field(kind: str) -> None:
    (_, hello), *_ = read("hello")
    _, record = read(kind)[-1]
    merger = Merger(1)
    taken = [*merger.take(0, hello), *merger.take(0, record), *merger.end(0)]

    merged = next(each for each in taken if type(each) is type(record))

    assert isinstance(record, Interval | Turn | Summary)
    if isinstance(record, Interval):
        record = replace(record, index=0)  # numbered anew
    if isinstance(record, Summary):
        record = replace(record, measured_ns=record.end_ns - record.start_ns)  # computed anew
    assert merged == record


ARRIVALS: Sequence[Arrival] = (
    Closed(),
    Constant(10.0),
    Poisson(10.0),
    Ramp(1.0, 2.0, 3.0),
    Steps(((1.0, 10.0), (2.0, 20.0))),
    Sine(10.0, 5.0, 2.0),
    Replay(Path("/times")),
)


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Any]:
    """The fullest spec that the lab writes: of a run by two processes."""
    script = tmp_path / "script.lua"
    script.touch()
    rules = tuple(ErrorRule(("40",), action) for action in get_args(ErrorAction))
    groups = [Group(str(number), 2, arrival=each) for number, each in enumerate(ARRIVALS)]
    whole = run_spec(
        command="run",
        target={"driver": "null"},
        script=script,
        script_path=(),
        options={},
        clients=2,
        seed=1,
        load=Load((2,), 1.0, 2.0, groups=tuple(groups), errors=ErrorPolicy(rules)),
        entries={group.name: {"driver": "null"} for group in groups},
    )
    lengths = {name: whole[name] for name in ("warm_up_s", "measure_s", "events")}
    return {**split(in_turns(whole, 3), 2)[0], **lengths}


def test_the_lab_writes_each_field_of_a_spec_or_says_that_it_does_not(written: Document) -> None:
    example = SPECS[0]

    assert set(example) - set(written) == LEFT_OUT
    assert set(written) <= set(example)
    assert set(written["errors"]) == set(example["errors"])
    assert set(written["errors"]["rules"][0]) == set(example["errors"]["rules"][0])
    assert set(written["part"]) == set(example["part"])
    for group in written["groups"]:
        # A step's own clients are never idle, and connect where the run does.
        never = {"idle", "target"} if group["name"] == MAIN else set()
        assert set(group) | never == set(example["groups"][0])


def test_the_lab_knows_each_kind_of_arrival_with_its_fields(written: Document) -> None:
    assert {type(each) for each in ARRIVALS} == set(get_args(Arrival))
    examples = {group["arrival"]["kind"]: group["arrival"] for group in SPECS[0]["groups"]}
    arrivals = {group["arrival"]["kind"]: group["arrival"] for group in written["groups"]}

    assert set(arrivals) == set(examples)
    for kind, arrival in arrivals.items():
        assert set(arrival) == set(examples[kind]), kind
