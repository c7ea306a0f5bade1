"""Rules for what a study's headline speaks of: it is run at the scale in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dbdyno.formats.answer_schema import LeadTable
from dbdyno.formats.key_path import KeyPath
from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.search_rules import Complaint, metric_of
from dbdyno.formats.study_schema import StudyDocument
from dbdyno.model import Factor, find_figure


def lead_complaints(
    document: StudyDocument,
    every: Sequence[Factor],
    chosen: Sequence[Factor],
    *,
    scale: str,
    listed: bool,
) -> Iterator[Complaint]:
    """All errors of `leads`, and of charts that lead. `every`: the file's factors, `chosen`: those
    with the levels that the scale runs; `listed`: `leads` is a list there."""
    rules = _Rules(document, every, chosen, scale)
    for place, lead in enumerate(document.leads):
        here = ("leads", str(place)) if listed else ("leads",)
        if lead.factor is not None and lead.level is not None:
            yield from rules.by_itself(here, lead.factor, lead.level)
        if lead.factor is not None and lead.levels:
            yield from rules.listing(here, lead.factor, lead.levels)
        for factor, level in lead.cell.items():
            yield from rules.known((*here, "cell", factor), factor, level)
        yield from rules.load(here, lead)
    first, *others = [place for place, chart in enumerate(document.chart) if chart.lead] or [0]
    for place in others:
        message = f"`lead` is for one chart: it is `{document.chart[first].kind}` already"
        yield ("chart", str(place), "lead"), message, "take it out of all others"


class _Rules:
    def __init__(
        self,
        document: StudyDocument,
        every: Sequence[Factor],
        chosen: Sequence[Factor],
        scale: str,
    ) -> None:
        self.every = _names(every)
        self.chosen = _names(chosen)
        self.levels = {
            factor.name: {level.name: level for level in factor.levels} for factor in chosen
        }
        self.baseline = document.design.baseline
        self.clients = document.load.clients
        self.scale = scale
        self.metric = metric_of(document)

    def known(self, path: KeyPath, factor: str, level: str) -> Iterator[Complaint]:
        """The file has both, and the scale runs the level."""
        if factor not in self.every:
            message = f"`leads` names a factor `{factor}`; there are {_listing(self.every)}"
            yield path, message, nearest_hint(factor, self.every)
        elif level not in self.every[factor]:
            there = self.every[factor]
            message = f"factor `{factor}` has no level `{level}`; it has {_listing(there)}"
            yield path, message, nearest_hint(level, there)
        elif level not in self.chosen[factor]:
            message = f"`leads` names the level `{level}`, which scale `{self.scale}` does not run"
            yield path, message, f"give it its own: scale.{self.scale}.leads"

    def by_itself(self, here: KeyPath, factor: str, level: str) -> Iterator[Complaint]:
        """A factor of the baseline, at another level than the baseline's."""
        wrong = list(self.known((*here, "factor"), factor, level))
        yield from wrong
        if wrong:
            return
        if factor not in self.baseline:
            message = f"`baseline` names no level of the factor `{factor}` to compare with"
            yield (*here, "factor"), message, f"it names {_listing(self.baseline) or 'nothing'}"
        elif level == self.baseline[factor]:
            yield (*here, "level"), f"`{level}` is the baseline's own level of `{factor}`", None
        elif find_figure(self.metric).share:
            message = f"`{self.metric}` is compared cell by cell, no factor by itself"
            yield (*here, "factor"), message, f'cell = {{ {factor} = "{level}" }}'

    def listing(self, here: KeyPath, factor: str, levels: Sequence[str]) -> Iterator[Complaint]:
        """Levels whose shares are listed."""
        for level in levels:
            yield from self.known((*here, "levels"), factor, level)
        if not find_figure(self.metric).share:
            message = f"`levels` lists shares, and `{self.metric}` is none"
            yield (*here, "levels"), message, f'factor = "{factor}", level = "{levels[0]}"'

    def load(self, here: KeyPath, lead: LeadTable) -> Iterator[Complaint]:
        """The load is one of the steps, and the cell has it."""
        if lead.curve and len(self.clients) < 2:
            yield (*here, "curve"), "`curve` needs several loads; `load.clients` names one", None
        if lead.clients is None:
            return
        path = (*here, "clients")
        if lead.clients not in self.clients:
            there = ", ".join(map(str, self.clients))
            yield path, f"`leads` names {lead.clients} clients; `load.clients` has {there}", None
            return
        named = {**self.baseline, **lead.cell}
        if lead.factor is not None and lead.level is not None:
            named[lead.factor] = lead.level
        for factor, level in named.items():
            chosen_level = self.levels.get(factor, {}).get(level)
            most = chosen_level.most_clients if chosen_level else None
            if most is not None and most < lead.clients:
                yield path, f"`{level}` has {most} clients at most, not {lead.clients}", None


def _names(factors: Sequence[Factor]) -> Mapping[str, Sequence[str]]:
    return {factor.name: [level.name for level in factor.levels] for factor in factors}


def _listing(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in names)
