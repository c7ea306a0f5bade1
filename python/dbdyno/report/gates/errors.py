"""How many statements failed, beside those that the study declares as part of its load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dbdyno.model.limits import MOST_ERRORS
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import BlockFigures
from dbdyno.report.gates.gate import Gate, GateState, Judge, all_blocks
from dbdyno.report.material.faults import tried_word
from dbdyno.report.terms.wording import count, percent


def _errors(analysis: Analysis) -> Gate:
    blocks = all_blocks(analysis)
    errors = sum(figures.errors.unexpected for figures in blocks)
    tried = sum(figures.errors.tried for figures in blocks)
    what = " and ".join(dict.fromkeys(tried_word(figures.summary.generator) for figures in blocks))
    if tried == 0:
        return Gate("Errors", "failed", "Nothing was run.")
    expected, beyond = _expected(blocks), _beyond(blocks, what)
    state: GateState = "ok" if errors <= MOST_ERRORS * tried and not beyond else "failed"
    if errors == 0:
        none = "None but those expected" if expected else "None"
        return Gate("Errors", state, f"{none} in {count(tried)} {what}.{expected}{beyond}")
    share = percent(errors / tried)
    failed = f"{count(errors)} of {count(tried)} {what} failed ({share})"
    remedy = _remedy(blocks) if errors > MOST_ERRORS * tried else ""
    tolerated = f"{percent(MOST_ERRORS)} is tolerated"
    words = f"{failed}; {tolerated}.{remedy}{expected}{beyond}"
    return Gate("Errors", state, words, brief=f"{share} of {what} failed")


def _remedy(blocks: Sequence[BlockFigures]) -> str:
    """How such errors are declared, with the commonest codes."""
    errors: Counter[str] = Counter()
    for figures in blocks:
        errors.update(figures.errors.undeclared)
    codes = ", ".join(code for code, _ in errors.most_common(_MOST_CODES) if code)
    return (
        f" Those that belong to the load{f' ({codes}?)' if codes else ''} are declared by "
        "`[load.errors] expected`, for an import by `--expected-errors`."
    )


_MOST_CODES = 3


def _expected(blocks: Sequence[BlockFigures]) -> str:
    """The declared errors there were, all blocks together."""
    errors: Counter[str] = Counter()
    for figures in blocks:
        errors.update(figures.errors.declared)
    tried = sum(figures.errors.tried for figures in blocks)
    listed = [f"{code} {count(n)} ({percent(n / tried)})" for code, n in errors.items()]
    return f" Expected by the study: {', '.join(listed)}." if listed else ""


def _beyond(blocks: Sequence[BlockFigures], what: str) -> str:
    """Where there were more of them than the study allows."""
    shares: dict[str, list[float]] = {}
    allowed: dict[str, float] = {}
    for figures in blocks:
        allowed |= figures.errors.beyond
        for code in figures.errors.beyond:
            share = figures.errors.share(figures.errors.declared[code])
            shares.setdefault(code, []).append(share)
    return "".join(
        f" More than the {percent(allowed[code])} of {what} that may fail with {code} did so in "
        f"{len(above)} run{'' if len(above) == 1 else 's'}, up to {percent(max(above))}."
        for code, above in shares.items()
    )


GATE = Judge(80, _errors, needs="errors", keeps_failed=True)
