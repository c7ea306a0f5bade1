"""No page of `dbdyno serve` is wider than its window, however long names are."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait
from serving import Served, serving
from stores import write_live, write_study

from browsing import chromium, page_width, window
from dbdyno.store.study_journal import add_note

pytestmark = pytest.mark.slow

KEPT = Path(__file__).parents[1] / "store/kept-turns/schema-2/study"
LONG = "a-name-that-is-as-long-as-a-whole-line-of-text-and-has-no-space-in-it"
OTHER, LIVE = f"{LONG}.2", f"{LONG}-live"
RUN = "b1-wal"

PAGES = (
    "/",
    "/?q=nothing-has-this-word",
    f"/studies/{LONG}/history",
    f"/studies/{LIVE}/live",
    f"/studies/study/runs/{RUN}",
    "/compare",
    f"/compare?base={LONG}&new={OTHER}",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A study twice, another under way, and a measured one whose run has a log."""
    store = tmp_path_factory.mktemp("store")
    for name in (LONG, OTHER):
        lengthen(write_study(store, name, answer=f"{LONG} is faster than {LONG}."))
    live = lengthen(write_study(store, LIVE, runs=0))
    own = psutil.Process()
    session = {"pid": os.getpid(), "pid_started": own.create_time(), "command": "dbdyno run"}
    effect = {"cell": LONG, "clients": 4, "ratio": 2.0, "low": 1.5, "high": 2.5, "text": LONG}
    write_live(
        live,
        {"session": session},
        {"progress": {"share": 0.25, "left_s": [10, 20], "phase": LONG, "text": LONG}},
        {"line": LONG * 3},
        {"answer": {"text": LONG, "blocks_done": 1, "blocks": 2, "effects": [effect]}},
        {"run": {"run": f"b1-{LONG}", "is": "running"}},
    )
    add_note(live, LONG * 2)
    shutil.copytree(KEPT, store / "study")
    logs = store / "study" / "runs" / RUN / "logs"
    logs.mkdir(exist_ok=True)
    (logs / f"{LONG}.log").write_text(LONG * 5)
    with serving(store) as there:
        yield there


def lengthen(folder: Path) -> Path:
    """Gives a study a question, cells and tags in long words."""
    path = folder / "study.json"
    document = json.loads(path.read_text().replace("-wal", f"-{LONG}"))
    document["study"] |= {"question": f"What does {LONG} cost?", "tags": [LONG, "short"]}
    path.write_text(json.dumps(document))
    for run in (folder / "runs").glob("*-wal"):
        moved = run.rename(run.with_name(run.name.replace("wal", LONG)))
        (moved / "manifest.json").write_text(json.dumps({"id": moved.name, "status": "complete"}))
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_wider_than_its_window(
    browser: webdriver.Chrome, served: Served, path: str
) -> None:
    for width in (1400, 800, 390):
        with window(browser, width, 900):
            browser.get(f"http://127.0.0.1:{served.port}{path}")
            if path.endswith("/live"):
                WebDriverWait(browser, 60).until(
                    lambda seen: LONG in seen.execute_script("return document.body.innerText")
                )
            browser.execute_script(
                "document.querySelectorAll('details').forEach(part => { part.open = true; })"
            )
            assert page_width(browser) <= width, path
