"""The page in a real browser: every chart drawn, no complaint, no network, nothing cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_up_history import write_nights
from made_up_runs import World, page_of, write_study
from made_up_studies import LONG_NAMES, LONG_WORD, SMALL, WIDE
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait
from test_sampled import SHORT, sampled
from test_sampled import rate as sampled_rate
from test_searches import SEARCH, of_a_cell

from browsing import chromium, page_width, window
from dbdyno.model import PlannedRun, Step
from dbdyno.report.analysis.history import histories
from dbdyno.report.analysis.history_series import Asked
from dbdyno.report.analysis.study_points import study_points
from dbdyno.report.page.gallery_page import Entry, Measure, gallery_page
from dbdyno.report.page.history_page import render_history
from dbdyno.report.page.publish import publish
from dbdyno.store import Store

pytestmark = pytest.mark.slow

MARKS = "g.mark-symbol path, g.mark-line path, g.mark-rule line, g.mark-rect path"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


PAGES = ["small", "wide", "one step", "nothing complete", "search", "sampled", "history"]


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def rate(run: PlannedRun, step: Step, second: int) -> float:
        return 200.0 + 40 * len(run.cell.label) + 20 * step.clients

    text, world = SMALL, World(rate)
    if request.param == "wide":
        text = WIDE
    elif request.param == "one step":
        text = SMALL.replace("[1, 4]", "[4]").replace("blocks = 3", "blocks = 1")
    elif request.param == "sampled":
        text, world = (
            SHORT.replace("blocks = 3", "blocks = 1"),
            World(sampled_rate, samples=sampled),
        )
    elif request.param == "search":
        text, world = SEARCH, World(rate, search=of_a_cell)
    elif request.param == "nothing complete":
        text = SMALL.replace("blocks = 3", "blocks = 1")
        ids = ("delete,full", "delete,normal", "wal,full", "wal,normal")
        world = World(rate, status={f"b1-{name}": "failed" for name in ids})
    folder = tmp_path_factory.mktemp("browser")
    page = folder / f"{request.param.replace(' ', '-')}.html"
    if request.param == "history":
        sessions = study_points(Store(write_nights(folder)), (), "throughput")
        page.write_text(render_history(histories(sessions, Asked("throughput"))), "utf-8")
        return page
    page.write_text(page_of(write_study(folder, text, world)), "utf-8")
    return page


def opened(browser: webdriver.Chrome, page: Path) -> None:
    browser.get(page.as_uri())
    WebDriverWait(browser, 60).until(
        lambda seen: seen.execute_script("return document.documentElement.dataset.drawn") == "yes"
    )


def unfold(browser: webdriver.Chrome) -> None:
    """Everything on the page."""
    fold = 'document.querySelectorAll("main details").forEach(part => { part.open = true; })'
    browser.execute_script(fold)


def charts(browser: webdriver.Chrome) -> list[tuple[str, int]]:
    """Each chart's name and the number of its marks that take up room."""
    found = browser.execute_script(
        """return [...document.querySelectorAll("[data-chart]")].map(place => [
             place.dataset.chart,
             [...place.querySelectorAll(arguments[0])].filter(mark => {
               const box = mark.getBoundingClientRect();
               return box.width + box.height > 0;
             }).length])""",
        MARKS,
    )
    return [(str(name), int(marks)) for name, marks in found]


def requested(browser: webdriver.Chrome) -> list[str]:
    """Addresses asked for since the last look, the page itself and inline data left out."""
    found = []
    for entry in browser.get_log("performance"):  # type: ignore[no-untyped-call]
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    return [url for url in found if not url.startswith(("data:", "blob:"))]


def test_every_chart_is_drawn_without_complaint_or_network(
    browser: webdriver.Chrome, page: Path
) -> None:
    browser.get("about:blank")
    requested(browser)
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    opened(browser, page)
    found = charts(browser)
    assert bool(found) != (page.stem == "nothing-complete"), "the page has lost its charts"
    assert [name for name, marks in found if marks == 0] == []
    said = browser.get_log("browser")  # type: ignore[no-untyped-call]
    assert [entry["message"] for entry in said] == []
    assert requested(browser) == [page.as_uri()]


def test_the_first_screen_has_answer_picture_trust_and_command(
    browser: webdriver.Chrome, page: Path
) -> None:
    if page.stem in ("nothing-complete", "history"):
        return
    with window(browser, 1400, 900):
        opened(browser, page)
        places = browser.execute_script(
            """return ["h1", ".headline", "#chart-answer svg", ".chips", ".measured", ".again"]
                 .map(one => document.querySelector(one).getBoundingClientRect().bottom)"""
        )
        assert places == sorted(places)
        assert places[-1] <= 900


def test_a_link_unfolds_what_it_leads_to(browser: webdriver.Chrome, page: Path) -> None:
    if page.stem == "history":
        return
    opened(browser, page)
    links = browser.find_elements(By.CSS_SELECTOR, 'a[href^="#"]:not([href="#"])')
    targets = [str(link.get_attribute("href")).rpartition("#")[2] for link in links]
    absent = [name for name in targets if not browser.find_elements(By.ID, name)]
    assert absent == []
    validity = browser.find_element(By.CSS_SELECTOR, "#validity dl")
    assert not validity.is_displayed()
    browser.find_element(By.CSS_SELECTOR, '.chips a[href="#validity"]').click()
    WebDriverWait(browser, 60).until(lambda _: validity.is_displayed())


def test_a_chart_has_one_description_and_its_menu_a_name(
    browser: webdriver.Chrome, page: Path
) -> None:
    if page.stem in ("nothing-complete", "history"):
        return
    opened(browser, page)
    pictures = browser.find_elements(By.CSS_SELECTOR, "[data-chart] svg[role=img]")
    assert len(pictures) >= len(browser.find_elements(By.CSS_SELECTOR, "[data-chart]"))
    assert all(picture.get_attribute("aria-label") for picture in pictures)
    menus = browser.find_elements(By.CSS_SELECTOR, ".vega-embed details > summary")
    assert all((menu.get_attribute("aria-label") or "").startswith("Save: ") for menu in menus)


def test_print_shows_what_is_folded(browser: webdriver.Chrome, page: Path) -> None:
    if page.stem == "history":
        return
    opened(browser, page)
    browser.execute_script('dispatchEvent(new Event("beforeprint"))')
    folded = browser.find_elements(By.CSS_SELECTOR, "main details:not([open])")
    assert [one for one in folded if not one.find_elements(By.XPATH, "ancestor::figure")] == []
    browser.execute_script('dispatchEvent(new Event("afterprint"))')
    assert browser.find_elements(By.CSS_SELECTOR, "main details:not([open])")


def test_choosing_another_cell_draws_another_line(browser: webdriver.Chrome, page: Path) -> None:
    opened(browser, page)
    unfold(browser)
    boxes = browser.find_elements(By.CSS_SELECTOR, "select[data-selector=point]")
    if page.stem in ("nothing-complete", "history"):
        assert not boxes, "there is nothing to choose from"
        return
    assert boxes, "the page has lost its selector"

    def drawn(seen: webdriver.Chrome) -> str | None:
        line = "[data-chart=throughput-over-time] g.mark-line path"
        return seen.find_element(By.CSS_SELECTOR, line).get_attribute("d")

    before = drawn(browser)
    Select(boxes[0]).select_by_index(1)
    WebDriverWait(browser, 60).until(lambda seen: drawn(seen) != before)


@pytest.mark.parametrize("width", [1400, 800, 390])
def test_nothing_is_cut_off(browser: webdriver.Chrome, page: Path, width: int) -> None:
    with window(browser, width, 2000):
        opened(browser, page)
        for folded in (True, False):
            if not folded:
                unfold(browser)
            assert page_width(browser) <= width
        cut = browser.execute_script(
            """return [...document.querySelectorAll("[data-chart] svg")].flatMap(svg => {
                 const frame = svg.getBoundingClientRect();
                 return [...svg.querySelectorAll("text")].filter(text => {
                   const box = text.getBoundingClientRect();
                   return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1
                     || text.textContent.includes("…"));
                 }).map(text => text.textContent);
               })"""
        )
        assert cut == []


@pytest.mark.parametrize("width", [1400, 800, 390])
def test_a_published_page_is_no_wider_than_its_window(
    browser: webdriver.Chrome, published: Path, width: int
) -> None:
    with window(browser, width, 2000):
        opened(browser, published)
        assert page_width(browser) <= width
        unfold(browser)
        assert page_width(browser) <= width


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that a publisher may add, in long words."""
    folder = tmp_path_factory.mktemp("published")
    signed = f'author = "{LONG_WORD}"\nlicence = "{LONG_WORD}"\nsource = "{LONG_WORD}"\n'
    store = write_study(folder, signed + LONG_NAMES, World(lambda *_: 100.0))
    page = folder / "published.html"
    address = f"https://example.org/{LONG_WORD}/page.html"
    page.write_text(publish(store, "study", url=address, pictures=False).html, "utf-8")
    return page


def test_a_gallery_is_searched_offline_and_fits_its_window(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    def entry(name: str, answer: str) -> Entry:
        measure = Measure("2026-11-28", answer, "x" * 200, effect=(0.5, 1.0, 2.0))
        return Entry(name, f"What of {name} and {LONG_WORD}?", (measure, measure), picture="a.svg")

    page = tmp_path / "index.html"
    page.write_text(gallery_page([entry("wal", "Faster"), entry("tls", "Slower")], title="Studies"))
    (tmp_path / "a.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="90"/>'
    )
    browser.get(page.as_uri())

    def shown() -> list[str]:
        return [card.get_attribute("id") or "" for card in articles if card.is_displayed()]

    articles = browser.find_elements(By.TAG_NAME, "article")
    assert shown() == ["tls", "wal"]
    browser.find_element(By.ID, "search").send_keys("faster WAL")
    assert shown() == ["wal"]
    assert browser.current_url.endswith("#q=faster%20WAL")
    browser.refresh()
    articles = browser.find_elements(By.TAG_NAME, "article")
    assert shown() == ["wal"]
    drawn = "return document.querySelector('article:not([hidden]) img').naturalWidth"
    WebDriverWait(browser, 60).until(lambda seen: seen.execute_script(drawn) == 900)
    for width in (390, 800, 1400):
        with window(browser, width, 900):
            unfold(browser)
            assert page_width(browser) <= width


@pytest.fixture(scope="module")
def sampled_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sampled")
    page = folder / "sampled.html"
    text = SHORT.replace("blocks = 3", "blocks = 1")
    page.write_text(
        page_of(write_study(folder, text, World(sampled_rate, samples=sampled))), "utf-8"
    )
    return page


def titles(browser: webdriver.Chrome) -> list[str]:
    """Of the panels that have a line."""
    found = browser.execute_script(
        """return [...document.querySelectorAll("[data-chart^=metrics-over-time] g.mark-group")]
             .filter(group => group.querySelector(":scope g.mark-line path"))
             .flatMap(group => [...group.querySelectorAll(":scope .role-title-text text")])
             .map(text => text.textContent)"""
    )
    return list(dict.fromkeys(str(title) for title in found))


def test_what_the_pointer_is_at_is_told_with_its_block(
    browser: webdriver.Chrome, sampled_page: Path
) -> None:
    opened(browser, sampled_page)
    unfold(browser)
    chart = browser.find_element(By.CSS_SELECTOR, "[data-chart^=metrics-over-time]")
    browser.execute_script("arguments[0].scrollIntoView()", chart)

    def tip(seen: webdriver.Chrome) -> str:
        """What the pointer shows, moved a little until there is something."""
        for down in (0.1, 0.2, 0.3, 0.4):
            place = (round(-0.2 * chart.rect["width"]), round(down * chart.rect["height"]))
            ActionChains(seen).move_to_element_with_offset(chart, *place).perform()
            shown = seen.find_elements(By.CSS_SELECTOR, "#vg-tooltip-element.visible")
            if shown and "second" in shown[0].text and "block" in shown[0].text:
                return " ".join(shown[0].text.split())
        return ""

    text = WebDriverWait(browser, 60).until(tip)
    assert text.startswith("block 1 second ")


def test_any_metric_is_added_by_keyboard_and_taken_away(
    browser: webdriver.Chrome, sampled_page: Path
) -> None:
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    opened(browser, sampled_page)
    unfold(browser)
    added = "mysql.history_list: Transactions not purged"
    assert added not in titles(browser)
    box = browser.find_element(By.CSS_SELECTOR, "[role=combobox]")
    box.send_keys("not purged")
    WebDriverWait(browser, 60).until(
        lambda seen: len(seen.find_elements(By.CSS_SELECTOR, "[role=option]")) == 1
    )
    box.send_keys(Keys.ENTER)
    WebDriverWait(browser, 60).until(lambda seen: added in titles(seen))
    browser.find_element(By.CSS_SELECTOR, ".added button").click()
    WebDriverWait(browser, 60).until(lambda seen: added not in titles(seen))
    said = browser.get_log("browser")  # type: ignore[no-untyped-call]
    assert [entry["message"] for entry in said] == []


def test_the_axis_of_time_is_marked_and_can_be_that_of_the_whole_run(
    browser: webdriver.Chrome, sampled_page: Path
) -> None:
    opened(browser, sampled_page)
    unfold(browser)

    def words(seen: webdriver.Chrome) -> list[str]:
        return list(
            seen.execute_script(
                """return [...document.querySelectorAll("[data-chart^=metrics-over-time] text")]
                     .map(text => text.textContent)"""
            )
        )

    assert {"warm-up", "measured", "10"} <= set(words(browser))
    assert "11" not in words(browser)
    browser.find_element(By.CSS_SELECTOR, ".whole input").click()
    # The window has 10 s; sampling ended 1.3 s behind it.
    WebDriverWait(browser, 60).until(lambda seen: "11" in words(seen))


def test_dragging_over_a_stretch_zooms_into_it_and_a_double_click_out(
    browser: webdriver.Chrome, sampled_page: Path
) -> None:
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    opened(browser, sampled_page)
    unfold(browser)

    def shows(word: str, *, after: str) -> bool:
        found = browser.execute_script(
            """return [...document.querySelectorAll("[data-chart^=metrics-over-time] text")]
                 .map(text => text.textContent)"""
        )
        return word in found and after not in found

    def panel() -> WebElement:
        groups = "[data-chart^=metrics-over-time] g.mark-group:has(g.mark-line) path.background"
        found = browser.find_elements(By.CSS_SELECTOR, groups)
        return [one for one in found if one.rect["height"] > 50][-1]  # Not an axis or a title.

    assert shows("10", after="0.8")
    middle = panel()
    width = middle.rect["width"]
    drag = ActionChains(browser).move_to_element_with_offset(middle, round(-0.45 * width), 0)
    drag.click_and_hold().move_by_offset(round(0.2 * width), 0).release().perform()
    WebDriverWait(browser, 60).until(lambda _: shows("0.8", after="10"))

    ActionChains(browser).double_click(panel()).perform()
    WebDriverWait(browser, 60).until(lambda _: shows("10", after="0.8"))
    middle = panel()
    drag = ActionChains(browser).move_to_element_with_offset(middle, round(-0.25 * width), 0)
    drag = drag.click_and_hold().move_by_offset(round(-0.25 * width) - 20, 0)
    drag.release().perform()  # Left of the panel, where the axis is.
    WebDriverWait(browser, 60).until(lambda _: shows("0.8", after="10"))

    ActionChains(browser).double_click(panel()).perform()
    WebDriverWait(browser, 60).until(lambda _: shows("10", after="0.8"))
    said = browser.get_log("browser")  # type: ignore[no-untyped-call]
    assert [entry["message"] for entry in said] == []
