"""What an answer does not speak of: runs that are not complete, levels of the study's file that
were not run, its full scale, a second repeat, and what imported results don't say."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.model import Study
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.answer.measured import complete_runs
from dbdyno.report.gates.gate import fewest_blocks
from dbdyno.report.material.imported import imports, not_known
from dbdyno.report.terms.everyday import number_word
from dbdyno.report.terms.wording import enumerated

MOST_NAMED = 6
"""Levels of a factor that are named; of more, `NAMED_OF_MORE` are."""
NAMED_OF_MORE = 4

_OF_THE_LOAD = {
    "loads": ("clients", "arrival", "find_max"),
    "times": ("warm_up", "measure", "events"),
}
"""What a scale may change of the load, in words → keys of `[load]` that change it."""


def absent_words(analysis: Analysis) -> str:
    """In one sentence; of a study that lacks nothing, that it is complete."""
    lacks = list(_lacks(analysis))
    complete, planned = complete_runs(analysis)
    done = "its one run is complete" if planned == 1 else f"all {planned} runs are complete"
    if imports(analysis.material.runs) or complete < planned:
        return f"{'; '.join(lacks)}."
    return f"{'; '.join(lacks)}; {done}." if lacks else f"nothing that was planned: {done}."


def _lacks(analysis: Analysis) -> Iterator[str]:
    unknown = not_known(analysis.material.runs)
    if unknown:
        yield f"what the imported files don't say: {enumerated(unknown)}"
        return
    complete, planned = complete_runs(analysis)
    if complete < planned:
        yield f"{planned - complete} of {planned} planned runs"
    if analysis.material.left_out:
        yield "what this machine can't run (see above)"
    study = analysis.material.study
    document = _document(study)
    levels = "; ".join(_left_out(document, analysis))
    if study.scale != study.scales[0]:
        scale = document.get("scale", {}).get(study.scale, {})
        changes = enumerated(list(_changed_by_scale(scale)))
        other = f" has other {changes}" if changes else ""
        without = f", without {levels}" if levels else ""
        yield f"the full study (scale {study.scale}{other}{without})"
    elif levels:
        yield levels
    if fewest_blocks(analysis) == 1 and not analysis.metric.of_trials:
        yield "a second repeat"


def _left_out(document: Mapping[str, Any], analysis: Analysis) -> Iterator[str]:
    """Levels that the file has and no run was planned for, by factor."""
    run = {(name, level) for cell in analysis.cells for name, level in cell.levels.items()}
    for name, levels in _declared(document).items():
        left = [level for level in levels if (name, level) not in run]
        if len(left) == 1:
            yield f"{name}={left[0]}"
        elif 0 < len(left) <= MOST_NAMED:
            yield f"{name} {enumerated(left)}"
        elif left:
            named, more = left[:NAMED_OF_MORE], len(left) - NAMED_OF_MORE
            yield f"{name} {enumerated([*named, f'{number_word(more)} more'])}"


def _changed_by_scale(scale: Mapping[str, Any]) -> Iterator[str]:
    """What the scale has otherwise than the full study, as far as a reader asks for it."""
    if "options" in _keys(scale):
        yield "amounts of data"
    load = set(_keys(scale.get("load")))
    yield from (words for words, changing in _OF_THE_LOAD.items() if load.intersection(changing))


def _keys(table: object) -> Iterator[str]:
    if isinstance(table, dict):
        for key, value in table.items():
            yield from (key, *_keys(value))


def _declared(document: Mapping[str, Any]) -> Mapping[str, Mapping[str, object]]:
    """Factor → its levels in the study's file."""
    factors = document.get("factor")
    tables = {"server": document.get("server"), **(factors if isinstance(factors, dict) else {})}
    return {name: table for name, table in tables.items() if isinstance(table, dict)}


def _document(study: Study) -> dict[str, Any]:
    """The study's file; empty where there is none."""
    try:
        return tomllib.loads(study.text)
    except tomllib.TOMLDecodeError:
        return {}
