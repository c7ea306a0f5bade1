"""What an answer does not speak of: runs that are not complete, levels of the study's file that
were not run, its full scale, a second repeat, and what imported results don't say."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping

from dbdyno.model import Study
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.answer.measured import complete_runs
from dbdyno.report.gates.gate import fewest_blocks
from dbdyno.report.material.imported import imports, not_known
from dbdyno.report.terms.everyday import number_word
from dbdyno.report.terms.wording import enumerated

MOST_NAMED = 2
"""Levels of a factor that are named."""


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
    levels = enumerated(list(_left_out(study, analysis)))
    if study.scale != study.scales[0]:
        yield f"the full study (this is scale {study.scale}{levels and f', without {levels}'})"
    elif levels:
        yield levels
    if fewest_blocks(analysis) == 1 and not analysis.metric.of_trials:
        yield "a second repeat"


def _left_out(study: Study, analysis: Analysis) -> Iterator[str]:
    """Levels that the file has and no run was planned for, by factor."""
    run = {(name, level) for cell in analysis.cells for name, level in cell.levels.items()}
    for name, levels in _declared(study).items():
        left = [level for level in levels if (name, level) not in run]
        if 0 < len(left) <= MOST_NAMED:
            yield from (f"{name}={level}" for level in left)
        elif left:
            yield f"{number_word(len(left))} levels of {name}"


def _declared(study: Study) -> Mapping[str, Mapping[str, object]]:
    """Factor → its levels in the study's file; empty where it is none."""
    try:
        document = tomllib.loads(study.text)
    except tomllib.TOMLDecodeError:
        return {}
    factors = document.get("factor")
    tables = {"server": document.get("server"), **(factors if isinstance(factors, dict) else {})}
    return {name: table for name, table in tables.items() if isinstance(table, dict)}
