"""One file of a study for everybody: its report with pictures and tables inside, a card for links,
and how to cite it, without addresses, paths and names."""

from __future__ import annotations

import base64
import getpass
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path

from dbdyno import __version__
from dbdyno.guard.scratch import scratch_folder
from dbdyno.model import Study
from dbdyno.report.answer.so_far import Effect
from dbdyno.report.page.card import HEIGHT, WIDTH, card_png, card_svg, picture_room
from dbdyno.report.page.citation import Citation, store_digest
from dbdyno.report.page.drawing import Drawing, kept_script
from dbdyno.report.page.redaction import Redaction, names_in
from dbdyno.report.written import Written, write
from dbdyno.store import Store

_TYPES = {
    "csv": "text/csv",
    "md": "text/markdown",
    "png": "image/png",
    "svg": "image/svg+xml",
}
"""Suffix of what a report writes beside its page → its media type."""
_SCRIPT = "\0script\0"
"""Stands for the script that draws, in which nothing is replaced."""


@dataclass(frozen=True, slots=True)
class Face:
    """What a list of pages shows of this one, without addresses, paths and names."""

    question: str
    answer: str
    picture: str
    """SVG of the answer; empty: there is none."""
    measured: tuple[str, ...]
    """When and on what; the day first, where it is known."""
    ended_unix_s: float
    """The end of the last run; 0: there is none."""
    source: str
    agreement: str
    """How many published comparisons are seen again; empty without any."""
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """A page and its card, not yet written."""

    html: str
    card: bytes
    """PNG of 1200 × 630 pixels."""
    face: Face
    replaced: dict[str, int] = field(default_factory=dict)
    """What was taken out → how often."""


def publish(
    store: Path,
    study: str,
    *,
    url: str = "",
    pictures: bool = True,
    drawing: Drawing | None = None,
) -> Published:
    """The page of a stored study; `url` is where it will be. Without `pictures` it holds none as
    SVG and PNG, which takes half of the time; a browser draws its charts all the same. `drawing`
    draws for several pages. Raises `StoreError`."""
    stored = Store(store).study(study)
    asked, folder = stored.study, store / study
    redaction = Redaction(names_of(asked))
    uncounted = Redaction(redaction.names).clean
    with scratch_folder("publish") as aside:
        page = aside / "page.html"
        written = write(
            store,
            study,
            page,
            only_answer=not pictures,
            card_room=lambda answer: picture_room(uncounted(asked.question), uncounted(answer)),
            drawing=drawing,
        )
        files = page.with_suffix("")
        html, script = page.read_text("utf-8"), kept_script()
        html = html.replace(script, _SCRIPT) if script else html
        html = redaction.clean(html)
        html = _with_files(html, files, redaction)
        drawn, on_card = (
            redaction.clean(file.read_text("utf-8")) if file.is_file() else ""
            for file in (files / "answer.svg", files / "card.svg")
        )
    face = _face(written, asked, drawn, redaction)
    citation = Citation(
        question=face.question,
        author=asked.author,
        licence=asked.licence,
        date=written.measured[0] if written.measured else "",
        version=__version__,
        digest=store_digest(folder),
        url=url,
    )
    svg = card_svg(face.question, face.answer, on_card, " · ".join(face.measured))
    html = html.replace("</head>", f"{_head(citation, face.answer)}</head>", 1)
    html = html.replace("</main>", f"{_cite(citation)}</main>", 1)
    html = html.replace(_SCRIPT, script)
    return Published(html, card_png(svg), face, dict(redaction.replaced))


def _face(written: Written, asked: Study, drawn: str, redaction: Redaction) -> Face:
    effects = written.so_far.effects if written.so_far else ()
    clean = redaction.clean
    return Face(
        question=clean(asked.question),
        answer=clean(written.first),
        picture=drawn,
        measured=tuple(map(clean, written.measured)),
        ended_unix_s=written.ended_unix_s,
        source=clean(asked.source or ""),
        agreement=written.agreement,
        effects=tuple(
            replace(effect, cell=clean(effect.cell), baseline=clean(effect.baseline))
            for effect in effects
        ),
    )


def names_of(study: Study) -> dict[str, str]:
    """Names of users and hosts that its page must not say → what stands for each."""
    levels = [level for factor in study.factors for level in factor.levels]
    urls = [level.provision for level in levels if level.provision]
    users: list[str] = []
    with suppress(OSError, KeyError):
        users.append(getpass.getuser())
    return names_in(urls, users=users, hosts=[socket.gethostname()])


def _with_files(html: str, files: Path, redaction: Redaction) -> str:
    """Links to files beside the page become links to the same within it. A picture in dots is left
    out where its drawing had to be changed: it would still show what was taken out."""

    def inside(match: re.Match[str]) -> str:
        name, text = match[1], match[2]
        kind = name.rpartition(".")[2]
        content = (files / name).read_bytes() if (files / name).is_file() else b""
        if kind == "png":
            drawing = files / f"{name.removesuffix('.png')}.svg"
            shown = drawing.read_text("utf-8") if drawing.is_file() else ""
            if Redaction(redaction.names).clean(shown) != shown:
                return ""
        else:
            content = redaction.clean(content.decode("utf-8", "replace")).encode()
        data = base64.b64encode(content).decode()
        return f'<a href="data:{_TYPES[kind]};base64,{data}" download="{escape(name)}">{text}</a>'

    kinds = "|".join(_TYPES)
    pattern = rf'<a href="{re.escape(files.name)}/([\w.,+=-]+\.(?:{kinds}))">([^<]*)</a>'
    return re.sub(pattern, inside, html)


def _head(citation: Citation, answer: str) -> str:
    """What links to the page show of it."""
    url = citation.url
    picture = re.sub(r"\.html?$", "", url) + ".png" if url else ""
    tags = {
        "og:type": "article",
        "og:title": citation.question,
        "og:description": answer,
        "og:url": url,
        "og:image": picture,
        "og:image:width": str(WIDTH) if picture else "",
        "og:image:height": str(HEIGHT) if picture else "",
    }
    lines = [
        f'<meta property="{name}" content="{escape(value)}">'
        for name, value in tags.items()
        if value
    ]
    if picture:
        lines.append('<meta name="twitter:card" content="summary_large_image">')
    if citation.author:
        lines.append(f'<meta name="author" content="{escape(citation.author)}">')
    return "\n".join(lines) + "\n"


def _cite(citation: Citation) -> str:
    return "\n".join(_cite_parts(citation))


def _cite_parts(citation: Citation) -> Iterator[str]:
    yield '<section class="part" id="cite"><details><summary><h2>Cite or embed this</h2></summary>'
    yield f"<p>{escape(citation.text)}</p>"
    if citation.licence:
        yield f"<p>Licence: {escape(citation.licence)}</p>"
    yield f"<pre>{escape(citation.bibtex)}</pre>"
    if citation.url:
        # What the reader copies is HTML itself, so its attributes are escaped before the sample is.
        url, title = escape(citation.url), escape(citation.question)
        frame = (
            f'<iframe src="{url}" title="{title}" width="100%" height="800" loading="lazy">'
            "</iframe>"
        )
        yield f"<p>To embed the page:</p><pre>{escape(frame)}</pre>"
    yield "</details></section>"
