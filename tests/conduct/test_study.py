"""A study carried out on real SQLite files: what is kept, what is run again, what ends it."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from intervals import is_interval

from dbdyno.conduct import (
    Event,
    PhaseStarted,
    RunEnded,
    RunStarted,
    StudyOutcome,
    conduct_study,
    open_study,
)
from dbdyno.conduct.events import Observer
from dbdyno.conduct.planning import plan_study
from dbdyno.conduct.resume import open_unfinished
from dbdyno.design import plan
from dbdyno.engine import find_engine
from dbdyno.errors import InterruptedRunError, ScriptError, StudyError, UsageError
from dbdyno.store import Store

pytestmark = pytest.mark.usefixtures("replay_engine")


def ignore(_event: Event) -> None:
    return None


def conduct(
    file: Path, store: Store, *, observe: Observer = ignore, again: bool = False
) -> StudyOutcome:
    loaded = open_study(str(file))
    wanted = plan(loaded.study)
    return conduct_study(loaded, wanted, store, find_engine(), observe=observe, again=again)


def with_act(file: Path, level: str, act: str) -> None:
    """Makes one level of the journal factor play something else."""
    old = f'{level} = {{ settings = {{ journal_mode = "{level}" }} }}'
    assert old in file.read_text()
    new = old.removesuffix(" }") + f', options = {{ act = "{act}" }} }}'
    file.write_text(file.read_text().replace(old, new))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_study_becomes_a_folder_a_run(study_file: Path, store: Store) -> None:
    outcome = conduct(study_file, store)

    assert (outcome.folder, outcome.complete, outcome.failures) == ("example", 2, ())
    study = store.study("example")
    assert set(study.runs()) == {run.id for run in study.plan.runs}
    assert study.text == study_file.read_text()
    run = study.runs()["b1-wal"]
    run.verify()
    manifest = run.manifest
    assert (manifest.status, manifest.error, manifest.attempt) == ("complete", None, 1)
    assert dict(manifest.cell) == {"server": "lite", "journal": "wal"}
    assert [phase.name for phase in manifest.phases] == [
        "provision",
        "prepare",
        "step 0",
        "step 1",
        "collect",
        "stop",
    ]
    assert [(step.clients, step.status) for step in manifest.steps] == [
        (1, "complete"),
        (4, "complete"),
    ]
    assert manifest.environment_id
    assert manifest.versions["engine"] == "0.1.0"
    settings = run.document("settings.json")
    assert isinstance(settings, dict)
    assert settings["journal_mode"] == "wal"
    assert [summary.clients for summary in run.summaries] == [1, 4]
    assert set(run.series.column("step").to_pylist()) == {0, 1}
    assert list((run.path / "logs").iterdir()) == [run.path / "logs" / "engine.log"]
    spec = run.document("spec-step-1.json")
    assert isinstance(spec, dict)
    assert spec["seed"] == manifest.steps[1].seed
    assert dict(spec["target"]["pragmas"]) == {"journal_mode": "wal"}


def test_events_tell_the_whole_story_in_order(study_file: Path, store: Store) -> None:
    events: list[Event] = []
    conduct(study_file, store, observe=events.append)

    started = [event.run.position for event in events if isinstance(event, RunStarted)]
    assert started == [1, 2]
    first = events[1 : next(i for i, e in enumerate(events) if isinstance(e, RunEnded)) + 1]
    assert [e.phase for e in first if isinstance(e, PhaseStarted)][:3] == [
        "provision",
        "prepare",
        "step 0",
    ]
    assert sum(is_interval(event) for event in first) == 6


@pytest.mark.parametrize(
    ("provision", "cleaned"), [("null", False), ("url:null:", True), ("url:sqlite:{}/a.db", True)]
)
def test_on_a_server_that_is_not_ours_the_tables_are_dropped_in_the_end(
    study_file: Path, store: Store, provision: str, cleaned: bool
) -> None:
    text = study_file.read_text().replace('"sqlite"', f'"{provision.format(study_file.parent)}"')
    for level in ("delete", "wal"):
        text = text.replace(f'settings = {{ journal_mode = "{level}" }}', "")
    study_file.write_text(text)
    events: list[Event] = []

    assert conduct(study_file, store, observe=events.append).failures == ()

    phases = [event.phase for event in events if isinstance(event, PhaseStarted)]
    assert ("cleanup" in phases) == cleaned
    for run in store.study("example").runs().values():
        assert any("spec-cleanup.json" in line for line in run.manifest.command_lines) == cleaned


def test_what_is_there_is_not_run_again_unless_asked(study_file: Path, store: Store) -> None:
    conduct(study_file, store)
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*.json")}

    second = conduct(study_file, store)
    assert (second.already, second.complete) == (2, 0)
    assert {path: path.stat().st_mtime_ns for path in store.root.rglob("*.json")} == before
    assert conduct(study_file, store, again=True).folder == "example.2"


def test_more_blocks_go_on_in_the_same_folder_and_nothing_is_run_twice(
    study_file: Path, store: Store
) -> None:
    def extend(blocks: int) -> StudyOutcome:
        loaded = open_study(str(study_file))
        _, wanted = plan_study(loaded.study, store, blocks=blocks)
        return conduct_study(loaded, wanted, store, find_engine(), observe=ignore)

    first = extend(1)
    seed = store.study("example").plan.seed
    before = {p: p.stat().st_mtime_ns for p in store.root.rglob("manifest.json")}
    second = extend(2)
    assert (first.complete, second.folder) == (2, "example")
    assert (second.already, second.complete) == (2, 2)
    assert {p: p.stat().st_mtime_ns for p in before} == before
    study = store.study("example")
    assert (study.plan.blocks, study.plan.seed) == (2, seed)
    assert set(study.runs()) == {run.id for run in study.plan.runs}
    assert len(study.attempts()) == 4
    assert extend(1).already == 4


def test_a_drawn_seed_is_kept_by_the_store_and_drawn_anew_only_when_asked(
    study_file: Path, store: Store
) -> None:
    study_file.write_text(study_file.read_text().replace("seed = 1\n", ""))
    study = open_study(str(study_file)).study
    assert study.design.seed is None
    drawn = {plan_study(study, store)[1].seed for _ in range(3)}
    assert len(drawn) == 3
    loaded = open_study(str(study_file))
    conduct_study(loaded, plan_study(study, store)[1], store, find_engine(), observe=ignore)
    kept = store.study("example").plan
    assert plan_study(study, store)[1] == kept
    assert plan_study(study, store, again=True)[1].seed != kept.seed
    assert plan_study(study, store, seed=5)[1].seed == 5


def test_a_lost_server_fails_its_run_only(study_file: Path, store: Store) -> None:
    with_act(study_file, "wal", "lose the server")
    outcome = conduct(study_file, store)

    assert outcome.complete == 1
    assert [run.id for run in outcome.failures] == ["b1-wal"]
    run = store.study("example").runs()["b1-wal"]
    assert run.manifest.status == "failed"
    assert run.manifest.error is not None
    assert run.manifest.error.kind == "ServerError"
    assert "was removed" in run.manifest.error.message
    assert [summary.interrupted for summary in run.summaries] == [True]

    again = conduct(study_file, store)
    assert (again.already, len(again.failures)) == (1, 1)
    names = [attempt.path.name for attempt in store.study("example").attempts()]
    assert names == ["b1-delete", "b1-wal", "b1-wal~2"]


def test_a_statement_error_keeps_what_was_measured(study_file: Path, store: Store) -> None:
    with_act(study_file, "wal", "statement error")
    outcome = conduct(study_file, store)

    assert {run.error.message for run in outcome.failures if run.error} == {"no such table: kv"}
    assert store.study("example").runs()["b1-wal"].summaries[0].events == 100


@pytest.mark.parametrize("level", ["delete", "wal"])
def test_a_script_error_fails_its_run_only(study_file: Path, store: Store, level: str) -> None:
    with_act(study_file, level, "script error")
    outcome = conduct(study_file, store)

    assert (outcome.complete, [run.id for run in outcome.failures]) == (1, [f"b1-{level}"])
    error = store.study("example").runs()[f"b1-{level}"].manifest.error
    assert error is not None
    assert (error.kind, error.exit_code) == ("ScriptError", 3)
    assert "attempt to call a nil value" in error.message
    assert error.traceback == "kv.lua:3: in event"
    runs = store.study("example").runs()
    assert [run.manifest.status for run in runs.values()].count("failed") == 1


def test_a_script_that_fails_in_every_cell_is_not_tried_in_another_block(
    study_file: Path, store: Store
) -> None:
    text = study_file.read_text()
    text = text.replace("table_size = 10", 'act = "script error"').replace(
        "blocks = 1", "blocks = 3"
    )
    study_file.write_text(text)

    outcome = conduct(study_file, store)

    assert sorted(run.id for run in outcome.failures) == ["b1-delete", "b1-wal"]
    assert sorted(store.study("example").runs()) == ["b1-delete", "b1-wal"]


def test_a_cell_that_was_refused_twice_alike_is_not_tried_a_third_time(
    study_file: Path, store: Store
) -> None:
    with_act(study_file, "wal", "statement error")
    study_file.write_text(study_file.read_text().replace("blocks = 1", "blocks = 4"))
    phases: list[str] = []

    def see(event: Event) -> None:
        if isinstance(event, PhaseStarted) and event.run.cell.levels["journal"] == "wal":
            phases.append(event.run.id)

    outcome = conduct(study_file, store, observe=see)

    assert (outcome.complete, len(outcome.failures)) == (4, 4)
    assert set(phases) == {"b1-wal", "b2-wal"}
    errors = [store.study("example").runs()[f"b{n}-wal"].manifest.error for n in (1, 2, 3, 4)]
    told = [error.message for error in errors if error]
    assert told[:2] == ["no such table: kv"] * 2
    why = "not tried again: b1-wal and b2-wal were refused in the same words: no such table: kv"
    assert told[2:] == [why] * 2
    assert {error.exit_code for error in errors if error} == {5}
    again: list[str] = []
    conduct(
        study_file,
        store,
        observe=lambda e: again.append(e.run.id) if isinstance(e, PhaseStarted) else None,
    )
    assert set(again) == {"b1-wal", "b2-wal"}


def test_a_server_that_dies_under_load_is_tried_again(study_file: Path, store: Store) -> None:
    with_act(study_file, "wal", "lose the server")
    study_file.write_text(study_file.read_text().replace("blocks = 1", "blocks = 3"))

    outcome = conduct(study_file, store)

    assert [run.error.message.startswith("not tried") for run in outcome.failures if run.error] == [
        False,
        False,
        False,
    ]


def test_an_interrupted_run_is_kept_and_only_it_is_missing(study_file: Path, store: Store) -> None:
    with_act(study_file, "wal", "wait")

    def interrupt(event: Event) -> None:
        if is_interval(event) and event.run.cell.levels["journal"] == "wal":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(InterruptedRunError) as caught:
        conduct(study_file, store, observe=interrupt)

    assert caught.value.exit_code == 130
    runs = store.study("example").runs()
    (cut,) = [run for run in runs.values() if run.manifest.status == "interrupted"]
    cut.verify()
    assert cut.summaries[0].interrupted
    assert cut.series.num_rows > 0
    assert not list(store.root.rglob("*.partial"))
    assert not list(store.root.rglob("*.db"))
    assert runs["b1-delete"].manifest.status == "complete"

    program = study_file.parent / "dbdyno-engine"
    text = program.read_text()
    program.write_text(text.replace("exec ", "ACT=measure exec "))
    loaded, unfinished = open_unfinished(str(study_file), store)
    outcome = conduct_study(loaded, unfinished, store, find_engine(), observe=ignore)
    assert (outcome.already, outcome.complete) == (1, 1)
    again = store.study("example").runs()[cut.manifest.id].manifest
    assert (again.status, again.attempt) == ("complete", 2)


def test_resume_takes_scale_seed_and_blocks_from_the_store(study_file: Path, store: Store) -> None:
    loaded = open_study(str(study_file))
    wanted = plan(loaded.study, seed=77, blocks=2)
    conduct_study(loaded, wanted, store, find_engine(), observe=ignore)

    assert open_unfinished(str(study_file), store)[1] == wanted
    study_file.write_text(study_file.read_text().replace("table_size = 10", "table_size = 11"))
    with pytest.raises(UsageError, match=r"has changed since .* was begun"):
        open_unfinished(str(study_file), store)


def test_ctrl_c_between_measurements_leaves_nothing_behind(study_file: Path, store: Store) -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, PhaseStarted) and event.phase == "collect":
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError):
        conduct(study_file, store, observe=interrupt)
    assert not list(store.root.rglob("*.partial"))
    assert not list(store.root.rglob("*.db"))


def test_two_studies_do_not_share_a_store(study_file: Path, store: Store) -> None:
    answers: list[str] = []

    def second(event: Event) -> None:
        if isinstance(event, RunStarted) and not answers:
            try:
                conduct(study_file, store)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
                answers.append(str(error))

    conduct(study_file, store, observe=second)
    assert "is being written by another dbdyno" in answers[0]
    assert threading.active_count() == 1


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('"sqlite"', '"postgresq:18"', 4, "`postgresq` is not a kind of server"),
        ('"sqlite"', '"postgresql:99.9"', 4, "there is no such postgresql"),
        ('"sqlite"', '"sqlite:4"', 4, "in one version only"),
    ],
)
def test_a_level_that_names_no_server_has_a_line(
    study_file: Path, old: str, new: str, line: int, said: str
) -> None:
    study_file.write_text(study_file.read_text().replace(old, new))
    with pytest.raises(StudyError, match=said) as caught:
        open_study(str(study_file))
    assert caught.value.line == line


def test_turns_that_cannot_be_had_are_refused(study_file: Path) -> None:
    text = study_file.read_text()
    study_file.write_text(
        text.replace("[design]\n", '[design]\norder = "turns"\nturn = "10 min"\n')
    )
    with pytest.raises(StudyError, match="holds fewer than 2 turns") as caught:
        open_study(str(study_file))
    assert caught.value.line is not None
    assert 'order = "turns"' in study_file.read_text().splitlines()[caught.value.line - 1]


def test_a_missing_script_has_a_line(study_file: Path) -> None:
    study_file.write_text(study_file.read_text().replace('"nothing"', '"nothin"'))
    with pytest.raises(
        ScriptError, match=r"example\.toml:11: there is no script `nothin`"
    ) as caught:
        open_study(str(study_file))
    assert caught.value.hint == "did you mean `nothing`?"


def test_an_unknown_study_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="there is no study `quikstart`") as caught:
        open_study("quikstart")
    assert caught.value.hint == "did you mean `quickstart`?"


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("be killed", "the engine was killed (SIGKILL)"),
        ("be told to end", "the engine was told to end"),
    ],
)
def test_a_killed_engine_fails_its_run_only(
    study_file: Path, store: Store, act: str, said: str
) -> None:
    with_act(study_file, "delete", act)
    outcome = conduct(study_file, store)

    assert (outcome.complete, [run.id for run in outcome.failures]) == (1, ["b1-delete"])
    error = outcome.failures[0].error
    assert error is not None
    assert (error.kind, error.exit_code) == ("EngineLostError", 6)
    assert error.message.startswith(said)
    assert error.hint


def test_a_metric_that_nobody_samples_is_named_with_its_line(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "studies" / "quickstart.toml").read_text()
    first = text.count("\n") + 1
    for metric, told in (
        ("mysql.history_lst", "did you mean `history_list`?"),
        ("mysqll.history_list", "did you mean `mysql`?"),
    ):
        file = tmp_path / "asked.toml"
        file.write_text(f'{text}[[chart]]\nkind = "metrics-over-time"\nmetrics = ["{metric}"]\n')
        with pytest.raises(StudyError) as caught:
            open_study(str(file))
        assert f"asked.toml:{first + 2}:" in caught.value.message
        assert caught.value.hint == told
