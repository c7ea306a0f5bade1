"""The routes of runs that have ended: their pages, lines over time and logs, and two studies second
by second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from dbdyno.serve.answers import answer, as_json, missing, study_of
from dbdyno.serve.inside import Inside, is_name
from dbdyno.serve.run_page import log_tail, notes_within, run_page
from dbdyno.serve.seconds import load_lines, metric_lines, overlay
from dbdyno.serve.stream import points_of
from dbdyno.store.places import PARTIAL


@dataclass(frozen=True, slots=True)
class RunPages:
    """The answers to requests for runs."""

    inside: Inside
    is_study: Callable[[str], bool]
    render: Callable[..., Response]
    """Makes a page of a template and its values."""

    def routes(self) -> Mapping[str, Callable[[Request], Response]]:
        """All routes; each only reads."""
        return {
            "/studies/{study}/runs/{run}": self.page,
            "/studies/{study}/runs/{run}/logs/{file}": self.log,
            "/api/studies/{study}/runs/{run}": self.lines,
            "/api/compare": self.overlay,
        }

    def page(self, asked: Request) -> Response:
        """A run that has ended, with all that is stored of it."""
        study, name = study_of(asked), asked.path_params["run"]
        page = run_page(self.inside, study, name) if self._is_run(study, name) else None
        if page is None:
            return missing(name)
        return self.render("run.html.j2", page=page)

    def lines(self, asked: Request) -> Response:
        """Lines over time of a run: its load, or a metric by its name (`?metric=SOURCE.NAME`)."""
        study, name = study_of(asked), asked.path_params["run"]
        if not self._is_run(study, name):
            return missing(name)
        wanted = asked.query_params.get("metric", "")
        place = study, name
        lines = (
            metric_lines(self.inside, place, wanted)
            if wanted
            else load_lines(self.inside, place, "")
        )
        if lines is None:
            return missing(wanted)
        notes = notes_within(self.inside, study, name)
        marks = [{"kind": "note", "at": n.unix_ns / 1e9, "text": n.text} for n in notes]
        return as_json({"schema": 1, **points_of(lines, lines.taken()), "marks": marks})

    def log(self, asked: Request) -> Response:
        """The end of a log of a run."""
        study, run, name = study_of(asked), asked.path_params["run"], asked.path_params["file"]
        try:
            content = log_tail(self.inside, study, run, name)
        except OSError:
            return missing(name)
        return answer(content, "text/plain; charset=utf-8", "default-src 'none'; sandbox")

    def overlay(self, asked: Request) -> Response:
        """A cell at a load in two studies, second by second since its window began."""
        asks = asked.query_params
        base, new, cell = (asks.get(name, "")[:255] for name in ("base", "new", "cell"))
        clients = asks.get("clients", "")
        if not self.is_study(base) or not self.is_study(new) or not clients.isdecimal():
            return missing(cell)
        lines = overlay(self.inside, {"base": base, "new": new}, cell, int(clients[:9]))
        return as_json({"schema": 1, **points_of(lines, lines.taken())})

    def _is_run(self, study: str, run: str) -> bool:
        ended = is_name(run) and not run.endswith(PARTIAL)
        return ended and self.is_study(study) and self.inside.has(study, "runs", run)
