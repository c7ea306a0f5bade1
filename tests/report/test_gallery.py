"""A static site of stores: no dead link, the history of a study, what is left out and why."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from made_up_runs import World, write_study
from made_up_studies import SMALL

from dbdyno.cli import call
from dbdyno.errors import StoreError
from dbdyno.report.page.gallery import Gallery, gallery, write_gallery
from dbdyno.report.page.gallery_page import Entry, Measure, gallery_page, place_of

CATALOGUE = Path(__file__).parents[2] / "docs" / "catalogue" / "index.html"
TINY = SMALL.replace("[1, 4]", "[4]").replace('measure = "30 s"', 'measure = "3 s"')
STEADY = World(rate=lambda *_: 100.0)
FASTER = World(rate=lambda run, *_: 200.0 if "wal" in run.id else 100.0, day=2)


class Links(HTMLParser):
    """Addresses and ids of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.to: list[str] = []
        self.ids: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.to.append(value)
            elif name == "id" and value:
                self.ids.add(value)


def dead_links(folder: Path) -> list[str]:
    """Links of a site's pages to files or places that it does not have."""
    pages = {page.name: Links(page) for page in folder.glob("*.html")}
    dead = []
    for page, links in pages.items():
        for link in links.to:
            if link.startswith(("data:", "https://")):
                continue
            file, _, place = unquote(link).partition("#")
            target = file or page
            known = pages[target].ids if target in pages else set()
            if not (folder / target).is_file() or (place and place not in known):
                dead.append(f"{page}: {link}")
    return dead


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two stores with the same study, the second two days later, which has a failed one, too."""
    first, second = (tmp_path_factory.mktemp(name) for name in ("first", "second"))
    write_study(first, TINY, STEADY, name="journal")
    write_study(second, TINY, FASTER, name="journal")
    brief = TINY.replace("blocks = 3", "blocks = 1")
    ids = ("delete,full", "delete,normal", "wal,full", "wal,normal")
    failed = replace(STEADY, status={f"b1-{name}": "failed" for name in ids})
    write_study(second, brief, failed, name="failed")
    return first / "store", second / "store"


@pytest.fixture(scope="module")
def made(stores: tuple[Path, Path]) -> Gallery:
    return gallery([*stores, stores[0]], url="https://example.org/bench/")


def test_a_site_has_no_dead_link_and_names_no_place_of_the_machine(
    made: Gallery, stores: tuple[Path, Path], tmp_path: Path
) -> None:
    write_gallery(made, tmp_path / "site")
    assert set(made.files) == {file.name for file in (tmp_path / "site").iterdir()}
    links = Links(tmp_path / "site" / "index.html").to
    assert {"journal.html", "journal.2023-11-14.html", "journal.svg"} <= set(links)
    assert dead_links(tmp_path / "site") == []
    for content in made.files.values():
        assert str(stores[0]).encode() not in content
    (tmp_path / "site" / "journal.html").unlink()
    assert "index.html: journal.html" in dead_links(tmp_path / "site")


def test_a_study_of_two_stores_has_a_history_and_the_rest_a_reason(
    made: Gallery, stores: tuple[Path, Path]
) -> None:
    (entry,) = json.loads(made.files["gallery.json"])["studies"]
    newest, before = entry["measures"]
    assert (newest["day"], before["day"]) == ("2023-11-16", "2023-11-14")
    assert newest["effect"][1] == pytest.approx(2, rel=0.1)
    assert before["effect"][1] == pytest.approx(1, rel=0.1)
    assert entry["followed"].startswith("wal, ")
    assert set(made.left_out.values()) == {
        "no run is complete",
        f"a copy of {stores[0] / 'journal'}",
    }
    page = made.files["journal.html"].decode()
    assert '<meta property="og:image" content="https://example.org/bench/journal.png">' in page
    assert '<a href="index.html">All studies</a>' in page


def test_pages_made_by_several_processes_are_the_same(
    stores: tuple[Path, Path], made: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the machine has: with two processors at least, and one page less than there are."""
    monkeypatch.setattr("dbdyno.report.page.gallery.FEW", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    named: list[str] = []
    again = gallery([*stores, stores[0]], url="https://example.org/bench/", tell=named.append)

    assert named == ["journal", "journal"]
    assert again.left_out == made.left_out
    assert again.replaced == made.replaced
    assert {name for name in again.files if again.files[name] != made.files[name]} == set()


def test_only_a_gallery_is_written_over(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="no gallery of ours"):
        write_gallery(Gallery({"index.html": b"x"}), other)
    listed = b'{"files": ["index.html", "old.html", "gallery.json", "../other/thesis.txt"]}'
    write_gallery(Gallery({"gallery.json": listed, "old.html": b""}), tmp_path / "site")
    (tmp_path / "site" / "CNAME").write_text("example.org")
    write_gallery(Gallery({"index.html": b"x", "gallery.json": b"{}"}), tmp_path / "site")
    kept = {file.name for file in (tmp_path / "site").iterdir()}
    assert kept == {"CNAME", "gallery.json", "index.html"}
    assert (other / "thesis.txt").read_text() == "mine"


def test_the_command_writes_the_site_and_refuses_before_it_works(
    stores: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site"
    assert call(["gallery", str(stores[0]), "--out", str(site), "--title", "Ours"]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{site / 'index.html'}\n"
    assert "journal" in shown.err
    assert "<h1>Ours</h1>" in (site / "index.html").read_text()
    (site / "gallery.json").unlink()
    assert call(["gallery", str(stores[0]), "--out", str(site)]) == StoreError.exit_code
    assert "journal" not in capsys.readouterr().err
    assert call(["gallery", str(tmp_path / "none"), "--out", str(site)]) == 2
    assert call(["gallery", str(stores[0]), "--out", str(site), "--url", "ftp://x"]) == 2


def test_a_store_without_a_complete_run_makes_no_site(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no study to show: the stores hold none"):
        gallery([tmp_path])


def test_texts_of_a_study_are_no_html() -> None:
    entry = Entry('a"b', "<script>1</script>", (Measure("", "<b>&", "<i>"),), source="<u>")
    page = gallery_page([entry], title="<s>")
    assert re.findall(r"<(?:script>1|b>|i>|u>|s>)", page) == []
    assert 'id="a&#34;b"' in page


def test_effects_of_a_card_share_an_axis() -> None:
    effects = ((0.25, 0.5, 0.9), (0.9, 1.0, 1.2))
    entry = Entry("a", "q", tuple(Measure("", "", "", effect=effect) for effect in effects))
    assert place_of(1.0, entry) == 60
    assert place_of(0.25, entry) == 4
    assert place_of(4.0, entry) == 116


def test_the_catalogue_s_gallery_has_no_dead_link() -> None:
    assert Links(CATALOGUE).to
    assert dead_links(CATALOGUE.parent) == []
