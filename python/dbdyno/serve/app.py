"""The routes of `dbdyno serve`: pages, JSON, streams of events, figures for Prometheus."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from dbdyno.serve.admission import Admission
from dbdyno.serve.answers import HEADERS, OWN, REPORT, answer, as_json, missing, study_of
from dbdyno.serve.comparing import compared
from dbdyno.serve.home import Home
from dbdyno.serve.inside import Inside, is_name
from dbdyno.serve.past import past
from dbdyno.serve.prometheus import CONTENT_TYPE, exposition
from dbdyno.serve.run_routes import RunPages
from dbdyno.serve.stream import MOST_WATCHERS, Channel, last_seen
from dbdyno.serve.watching import StudyWatch
from dbdyno.store.places import base_name

_STATIC = {
    "style.css": ("report", "text/css"),
    "serve.css": ("serve", "text/css"),
    "live.js": ("serve", "text/javascript"),
    "panels.js": ("serve", "text/javascript"),
    "home.js": ("serve", "text/javascript"),
    "run.js": ("serve", "text/javascript"),
    "compare.js": ("serve", "text/javascript"),
}
"""File → the room whose template it is, and its type. The pages share the report's style."""
_EXPORTED = {
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "json": "application/json",
    "md": "text/plain; charset=utf-8",
}
"""Suffix → type of the files that a report writes into its folder."""


@dataclass(slots=True)
class Pages:
    """The answers to requests."""

    inside: Inside
    home: Home = field(init=False)
    _channels: dict[str, Channel] = field(default_factory=dict)
    _templates: jinja2.Environment = field(init=False)

    def __post_init__(self) -> None:
        self.home = Home(self.inside)
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("dbdyno.serve"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )

    def routes(self) -> list[Route]:
        """All routes; each only reads."""
        paths: dict[str, Callable[..., object]] = {
            "/": self.front,
            "/static/{file}": self.static,
            "/studies/{study}/": self.study,
            "/studies/{study}/live": self.live,
            "/studies/{study}/history": self.history,
            "/compare": self.compare,
            "/studies/{study}/report/{file}": self.exported,
            "/api/studies": self.studies,
            "/api/studies/{study}": self.as_json,
            "/api/studies/{study}/events": self.events,
            "/metrics": self.metrics,
        }
        paths |= RunPages(self.inside, self._is_study, self._page).routes()
        return [Route(path, handler, methods=["GET"]) for path, handler in paths.items()]

    def front(self, asked: Request) -> Response:
        """The list of studies."""
        words = asked.query_params.get("q", "")[:200]
        rows, count = self.home.rows(words)
        return self._page(
            "home.html.j2", rows=rows, count=count, words=words, date=_date, place=_place
        )

    def compare(self, asked: Request) -> Response:
        """Two studies side by side, or the choice of two."""
        base, new = (asked.query_params.get(name, "")[:255] for name in ("base", "new"))
        unknown = next((name for name in (base, new) if name and not self._is_study(name)), None)
        if unknown is not None:
            return missing(unknown)
        rows, _ = self.home.rows()
        names = dict.fromkeys((*filter(None, (base, new)), *(row.study for row in rows)))
        both = compared(self.inside, base, new) if base and new else None
        answers = {row.study: row.answer for name in (base, new) if (row := self.home.row(name))}
        return self._page(
            "compare.html.j2",
            names=sorted(names),
            base=base,
            new=new,
            both=both,
            answers=answers,
            store=self.inside.root.name,
        )

    def history(self, asked: Request) -> Response:
        """All times that a study was measured."""
        name = study_of(asked)
        if not self._is_study(name):
            return missing(name)
        history = past(self.inside, self.home.repeats(name))
        return self._page(
            "history.html.j2", study=base_name(name), past=history, date=_date, place=_place
        )

    def studies(self, asked: Request) -> Response:
        """The same as JSON."""
        rows, count = self.home.rows(asked.query_params.get("q", "")[:200])
        return as_json({"schema": 1, "count": count, "studies": [asdict(row) for row in rows]})

    async def study(self, asked: Request) -> Response:
        """The report of a study that has ended; until then its live page."""
        name = study_of(asked)
        watch = self._look(name)
        if watch is None:
            return missing(name)
        if watch.has_report:
            try:
                page = self.inside.read(name, "report.html")
            except OSError:
                return missing(name)
            return answer(page, "text/html; charset=utf-8", REPORT)
        return self._live(watch)

    async def live(self, asked: Request) -> Response:
        """The live page of a study, whether or not there is a report."""
        name = study_of(asked)
        watch = self._look(name)
        return missing(name) if watch is None else self._live(watch)

    async def as_json(self, asked: Request) -> Response:
        """What the live page shows, except the lines of its panels."""
        name = study_of(asked)
        watch = self._look(name)
        if watch is None:
            return missing(name)
        return as_json({"schema": 1, **watch.state(), "progress": watch.progress()})

    async def events(self, asked: Request) -> Response:
        """Server-sent events of a study."""
        name = study_of(asked)
        if not self._is_study(name):
            return missing(name)
        watchers = sum(channel.watchers for channel in self._channels.values())
        if watchers >= MOST_WATCHERS:
            return PlainTextResponse("too many watchers\n", 503, headers=HEADERS)
        for other in [other for other, open_ in self._channels.items() if not open_.watchers]:
            if other != name:
                del self._channels[other]
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = Channel(StudyWatch(self.inside, name))
        last = last_seen(asked.headers.get("last-event-id"))
        return StreamingResponse(
            channel.events(last), media_type="text/event-stream", headers=HEADERS
        )

    async def metrics(self, _: Request) -> Response:
        """Figures of the running studies."""
        watches = []
        for row in await run_in_threadpool(self.home.running):
            watch = self._look(row.study)
            if watch is not None:
                watches.append(watch)
        return answer(exposition(watches).encode(), CONTENT_TYPE, OWN)

    def static(self, asked: Request) -> Response:
        """Style and scripts of the pages."""
        name = asked.path_params["file"]
        if name not in _STATIC:
            return missing(name)
        room, kind = _STATIC[name]
        content = (resources.files("dbdyno") / room / "templates" / name).read_bytes()
        return answer(content, f"{kind}; charset=utf-8", OWN)

    def exported(self, asked: Request) -> Response:
        """A table or picture of a report."""
        study, name = study_of(asked), asked.path_params["file"]
        kind = _EXPORTED.get(name.rpartition(".")[2])
        try:
            if kind is None:
                raise FileNotFoundError(name)
            content = self.inside.read(study, "report", name)
        except OSError:
            return missing(name)
        return answer(content, kind, "default-src 'none'; style-src 'unsafe-inline'; sandbox")

    def _live(self, watch: StudyWatch) -> Response:
        has_report = self.inside.has(watch.name, "report.html")
        return self._page("live.html.j2", study=watch.name, has_report=has_report, watch=watch)

    def _page(self, template: str, **values: object) -> Response:
        page = self._templates.get_template(template).render(**values)
        return answer(page.encode(), "text/html; charset=utf-8", OWN)

    def _is_study(self, name: str) -> bool:
        has = self.inside.has
        return is_name(name) and (has(name, "study.json") or has(name, "runs"))

    def _look(self, name: str) -> StudyWatch | None:
        """A study as it is now, or at most a second ago if somebody watches it."""
        if not self._is_study(name):
            return None
        channel = self._channels.get(name)
        if channel is not None and channel.watchers:
            return channel.watch
        watch = StudyWatch(self.inside, name)
        watch.look()
        return watch


def make_app(store: Path, hosts: Collection[str], *, token: str = "") -> Admission:
    """The application that serves a store to those who may read it; see `Admission`."""
    routes = Pages(Inside(store)).routes()
    return Admission(Starlette(routes=routes), hosts=hosts, token=token)


def _date(unix_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(min(unix_s, 2**35)))


def _place(ratio: float) -> float:
    """A ratio's x in the small picture: 1 is in the middle, at 60; 4 and more at the right end."""
    return round(60 + 55 * max(-1.0, min(1.0, math.log(ratio) / math.log(4))), 1)
