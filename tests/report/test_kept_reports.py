"""Reports of the kept stores, part by part: what a change to the lab changes in them shows here.

`DBDYNO_UPDATE=1 pytest tests/report/test_kept_reports.py` writes `kept_reports/` anew; its diff is
the list of what changed, and belongs into the commit that changes it. Pictures are left out: how
fonts are drawn is the machine's matter.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.report import write

HERE = Path(__file__).parent
KEPT = HERE / "kept_reports"
STORES = {
    "kept/schema-1": "one-by-one",
    "kept/schema-2": "one-by-one",
    "kept-turns/schema-2": "in-turns",
}
"""Store → its report's name: the two schemas of one study have one report."""

PART = re.compile(r"(?=<header>|<section\b|<footer>)")
DATA = re.compile(r'<script type="application/octet-stream" id="(\w+)">(.*?)</script>', re.DOTALL)


def page_parts(page: str) -> Iterator[tuple[str, str]]:
    """Name and text of each section, of each chart's data, and of the lines of the panels."""
    body, _, rest = page.partition('<script type="application/octet-stream"')
    for part in PART.split(body)[1:]:
        title = re.search(r"<h[12]>(.*?)</h[12]>", part, re.DOTALL) or re.match(r"<(\w+)", part)
        assert title is not None, "a part begins with its tag"
        yield f"page: {title[1].strip()}", part
    for name, packed in DATA.findall('<script type="application/octet-stream"' + rest):
        unpacked = gzip.decompress(base64.b64decode(packed))
        if name == "payload":
            for chart, drawn in json.loads(unpacked).items():
                yield f"chart: {chart}", json.dumps(rounded(drawn), sort_keys=True)
        else:
            yield name, unpacked.hex()


def rounded(value: object) -> object:
    """Numbers to nine digits: the last ones are the processor's."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def no_pictures(*_: object) -> None:
    """In place of drawing them: they are most of the time, and are not compared."""


@pytest.mark.parametrize("store", STORES)
def test_a_kept_store_is_reported_as_ever(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbdyno.report.page.drawing.Drawing.pictures", no_pictures)
    written = write(HERE.parent / "store" / store, "study", tmp_path / "report.html")
    folder = written.page.with_suffix("")
    tables = {f"table: {path.stem}": path.read_text() for path in folder.glob("*.csv")}
    parts = dict(sorted(tables.items())) | dict(page_parts(written.page.read_text("utf-8")))
    digests = {name: digest(text) for name, text in parts.items()}
    digested = KEPT / f"{STORES[store]}.json"
    summary = KEPT / f"{STORES[store]}.md"
    if os.environ.get("DBDYNO_UPDATE"):
        digested.write_text(json.dumps(digests, indent=1, ensure_ascii=False) + "\n")
        summary.write_text((folder / "summary.md").read_text())

    kept = json.loads(digested.read_text())
    names = {*kept, *digests}
    changed = sorted(name for name in names if kept.get(name) != digests.get(name))
    assert (folder / "summary.md").read_text() == summary.read_text(), "see this file's docstring"
    assert changed == [], "see this file's docstring"
