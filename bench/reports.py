"""A report of many long runs: how long it takes to build and to open, and how large it is."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from bench.child import run_child
from bench.made_up_store import NAME, made_up_store
from bench.options import Options
from bench.place import Place
from dbdyno.engine import Engine
from dbdyno.errors import MachineError

METRICS = 300
"""Sampled once a second in every run."""

_OPEN_LIMIT_S = 120
_BROWSER = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--window-size=1280,1000",
)
_INSTANTS = """
const marks = performance.getEntriesByType("mark");
const named = name => marks.filter(mark => mark.name.startsWith(name))
  .map(mark => mark.startTime / 1000);
return {
  content_s: performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd / 1000,
  panels_s: Math.max(...named("drawn metrics-over-time")),
  opened_s: Math.max(...named("drawn ")),
};
"""
"""Seconds from the beginning of the navigation, as the page's own marks tell them."""


@contextmanager
def made_up_runs(engine: Engine, options: Options) -> Iterator[Place]:
    """A store of runs that nobody has measured."""
    with TemporaryDirectory(prefix="dbdyno-bench-") as folder:
        made_up_store(Path(folder), seconds=options.report_s, metrics=METRICS)
        yield Place(engine, Path(folder))


def report(place: Place, _clients: int, _options: Options) -> dict[str, float]:
    """Builds the report as a user does, and opens it in a browser that has just begun."""
    page = place.floors / "report.html"
    store = place.floors / "store"
    words = (sys.executable, "-m", "dbdyno", "report", NAME, "--store", store, "--out", page)
    built = run_child(words)
    return {
        "build_s": built.elapsed_s,
        "build_cpu_s": built.user_s + built.system_s,
        "page_mb": page.stat().st_size / 1e6,
        **_opened(page),
    }


def _opened(page: Path) -> dict[str, float]:
    with _browser(page.parent) as browser:
        browser.get(page.as_uri())
        WebDriverWait(browser, _OPEN_LIMIT_S).until(
            lambda seen: seen.execute_script("return document.documentElement.dataset.drawn")
        )
        found: dict[str, float] = browser.execute_script(_INSTANTS)
        return found


def _browser(folder: Path) -> webdriver.Chrome:
    """`folder`: where Chromium leaves files."""
    driver, program = shutil.which("chromedriver"), shutil.which("chromium")
    if driver is None or program is None:
        raise MachineError(
            "no browser to open the report in", hint="apt-get install chromium chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in _BROWSER:
        options.add_argument(argument)
    service = webdriver.ChromeService(driver, env={**os.environ, "TMPDIR": str(folder)})
    return webdriver.Chrome(options=options, service=service)
