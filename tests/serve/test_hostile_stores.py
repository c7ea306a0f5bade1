"""Whatever a store holds, and whatever is asked: plain answers, and nothing from outside of it."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import Served, serving
from stores import write_live, write_study

from dbdyno.serve.home import Home
from dbdyno.serve.inside import Inside
from dbdyno.serve.watching import StudyWatch
from dbdyno.store.journal import dump_entry

SECRET = "what nobody may read"
PAGES = (
    *("/", "/api/studies", "/studies/{}/", "/studies/{}/live", "/api/studies/{}", "/metrics"),
    *("/studies/{}/history", "/compare?base={}&new=example", "/compare?base=example&new={}"),
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "secret.csv").write_text(SECRET)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "study.json").write_text(f'{{"study": {{"question": "{SECRET}"}}}}')
    (tmp_path / "secret" / "report.html").write_text(SECRET)
    (tmp_path / "store").mkdir()
    write_study(tmp_path / "store", "example")
    return tmp_path / "store"


@pytest.fixture
def served(store: Path) -> Iterator[Served]:
    with serving(store) as there:
        yield there


@pytest.mark.parametrize(
    "path",
    [
        "/studies/../secret/",
        "/studies/..%2fsecret/",
        "/studies/%2e%2e/",
        "/studies/%2e%2e%2fsecret/live",
        "/studies/./",
        "/studies/example/report/../../../secret.csv",
        "/studies/example/report/..%2f..%2f..%2fsecret.csv",
        "/studies/example/report/%2e%2e/report.csv",
        "/studies/example%00/",
        "/studies/example/report/x%00.csv",
        "/studies//etc/",
        "/studies/%2fetc/",
        "/studies/..%2fsecret/history",
        "/compare?base=..%2fsecret&new=example",
        "/compare?base=example&new=%2e%2e",
        "/compare?base=example&new=example%2fruns",
        "/api/studies/..%2fsecret",
        "/api/studies/..%2fsecret/events",
        "/static/../../secret.csv",
        "/static/..%2f..%2fapp.py",
        "//secret.csv",
        "/studies/" + "a" * 5000 + "/",
        "/studies/%ff%fe/",
        "/studies/example\\..\\..\\secret/",
    ],
)
def test_no_path_leads_out_of_the_store(served: Served, path: str) -> None:
    asked = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nConnection: close\r\n\r\n"
    answer = served.raw(asked.encode())
    assert answer.split(b" ", 2)[1] in (b"400", b"404"), answer[:200]
    assert SECRET.encode() not in answer


def test_no_link_leads_out_of_the_store(store: Path, served: Served) -> None:
    outside = store.parent
    (store / "linked").symlink_to(outside / "secret")
    folder = write_study(store, "inner", runs=1)
    (folder / "report").symlink_to(outside)
    (folder / "report.html").symlink_to(outside / "secret" / "report.html")
    shutil.rmtree(folder / "runs" / "b1-delete")
    (folder / "runs" / "b1-delete").symlink_to(outside / "secret")
    (folder / "live.log").symlink_to(outside / "secret.csv")
    (folder / "answer.json").unlink()
    (folder / "answer.json").symlink_to(outside / "secret" / "study.json")
    for page in (*PAGES, "/studies/{}/report/secret.csv"):
        for study in ("inner", "linked"):
            answer = served.get(page.format(study))
            assert answer.status in (200, 404)
            assert SECRET not in answer.text
    assert served.get("/studies/linked/").status == 404


def test_pipes_and_devices_are_not_waited_for(store: Path, served: Served) -> None:
    folder = store / "pipes"
    (folder / "runs" / "b1-wal").mkdir(parents=True)
    for name in ("study.json", "answer.json", "live.log", "notes.log", "report.html"):
        os.mkfifo(folder / name)
    os.mkfifo(folder / "runs" / "b1-wal" / "manifest.json")
    for page in PAGES:
        assert served.get(page.format("pipes")).status in (200, 404)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"null", b"7", b"\xff\xfe", b"[" * 100_000),
        b'{"plan": 7, "study": []}',
        b'{"plan": {"runs": [7, {"id": 7}, {"id": "x", "steps": 3, "block": "y"}]}}',
    ],
)
def test_a_study_of_any_shape_is_listed_and_shown(
    store: Path, served: Served, content: bytes
) -> None:
    for name in ("study.json", "answer.json", "live.log", "notes.log"):
        (store / "example" / name).write_bytes(content)
    for name in ("manifest.json", "summary.json", "facts.json"):
        (store / "example" / "runs" / "b1-wal" / name).write_bytes(content)
    for page in PAGES:
        assert served.get(page.format("example")).status == 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
KINDS = st.sampled_from(
    (
        *("session", "progress", "run", "line", "answer", "ended", "note", "head"),
        *("phase", "call", "chosen", "step", "turn", "distribution", "metrics", "samples"),
    )
)
KEYS = st.sampled_from(
    (
        *("at", "run", "is", "share", "left_s", "pid", "pid_started", "text", "effects"),
        *("values", "are", "start", "end", "facts", "summary"),
    )
)
ENTRY = st.builds(
    lambda kind, value, more: {kind: value, **more},
    KINDS,
    JSON | st.dictionaries(KEYS, JSON, max_size=4),
    st.dictionaries(KEYS, JSON, max_size=4),
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(entries=st.lists(ENTRY, max_size=8), answer=JSON, summary=JSON)
def test_no_entry_of_a_journal_ends_a_look(
    tmp_path: Path, entries: list[Any], answer: Any, summary: Any
) -> None:
    folder = tmp_path / "example"
    partial = folder / "runs" / "b1-wal.partial"
    partial.mkdir(parents=True, exist_ok=True)
    lines = b"".join(map(dump_entry, entries))
    for path in (folder / "live.log", folder / "notes.log"):
        path.write_bytes(lines)
    for name in ("journal.log", "journal-host.log"):
        (partial / name).write_bytes(lines)
    (folder / "answer.json").write_text(json.dumps({"text": answer, "effects": answer}))
    (folder / "study.json").write_text(json.dumps({"plan": answer, "study": summary}))
    inside = Inside(tmp_path)
    watch = StudyWatch(inside, "example")
    watch.look()
    json.dumps([watch.state(), watch.progress()])
    rows, count = Home(inside).rows()
    assert (len(rows), count) == (1, 1)


def test_texts_of_a_store_are_no_markup(store: Path, served: Served) -> None:
    evil = "<script>alert(1)</script>"
    document = json.loads((store / "example" / "study.json").read_text())
    document["study"]["question"] = evil
    (store / "example" / "study.json").write_text(json.dumps(document))
    (store / "example" / "answer.json").write_text(json.dumps({"text": evil}))
    for page in ("/", "/studies/example/live", f"/?q={evil}"):
        assert evil not in served.get(page).text


def test_a_report_of_somebody_else_runs_in_an_origin_of_its_own(
    store: Path, served: Served
) -> None:
    (store / "example" / "report.html").write_text("<p>the report</p>")
    answer = served.get("/studies/example/")
    policy = answer.headers["content-security-policy"]
    assert answer.text == "<p>the report</p>"
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy


def test_a_report_older_than_the_last_run_is_not_shown_for_the_study(
    store: Path, served: Served
) -> None:
    report = store / "example" / "report.html"
    report.write_text("<p>the report</p>")
    os.utime(report, (1, 1))
    assert "The answer so far" in served.get("/studies/example/").text


def test_what_a_report_exports_is_served_and_nothing_else(store: Path, served: Served) -> None:
    folder = store / "example" / "report"
    folder.mkdir()
    for name in ("cells.csv", "answer.svg", "page.html", "x.js"):
        (folder / name).write_text(name)
    assert served.get("/studies/example/report/cells.csv").text == "cells.csv"
    svg = served.get("/studies/example/report/answer.svg")
    assert "sandbox" in svg.headers["content-security-policy"]
    for name in ("page.html", "x.js", "absent.csv"):
        assert served.get(f"/studies/example/report/{name}").status == 404


def test_a_store_that_changes_underneath_is_served_all_the_time(
    store: Path, served: Served
) -> None:
    over = threading.Event()

    def change() -> None:
        chance = random.Random(1)
        while not over.is_set():
            name = f"s{chance.randrange(4)}"
            if (store / name).exists():
                shutil.rmtree(store / name, ignore_errors=True)
            else:
                folder = write_study(store, name, runs=chance.randrange(5))
                write_live(folder, {"session": {"pid": 1}}, {"line": "x"})
                for run in list((folder / "runs").glob("b1-*"))[:1]:
                    run.rename(run.with_name(f"{run.name}.partial"))

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for number in range(80):
            for page in PAGES:
                assert served.get(page.format(f"s{number % 4}")).status in (200, 404)
    finally:
        over.set()
        changing.join()


def test_five_thousand_studies_are_listed_and_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5000):
        folder = tmp_path / f"study-{number}"
        (folder / "runs").mkdir(parents=True)
        (folder / "study.json").write_text(f'{{"study": {{"question": "Question {number}?"}}}}')
    reads: list[tuple[str, ...]] = []
    read = Inside.read

    def counted(inside: Inside, *parts: str, **more: int) -> bytes:
        reads.append(parts)
        return read(inside, *parts, **more)

    monkeypatch.setattr(Inside, "read", counted)
    home = Home(Inside(tmp_path))
    rows, count = home.rows()
    assert (len(rows), count) == (200, 5000)
    first = len(reads)
    assert home.rows("question 4711")[1] == 1
    (tmp_path / "study-3" / "study.json").write_text('{"study": {"question": "Another?"}}')
    assert home.rows("another")[0][0].study == "study-3"
    assert len({parts[0] for parts in reads[first:]}) == 1
