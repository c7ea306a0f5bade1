"""What a study does not show."""

from __future__ import annotations

from dbdyno.formats.left_out import left_out_sentences
from dbdyno.model import OWN_PACE
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.builds import built_differently
from dbdyno.report.gates.blocks import one_set_up
from dbdyno.report.material.imported import closed, imports, limits_of
from dbdyno.report.terms.wording import percent, sentence_case


def limits(analysis: Analysis) -> tuple[str, ...]:
    """What this study does not show, in sentences; what its machine lacks, the headline says."""
    study = analysis.material.study
    texts = list(limits_of(analysis.material.runs))
    sentences = left_out_sentences(analysis.material.left_out)
    texts += [f"{sentence_case(sentence)}." for sentence, _ in sentences]
    by_trials = analysis.metric.of_trials
    if not by_trials and analysis.points and min(len(p.counted) for p in analysis.points) < 2:
        texts.append(
            "A single block, even of turns, says nothing of how set-ups differ from one another."
            if one_set_up(analysis)
            else "A single block cannot give an interval: differences may be chance."
        )
    texts += built_differently(analysis)
    if study.scale != "paper":
        texts.append(
            f"This is the study's `{study.scale}` scale; data, loads and windows of its own "
            "scale are larger."
        )
    measured = {run.manifest.generator for run in analysis.material.runs if not imports([run])}
    paced = sorted(measured & OWN_PACE)
    if paced and not by_trials:
        texts.append(
            f"When events began was up to {', '.join(paced)}: whether callers waited for replies, "
            "as in a closed load, is not known here."
        )
    unpaced = not measured or not measured <= OWN_PACE
    if not study.is_open and not by_trials and unpaced and closed(analysis.material.runs):
        texts.append(
            "Load was closed: a client waits for its reply before it goes on, so response times do "
            "not show what callers who keep arriving would have waited during a stall."
        )
    if analysis.comparisons:
        texts.append(
            f"Effects below {percent(study.primary.smallest_effect)} are called small by the "
            "study's choice, and nothing is claimed about other hosts, data sizes or workloads."
        )
    if not by_trials and not analysis.against_itself:
        texts.append(
            "There is no A/A arm (one cell under two names, `aa = true`), so this host's own "
            "noise is known from the blocks only."
        )
    return tuple(texts)
