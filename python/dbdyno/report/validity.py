"""The gates: what must hold for the numbers to answer the question."""

import json
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.design.batches import batches
from dbdyno.design.cells import levels_key
from dbdyno.formats.left_out import left_out_sentences
from dbdyno.formats.quantities import format_duration
from dbdyno.model import ENGINE, OWN_PACE, named_shards
from dbdyno.model.limits import MOST_ERRORS, SATURATED, attempted
from dbdyno.report.analyse import Analysis
from dbdyno.report.censored import censored_gate
from dbdyno.report.cycles import stalls
from dbdyno.report.declared import is_exploratory
from dbdyno.report.faults import engine_busy, tried_word
from dbdyno.report.gate import Gate, GateState
from dbdyno.report.imported import as_known, closed, imports, limits_of
from dbdyno.report.lab_cost import lab_gate
from dbdyno.report.loads import differences, found_loads, otherwise
from dbdyno.report.material import RunMaterial
from dbdyno.report.points import BlockFigures
from dbdyno.report.precision import width_gate
from dbdyno.report.wording import count, effect_text, percent, quantity, sentence_case, where
from dbdyno.stats import NotComparable, Verdict

BUSY = 0.85
"""Share of its shards' time above which the engine itself may set the pace."""

FAIR_WINDOW_S = 300.0
OF_DATA = ("rows", "not-verified")
"""Warnings of a load that the data gate says better."""

BLOCKS_FOR_INTERVAL, BLOCKS_FOR_MEDIAN = 2, 6
FAIR_TRIALS = 20


def gates(analysis: Analysis) -> tuple[Gate, ...]:
    """All gates, in the order of the page."""
    found = (
        _runs(analysis),
        *_store(analysis),
        *_declared(analysis),
        _blocks(analysis),
        _order(analysis),
        *_against_itself(analysis),
        *_turns(analysis),
        _errors(analysis),
        _warm_up(analysis),
        _window(analysis),
        *censored_gate(analysis),
        _generator(analysis),
        *lab_gate(analysis),
        _stability(analysis),
        _data(analysis),
        _host(analysis),
        *_load_warnings(analysis),
        *_step_warnings(analysis),
    )
    return as_known(found, analysis.material.runs)


def _all_blocks(analysis: Analysis) -> list[BlockFigures]:
    return [figures for point in analysis.points for figures in point.blocks]


def _runs(analysis: Analysis) -> Gate:
    states = {run.manifest.id: run.manifest.status for run in analysis.material.runs}
    absent = [dict(one.levels) for one in analysis.material.left_out]
    every = analysis.material.plan.runs
    planned = [r for r in every if r.id in states or dict(r.cell.levels) not in absent]
    complete = sum(states.get(run.id) == "complete" for run in planned)
    parts = [f"{complete} of {len(planned)} planned runs are complete"]
    for state in ("interrupted", "failed"):
        found = sum(states.get(run.id) == state for run in planned)
        if found:
            parts.append(f"{found} {state}")
    missing = sum(run.id not in states for run in planned)
    if missing:
        parts.append(f"{missing} missing")
    again = len(analysis.material.replaced)
    if again:
        parts.append(f"{again} other attempt{'s' if again > 1 else ''} not counted")
    verdict: GateState = "ok" if complete == len(planned) else "failed"
    if (left_out := len(every) - len(planned)) and verdict == "ok":
        verdict = "doubtful"
    if left_out:
        parts.append(f"{left_out} more left out: this machine can't run them")
    return Gate("Runs", verdict, ", ".join(parts) + ".")


def _store(analysis: Analysis) -> Iterable[Gate]:
    damages = analysis.material.damages
    if damages:
        told = f"{count(len(damages))} set aside, not as written: {'; '.join(damages)}."
        yield Gate("Store", "failed", sentence_case(told))


def _declared(analysis: Analysis) -> Iterable[Gate]:
    changes = analysis.material.changes
    if changes:
        told = "; ".join(f"`{c.what}` was {c.then}, is {c.now}" for c in changes).rstrip(".")
        why = " What decides was chosen after the data: the verdicts are exploratory."
        explored = is_exploratory(changes)
        told = f"Changed in the study's file since the first run: {told}.{why if explored else ''}"
        yield Gate("Declared", "doubtful" if explored else "ok", told)


def remarks(analysis: Analysis) -> tuple[str, ...]:
    """What to tell whoever asked for a report, beside the answer."""
    return tuple(gate.told for gate in (*_store(analysis), *_declared(analysis)))


def _trials(analysis: Analysis) -> Gate:
    """Of a share every trial counts, whatever its block."""
    counts = [sum(f.summary.events for f in point.counted) for point in analysis.points]
    least = min(counts, default=0)
    told = f"{least} trials in the cell that has the fewest"
    if least < FAIR_TRIALS:
        return Gate("Trials", "doubtful", f"{told}: intervals of shares are wide.")
    return Gate("Trials", "ok", f"{told}; intervals are of shares, over all blocks.")


def _blocks(analysis: Analysis) -> Gate:
    if analysis.metric.share:
        return _trials(analysis)
    least = min((len(point.counted) for point in analysis.points), default=0)
    if least == 1 and _one_set_up(analysis):
        told = "1 block, driven in turns: what is found holds for its one set-up."
        return Gate("Blocks", "doubtful", told)
    if least < BLOCKS_FOR_INTERVAL:
        told = f"{least} block{'' if least == 1 else 's'} in some cell: no interval can be given."
        return Gate("Blocks", "failed", told)
    if (stop := analysis.material.study.design.stop_half_width) is not None:
        return width_gate(analysis, least, stop)
    if least < BLOCKS_FOR_MEDIAN:
        told = f"{least} blocks: enough for large effects; the interval of a median needs 6."
        return Gate("Blocks", "doubtful", told)
    return Gate("Blocks", "ok", f"At least {least} blocks in every cell.")


def _one_set_up(analysis: Analysis) -> bool:
    """Whether all comparisons have an interval from the turns of a single block."""
    found = analysis.comparisons
    return bool(found) and all(c.turns is not None and c.turns.one_set_up for c in found)


def _order(analysis: Analysis) -> Gate:
    started = sorted(analysis.material.runs, key=lambda run: run.manifest.started_unix_s)
    positions = [run.manifest.position for run in started]
    plan = analysis.material.plan
    seed, present = plan.seed, set(positions)
    drawn = [run.position for batch in batches(plan, plan.runs) for run in batch]
    if len({run.cell.label for run in analysis.material.plan.runs}) < 2:
        return Gate("Order", "ok", "One cell: there is no order to randomise.")
    if positions != [position for position in drawn if position in present]:
        told = f"Runs were not carried out in the order drawn from seed {seed}: {positions}."
        return Gate("Order", "doubtful", told)
    one_sided = list(_one_sided(analysis))
    if one_sided:
        return Gate("Order", "doubtful", f"Drift may look like an effect: {one_sided[0]}.")
    told = f"Every cell once a block, in balanced orders drawn from seed {seed} and kept."
    return Gate("Order", "ok", told)


def _against_itself(analysis: Analysis) -> Iterable[Gate]:
    """One cell under two names: a difference can only be the machine's or the method's."""
    found = analysis.against_itself
    if not found:
        return
    told = "; ".join(f"{where(one.point, analysis)}: {effect_text(one)}" for one in found)
    told = f"`{found[0].baseline.label}` against itself, {told}."
    verdicts = {one.judgement.verdict for one in found}
    if verdicts & {Verdict.BETTER, Verdict.WORSE}:
        told += " The two are the same: effects of this size say nothing here."
        yield Gate("A/A", "doubtful", told)
    elif all(isinstance(one.judgement.effect, NotComparable) for one in found):
        yield Gate("A/A", "not judged", told)
    else:
        yield Gate("A/A", "ok", f"{told} No difference is found where there is none.")


MOST_SET_ASIDE = 0.2
"""Share of the turns beyond which the rest is no fair sample of the block."""


def _turns(analysis: Analysis) -> Iterable[Gate]:
    """What became of the turns; no gate where there are none."""
    found = [c for c in analysis.comparisons if c.turns is not None]
    if not found:
        return
    kept = sum(sum(c.turns.turns) for c in found if c.turns is not None)
    aside = dict.fromkeys(told for c in found for told in c.set_aside)
    lost = sum(len(c.set_aside) for c in found)
    share = lost / (lost + kept) if lost + kept else 0.0
    told = f"{count(kept)} pairs of neighbouring turns were compared"
    if aside:
        told += f"; {count(lost)} were set aside by the rule fixed beforehand: {next(iter(aside))}"
        told += f" and {len(aside) - 1} more" if len(aside) > 1 else ""
    adjusted = [c for c in found if c.turns is not None and c.turns.elasticity is not None]
    if adjusted:
        told += f"; {count(len(adjusted))} of {count(len(found))} comparisons are adjusted for"
        told += " the processors' speed during each turn"
    if analysis.material.study.design.freeze:
        told += "; servers were stopped while it was not their turn, so what they do in the "
        told += "background (checkpoints, purge, vacuum) was done in their own turns or not at all"
    yield Gate("Turns", "ok" if share <= MOST_SET_ASIDE else "doubtful", f"{told}.")


def _one_sided(analysis: Analysis) -> Iterable[str]:
    """Comparisons whose one side came first in two blocks more than the other did.

    Cells of one batch are up together, and none comes first; their turns are balanced by plan.
    """
    plan = analysis.material.plan
    places = {
        (levels_key(run.cell.levels), run.block): place
        for place, batch in enumerate(batches(plan, plan.runs))
        for run in batch
    }
    for comparison in analysis.comparisons:
        cell, base = (
            levels_key(comparison.point.cell.levels),
            levels_key(comparison.baseline.cell.levels),
        )
        apart = [b for b in comparison.blocks if places[cell, b] != places[base, b]]
        after = [places[cell, b] > places[base, b] for b in apart]
        if abs(2 * sum(after) - len(after)) > 1 and len(after) > 1:
            yield (
                f"{comparison.point.label} ran after {comparison.baseline.label} in {sum(after)} "
                f"of {len(after)} blocks"
            )


def _errors(analysis: Analysis) -> Gate:
    blocks = _all_blocks(analysis)
    errors = sum(figures.summary.errors for figures in blocks)
    tried = sum(attempted(figures.summary) for figures in blocks)
    what = " and ".join(dict.fromkeys(tried_word(figures.summary.generator) for figures in blocks))
    if tried == 0:
        return Gate("Errors", "failed", "Nothing was run.")
    state: GateState = "ok" if errors <= MOST_ERRORS * tried else "failed"
    if errors == 0:
        return Gate("Errors", "ok", f"None in {count(tried)} {what}.")
    told = f"{count(errors)} of {count(tried)} {what} failed ({percent(errors / tried)})"
    return Gate("Errors", state, f"{told}; {percent(MOST_ERRORS)} is tolerated.")


def _warm_up(analysis: Analysis) -> Gate:
    judged = [figures for figures in _all_blocks(analysis) if figures.warm_up.warmed is not None]
    total = len(_all_blocks(analysis))
    cold = [
        figures
        for figures in judged
        if not figures.warm_up.warmed or figures.warm_up.discard > figures.warm_up_intervals
    ]
    if not judged:
        told = "Too few intervals to judge (MSER-5 needs 100 of warm-up and window together)."
        return Gate("Warm-up", "not judged", told)
    if cold:
        told = (
            f"By MSER-5 {len(cold)} of {len(judged)} steps judged were still warming up when "
            "their window began."
        )
        return Gate("Warm-up", "doubtful", told)
    told = f"Long enough by MSER-5 in all {len(judged)} steps judged, of {total}."
    return Gate("Warm-up", "ok", told)


def _window(analysis: Analysis) -> Gate:
    if analysis.metric.share:
        return Gate("Window", "not judged", "Trials are counted; no time was measured.")
    blocks = _all_blocks(analysis)
    shortest = min((figures.summary.window_s for figures in blocks), default=0.0)
    if any(figures.turns for figures in blocks):
        turn_s = min(turn.window_s for f in blocks for turn in f.turns.values())
        told = (
            f"The shortest is {format_duration(shortest)}, in turns of {format_duration(turn_s)}: "
            "what a server does while the others have their turns is not seen, and slow cycles "
            '(checkpoints, vacuum, compaction) need `order = "runs"` to show.'
        )
        return Gate("Window", "ok" if shortest >= FAIR_WINDOW_S else "doubtful", told)
    if shortest >= FAIR_WINDOW_S:
        return Gate("Window", "ok", f"At least {format_duration(shortest)}.")
    told = (
        f"The shortest is {format_duration(shortest)}: effects of slow cycles (checkpoints, "
        f"vacuum, compaction) need {format_duration(FAIR_WINDOW_S)} or more to show."
    )
    return Gate("Window", "doubtful", told)


def _generator(analysis: Analysis) -> Gate:
    if tools := sorted({run.manifest.generator for run in analysis.material.runs} - {ENGINE}):
        told = f"{', '.join(tools)} put the load on; its own use of processors is not judged."
        return Gate("Load generator", "not judged", told)
    worst, queued_us, unread_us, inside = 0.0, 0.0, 0.0, False
    ways: dict[str, None] = {}
    for run in analysis.material.runs:
        for step in run.manifest.steps:
            summary = run.summaries.get(step.index)
            inside = inside or step.reactor == "none"
            if summary is None or not summary.window_s or step.reactor == "none":
                continue
            scheduling, clock = step.scheduling or "other", step.clock or "kernel"
            shards = named_shards(step.shards or 1, bound=bool(step.shards_bound))
            way = f"{shards}, {step.reactor}, {scheduling} scheduling, the {clock}'s clock"
            ways[way] = None
            worst = max(worst, engine_busy(run.manifest, summary))
            queued_us = max(queued_us, summary.queued_us.get("p99", 0.0))
            unread_us = max(unread_us, summary.unread_us.get("p99", 0.0))
    if inside:
        told = "The database runs inside the client's process: they share its CPU by nature."
        return Gate("Load generator", "not judged", told)
    told = f"At most {percent(worst)} of its shards' CPU time was used ({'; '.join(ways)})."
    if unread_us:
        told += (
            f" At worst, 1 % of statements lay ready for {quantity(queued_us, 'µs')} or longer "
            f"before they were sent, and 1 % of replies unread for {quantity(unread_us, 'µs')} or "
            "longer."
        )
    if worst > SATURATED:
        return Gate("Load generator", "failed", f"{told} The client set the pace.")
    if worst > BUSY:
        return Gate("Load generator", "doubtful", f"{told} The client may have set the pace.")
    return Gate("Load generator", "ok", told)


UNEVEN = frozenset({"collapsing", "stalling", "stepping", "drifting"})
"""Words of windows whose mean hides what happened in them."""


def _stability(analysis: Analysis) -> Gate:
    words: dict[str, int] = {}
    for figures in _all_blocks(analysis):
        words[figures.stability.word.value] = words.get(figures.stability.word.value, 0) + 1
    told = sentence_case(", ".join(f"{word} in {n}" for word, n in sorted(words.items())))
    if not words:
        return Gate("Evenness", "not judged", "No step has a window.")
    if UNEVEN & words.keys():
        told = f"{told} steps: see the lines over time.{_named_stalls(analysis)}"
        return Gate("Evenness", "doubtful", told)
    state: GateState = "not judged" if set(words) == {"too short to say"} else "ok"
    return Gate("Evenness", state, f"{told} steps.")


def _named_stalls(analysis: Analysis) -> str:
    """Which of the engine's cycles they coincide with; nothing where none is known."""
    found = [stall.cycle for *_, each in stalls(analysis) for stall in each]
    cycles = dict.fromkeys(cycle for cycle in found if cycle is not None)
    told = (f"{found.count(cycle)} coincide with {cycle}" for cycle in cycles)
    return f" Of {len(found)} stalls, {', '.join(told)}." if cycles else ""


def _data(analysis: Analysis) -> Gate:
    found = found_loads(analysis)
    sent = [one for one in found if one.load.sent is not None]
    differ = list(differences(sent))
    others = list(differences(one for one in found if one.load.sent is None))
    fewer = list(otherwise(sent, lambda rows, all_sent: rows < all_sent))
    more = list(otherwise(sent, lambda rows, all_sent: rows > all_sent))
    problems = dict.fromkeys(one.load.problem for one in found if one.load.problem)
    if told := [*differ, *fewer, *others, *more, *problems]:
        state: GateState = "failed" if differ or fewer else "doubtful"
        return Gate("Data", state, sentence_case("; ".join(map(str, told))) + ".")
    if not found:
        return Gate("Data", "not judged", "No table was looked at after it was loaded.")
    runs = count(len({one.run.id for one in found}))
    told_rows = f"All {count(len(sent))} tables, over {runs} runs, have as many rows as were sent"
    if unsent := len(found) - len(sent):
        told_unsent = f"{count(unsent)} tables that no bulk insert filled were looked at"
        told_rows = f"{told_rows}; {told_unsent}" if sent else told_unsent
    if all(one.load.checksum for one in found):
        same = "the same seed, script and options made the same rows in all of them"
        return Gate("Data", "ok", f"{told_rows}; {same}.")
    told_only = 'contents were not compared (`verify = "checksums"` does)'
    return Gate("Data", "ok", f"{told_rows}; {told_only}.")


def _load_warnings(analysis: Analysis) -> Iterable[Gate]:
    """Of loaders; what tables lack, the data gate says."""
    runs = [run.manifest for run in analysis.material.runs]
    return _warned(
        (f"Load: {warning['code']}", warning)
        for run in runs
        for warning in run.load_warnings
        if warning["code"] not in OF_DATA
    )


def _host(analysis: Analysis) -> Gate:
    # What levels change about the host on purpose is no other environment.
    environments = max(
        (
            {run.manifest.environment_id for run in runs}
            for runs in _by_host(analysis.material.runs).values()
        ),
        key=len,
        default=set(),
    )
    told = list(_red_flags(analysis))
    if len(environments) > 1:
        told.insert(0, f"runs come from {len(environments)} different environments")
    if told:
        return Gate("Host", "doubtful", sentence_case("; ".join(told)) + ".")
    return Gate("Host", "ok", "One environment; the host raised no red flag.")


def _by_host(runs: Iterable[RunMaterial]) -> Mapping[str, Sequence[RunMaterial]]:
    """Runs by the state of the host that their cell asks for."""
    found: dict[str, list[RunMaterial]] = {}
    for run in runs:
        found.setdefault(json.dumps(run.manifest.host, sort_keys=True), []).append(run)
    return found


def _red_flags(analysis: Analysis) -> Iterable[str]:
    """Each flag once, in the words of the run that raised it first."""
    runs = analysis.material.runs
    raised: dict[str, list[str]] = {}
    for run in runs:
        found = run.facts.get("red_flags")
        for flag in found if isinstance(found, list) else []:
            raised.setdefault(flag["code"], []).append(flag["message"])
    for messages in raised.values():
        seen = "" if len(messages) == len(runs) else f" ({len(messages)} of {len(runs)} runs)"
        yield messages[0] + seen


def _step_warnings(analysis: Analysis) -> Iterable[Gate]:
    return _warned(
        (f"{'Tool' if step.reactor is None else 'Engine'}: {warning['code']}", warning)
        for run in analysis.material.runs
        for step in run.manifest.steps
        for warning in step.warnings
    )


def _warned(named: Iterable[tuple[str, Mapping[str, object]]]) -> Iterable[Gate]:
    """One gate for each name: the first warning's message, how often it came, what to do."""
    found: dict[str, list[Mapping[str, object]]] = {}
    for name, warning in named:
        found.setdefault(name, []).append(warning)
    for name, warnings in found.items():
        first, times = warnings[0], len(warnings)
        told = f"{sentence_case(str(first['message']))} ({times} time{'' if times == 1 else 's'})."
        hint = first.get("hint")
        yield Gate(name, "doubtful", f"{told} {sentence_case(str(hint))}." if hint else told)


def limits(analysis: Analysis) -> tuple[str, ...]:
    """What this study does not show, in sentences; what its machine lacks, the headline says."""
    study = analysis.material.study
    told = list(limits_of(analysis.material.runs))
    sentences = left_out_sentences(analysis.material.left_out)
    told += [f"{sentence_case(sentence)}." for sentence, _ in sentences]
    by_trials = analysis.metric.share
    if not by_trials and analysis.points and min(len(p.counted) for p in analysis.points) < 2:
        told.append(
            "A single block, even of turns, says nothing of how set-ups differ from one another."
            if _one_set_up(analysis)
            else "A single block cannot give an interval: differences may be chance."
        )
    if study.scale != "paper":
        told.append(
            f"This is the study's `{study.scale}` scale; data, loads and windows of its own "
            "scale are larger."
        )
    measured = {run.manifest.generator for run in analysis.material.runs if not imports([run])}
    paced = sorted(measured & OWN_PACE)
    if paced and not by_trials:
        told.append(
            f"When events began was up to {', '.join(paced)}: whether callers waited for replies, "
            "as in a closed load, is not known here."
        )
    unpaced = not measured or not measured <= OWN_PACE
    if not study.load.is_open and not by_trials and unpaced and closed(analysis.material.runs):
        told.append(
            "Load was closed: a client waits for its reply before it goes on, so response times do "
            "not show what callers who keep arriving would have waited during a stall."
        )
    if analysis.comparisons:
        told.append(
            f"Effects below {percent(study.primary.smallest_effect)} are called small by the "
            "study's choice, and nothing is claimed about other hosts, data sizes or workloads."
        )
    if not by_trials and not analysis.against_itself:
        told.append(
            "There is no A/A arm (one cell under two names, `aa = true`), so this host's own "
            "noise is known from the blocks only."
        )
    return tuple(told)
