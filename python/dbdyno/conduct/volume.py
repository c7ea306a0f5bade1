"""How large the data of a cell are: by its script (`dbdyno.volume`) or tool, or by what is known of
sysbench's own scripts.

Figures of the bundled scripts are those of InnoDB, indexes included, and of two slow cores; other
servers and machines differ by a third or so. For a script without `dbdyno.volume` only the options
`tables` and `table_size` count. `tests/workloads/test_volume.py` compares the rows with those that
the scripts load.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from dbdyno.conduct.opening import study_scripts
from dbdyno.conduct.sysbench_scripts import sysbench_volume
from dbdyno.engine import find_engine, plan_scripts, run_spec
from dbdyno.engine.script import find_script, is_shipped, script_path
from dbdyno.errors import LabError, ScriptError
from dbdyno.formats.study import StudyFile
from dbdyno.generators.registry import find_generator
from dbdyno.model import EVENTS_PER_S, Cell, EnginePlan, Option, ScriptVolume, Tables, Volume
from dbdyno.servers import absent_target, parse_provision

Spec = Mapping[str, Any]

_NOWHERE = Path("/nonexistent")


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked of a script. Equal questions have the same answer."""

    file: Path
    modified_ns: int
    command: str
    kind: str
    options: str
    """JSON of their values by name, sorted."""


_ANSWERS: dict[_Question, ScriptVolume | LabError | None] = {}
_SCRIPTS: ContextVar[Mapping[str, Path] | None] = ContextVar("scripts", default=None)
"""Files that may be executed, by their names in a study; `None`: those that came with dbdyno."""


@contextmanager
def scripts_asked(loaded: StudyFile, *, run_code: bool) -> Iterator[None]:
    """In the block, names of scripts are those of this study; its own files are executed, to get
    their `dbdyno.volume`, only with `run_code`."""
    files = study_scripts(loaded)
    with scripts_named({n: file for n, file in files.items() if run_code or is_shipped(file)}):
        yield


@contextmanager
def scripts_named(files: Mapping[str, Path]) -> Iterator[None]:
    """In the block, these files are asked by their names, and no others."""
    token = _SCRIPTS.set(files)
    try:
        yield
    finally:
        _SCRIPTS.reset(token)


def volume_of(cell: Cell) -> Volume | None:
    """Rows and bytes of its tables, what its events add, and how long they take; `None`: unknown
    of its script or tool."""
    if not cell.abilities.takes_script:
        return find_generator(cell.generator).volume(cell.options)
    ask_volumes((cell,))
    loaded, event = (_known(cell, command, called) for command, called in _calls(cell))
    if loaded is None and cell.tables is None:
        loaded = event  # It has no `prepare`.
    if loaded is None or loaded.rows is None:
        return None
    event_s = None if event is None else event.event_s
    return Volume(
        rows=loaded.rows,
        size_bytes=loaded.bytes or 0,
        event_bytes=0.0 if event is None else event.event_bytes,
        event_s=1 / EVENTS_PER_S if event_s is None else event_s,
    )


def ask_volumes(cells: Iterable[Cell]) -> None:
    """Asks all scripts of these cells that were not asked yet, in one call of the engine, or two if
    some are refused."""
    asked: dict[_Question, Spec] = {}
    for cell in cells:
        for question, called in _questions(cell):
            if question not in _ANSWERS and question not in asked:
                asked[question] = _spec(cell, question, called.options)
    if asked:
        _ANSWERS.update(_answers(asked))


def refusals(cells: Iterable[Cell]) -> Iterator[tuple[LabError, Cell]]:
    """Scripts that can't be read, and options that they refuse, each with its cell."""
    several = tuple(cells)
    ask_volumes(several)
    for cell in several:
        for question, _ in _questions(cell):
            answer = _ANSWERS[question]
            if isinstance(answer, LabError):
                yield answer, cell


def _answers(
    asked: Mapping[_Question, Spec],
) -> Mapping[_Question, ScriptVolume | LabError | None]:
    """Questions about scripts of the same command and server are groups of one spec, which takes a
    tenth of the time; where one is refused, each is asked by itself."""
    together: dict[tuple[str, str], list[_Question]] = {}
    for question in asked:
        together.setdefault((question.command, question.kind), []).append(question)
    batches = list(together.values())
    answers: dict[_Question, ScriptVolume | LabError | None] = {}
    for batch, answer in zip(batches, _plans([_joined(asked, b) for b in batches]), strict=True):
        if isinstance(answer, EnginePlan):
            answers.update(zip(batch, answer.volumes, strict=True))
        elif len(batch) == 1:
            answers[batch[0]] = answer
    alone = [question for question in asked if question not in answers]
    for question, answer in zip(alone, _plans([asked[q] for q in alone]), strict=True):
        answers[question] = answer.volumes[0] if isinstance(answer, EnginePlan) else answer
    return answers


def _joined(asked: Mapping[_Question, Spec], batch: Sequence[_Question]) -> Spec:
    groups = [
        {**group, "name": f"script-{number}"}
        for number, question in enumerate(batch)
        for group in asked[question]["groups"]
    ]
    return {**asked[batch[0]], "groups": groups}


def _plans(specs: Sequence[Spec]) -> Sequence[EnginePlan | LabError]:
    try:
        return plan_scripts(find_engine(), specs)
    except ScriptError as error:
        return [error] * len(specs)


def _calls(cell: Cell) -> tuple[tuple[str, Tables], tuple[str, Tables]]:
    """Command and script of its load of tables, and of its steps."""
    return ("prepare", cell.preparing), ("run", Tables(cell.script, cell.options))


def _questions(cell: Cell) -> Iterator[tuple[_Question, Tables]]:
    if not cell.abilities.takes_script:
        return
    for command, called in _calls(cell):
        question = _question(cell, command, called)
        if question is not None:
            yield question, called


def _known(cell: Cell, command: str, called: Tables) -> ScriptVolume | None:
    """What its script answers, or what is known of sysbench's."""
    question = _question(cell, command, called)
    answer = None if question is None else _ANSWERS[question]
    if answer is None or isinstance(answer, LabError):
        return sysbench_volume(called)
    return answer


def _question(cell: Cell, command: str, called: Tables) -> _Question | None:
    """`None` if the script is not there or may not be executed."""
    files = _SCRIPTS.get()
    try:
        if files is not None:
            file = files.get(called.script)
        else:
            file = find_script(PurePath(called.script).stem, script_path(here=False))
        if file is None:
            return None
        options = json.dumps(dict(called.options), sort_keys=True)
        kind = parse_provision(cell.provision).kind
        return _Question(file, file.stat().st_mtime_ns, command, kind, options)
    except (LabError, OSError):
        return None


def _spec(cell: Cell, question: _Question, options: Mapping[str, Option]) -> Spec:
    return run_spec(
        command=question.command,
        target=absent_target(cell.provision, _NOWHERE),
        script=question.file,
        script_path=(),
        options=options,
        clients=1,
        seed=1,
    )
