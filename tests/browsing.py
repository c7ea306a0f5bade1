"""Pages in a real browser: Debian's Chromium, its windows, how wide a page is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver


@contextmanager
def chromium(folder: Path) -> Iterator[webdriver.Chrome]:
    """A browser without a window; what it leaves behind is in `folder`."""
    driver, program = shutil.which("chromedriver"), shutil.which("chromium")
    if driver is None or program is None:
        pytest.fail("this test needs Debian's chromium and chromium-driver: apt-get install them")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1280,2000",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    environment = {**os.environ, "TMPDIR": str(folder)}
    service = webdriver.ChromeService(executable_path=driver, env=environment)
    with webdriver.Chrome(options=options, service=service) as opened:
        yield opened


@contextmanager
def window(browser: webdriver.Chrome, width: int, height: int) -> Iterator[None]:
    """A window of so many pixels, of a phone below 500."""
    browser.set_window_size(max(width, 500), height)
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def page_width(browser: webdriver.Chrome) -> int:
    """Pixels that the page takes, what is out of sight to the right included."""
    return int(browser.execute_script("return document.documentElement.scrollWidth"))
