"""A page for everybody: what is taken out, what is inside, how it is cited."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path

import pytest
from made_up_runs import World, write_study
from made_up_studies import SMALL

from dbdyno.report.page.card import picture_room
from dbdyno.report.page.citation import Citation, store_digest
from dbdyno.report.page.publish import publish
from dbdyno.report.page.redaction import Redaction, names_in
from dbdyno.report.written import write

STEADY = World(rate=lambda *_: 100.0)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("on postgresql://me@db1:5432/test?x=1, then", "on postgresql://[server], then"),
        ("does it do on mysql://a:b@h1,h2/t?", "does it do on mysql://[server]?"),
        ("sqlite:/var/lib/ann/a.db", "sqlite://[server]"),
        ("kept in /var/lib/ann/results/x.toml: 3", "kept in [path]: 3"),
        ("on db1-5432-test", "on [host]-5432-test"),
        ("by ann (db1)", "by [user] ([host])"),
        ("annual, https://example.org/tmp/x, 3/opt", "annual, https://example.org/tmp/x, 3/opt"),
        ("reads / writes, w/home", "reads / writes, w/home"),
    ],
)
def test_addresses_paths_and_names_are_taken_out(text: str, clean: str) -> None:
    names = names_in(["url:postgresql://me@db1:5432/test"], users=["ann"], hosts=["localhost"])
    assert Redaction(names).clean(text) == clean


def test_what_is_taken_out_is_counted() -> None:
    redaction = Redaction()
    redaction.clean("/var/lib/ann/a /var/lib/ann/a")
    redaction.clean("mysql://u@h/d")
    assert redaction.replaced == {"/var/lib/ann/a": 2, "mysql://u@h/d": 1}


def test_a_citation_leaves_out_what_is_not_known() -> None:
    bare = Citation("Is it 5 % faster?", "", "", "", "1.0", "ab" * 32)
    assert bare.text.startswith("“Is it 5 % faster?”, measured with dbdyno 1.0, SHA-256")
    assert "author" not in bare.bibtex and "year" not in bare.bibtex
    assert r"title = {Is it 5 \% faster?}," in bare.bibtex
    full = Citation("Q", "A. Nother", "CC", "1 Jan 2026 to 3 Feb 2027", "1.0", "cd" * 32)
    assert "author = {A. Nother}," in full.bibtex and "year = {2027}," in full.bibtex


def test_a_published_page_holds_all_that_it_links_to(tmp_path: Path) -> None:
    store = write_study(tmp_path, SMALL, STEADY)
    home = store / "study"
    made = publish(store, "study", url="https://example.org/a/page.html")

    linked = re.findall(r'href="([^"]*)"', made.html)
    assert linked
    assert all(link.startswith(("#", "data:", "https://")) for link in linked)
    tables = re.findall(r'href="data:text/csv;base64,([^"]*)" download="([^"]*)"', made.html)
    assert {"comparisons.csv", "cells.csv"} <= {name for _, name in tables}
    assert all(base64.b64decode(content).count(b"\n") > 1 for content, _ in tables)
    assert '<meta property="og:image" content="https://example.org/a/page.png">' in made.html
    assert store_digest(home) in made.html
    assert str(tmp_path) not in made.html
    width, height = (int.from_bytes(made.card[at : at + 4], "big") for at in (16, 20))
    assert (made.card[:4], width, height) == (b"\x89PNG", 1200, 630)


def test_the_frame_to_copy_is_html_whatever_url_and_question_hold(tmp_path: Path) -> None:
    text = SMALL.replace('question = "', 'question = "Is a < b & c? ', 1)
    store = write_study(tmp_path, text, STEADY)
    address = "https://example.org/a?b=1&copy=2"
    made = publish(store, "study", url=address, pictures=False)

    (sample,) = re.findall(r"<pre>(&lt;iframe.*?)</pre>", made.html)
    copied = html.unescape(sample)
    assert f'src="{html.escape(address)}"' in copied
    (title,) = re.findall(r'title="([^"]*)"', copied)
    assert html.unescape(title).startswith("Is a < b & c? ")
    assert "<" not in title


def test_the_digest_is_of_the_runs_and_not_of_their_place(tmp_path: Path) -> None:
    home = write_study(tmp_path, SMALL, STEADY) / "study"
    before = store_digest(home)
    home.rename(tmp_path / "moved")
    assert store_digest(tmp_path / "moved") == before
    next((tmp_path / "moved" / "runs").iterdir()).joinpath("SHA256SUMS").write_text("other")
    assert store_digest(tmp_path / "moved") != before


def test_a_card_has_a_picture_of_its_own_proportions(tmp_path: Path) -> None:
    store = write_study(tmp_path, SMALL, STEADY)
    width, height = picture_room("What does it cost?", "Nothing.")
    assert (width, height > 400) == (1120, True)
    written = write(
        store, "study", tmp_path / "page.html", only_answer=True, card_room=lambda _: (width, 240)
    )
    sizes = []
    for name in ("card", "answer"):
        head = (written.page.with_suffix("") / f"{name}.svg").read_text().partition(">")[0]
        wide, high = (re.search(rf'{side}="(\d+)', head) for side in ("width", "height"))
        assert wide and high
        sizes.append(int(wide[1]) / int(high[1]))
    assert sizes[0] == pytest.approx(width / 240, rel=0.15)
    assert sizes[0] > 1.3 * sizes[1]
    assert {file.name for file in written.page.with_suffix("").glob("*.png")} == {"answer.png"}
