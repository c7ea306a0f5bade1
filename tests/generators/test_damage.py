"""Damage: places drawn, outcomes classed, folders put back; real databases with a known flip."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from jobs import STEP

from dbdyno.errors import UsageError
from dbdyno.generators import flips
from dbdyno.generators.damage import GENERATOR, Bench, put_back, told
from dbdyno.generators.flips import BLOCK, DAMAGES, Flip, Span
from dbdyno.generators.generator import Job
from dbdyno.generators.known_rows import Table
from dbdyno.generators.outcomes import OUTCOMES, Seen, outcome_of, shape, unusual
from dbdyno.model import Option
from dbdyno.servers import open_server
from traces import LIMIT_S, nothing_left


def test_blocks_of_zeros_hold_nothing() -> None:
    content = b"a" * BLOCK + bytes(BLOCK) + b"\0b"

    assert list(flips.filled_spans("f", content)) == [
        Span("f", 0, BLOCK),
        Span("f", 2 * BLOCK, 2),
    ]


def test_texts_are_found_where_they_stand_even_behind_digits() -> None:
    content = b"..0123.abc0123ff"

    assert [span.start for span in flips.text_spans("f", content, {b"0123"})] == [2, 10]


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_same_seed_damages_the_same_place(damage: flips.Damage) -> None:
    contents = {"a": bytes(range(1, 251)) * 20, "b": b"x" * 700}
    spans = [Span("a", 100, 900), Span("b", 0, 700)]

    drawn = [flips.draw(Random(7), spans, contents, damage) for _ in range(2)]

    assert drawn[0] == drawn[1]
    assert drawn[0].before != drawn[0].after
    assert len(drawn[0].before) == len(drawn[0].after)


def test_every_byte_of_every_span_may_be_drawn_and_none_beside_it() -> None:
    contents = {"a": b"abcd", "b": b"efgh"}
    random = Random(1)

    drawn = [
        flips.draw(random, [Span("a", 1, 2), Span("b", 3, 1)], contents, "bit") for _ in range(200)
    ]

    assert {(one.file, one.offset) for one in drawn} == {("a", 1), ("a", 2), ("b", 3)}
    assert all((one.before[0] ^ one.after[0]).bit_count() == 1 for one in drawn)


def test_a_sector_is_aligned_and_ends_with_its_file() -> None:
    flip = flips.draw(Random(0), [Span("a", 600, 50)], {"a": b"x" * 700}, "sector")

    assert (flip.offset, flip.before, flip.after) == (512, b"x" * 188, bytes(188))


@pytest.mark.parametrize("content", [b"", bytes(512)])
def test_where_nothing_can_be_damaged_is_told(content: bytes) -> None:
    spans = [Span("a", 0, len(content))] if content else []

    with pytest.raises(ValueError, match="nothing to damage"):
        flips.draw(Random(0), spans, {"a": content}, "sector")


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (Seen(started=False), "refused"),
        (Seen(started=False, by_signal=True), "crashed"),
        (
            Seen(started=False, logged=("PANIC:  no checkpoint", "was terminated by signal 6")),
            "refused",
        ),
        (Seen(started=True, lost=True, errors=("lost",), wrong=True), "crashed"),
        (Seen(started=True, errors=("invalid page",), wrong=True), "reported"),
        (Seen(started=True, wrong=True, logged=("[ERROR] corrupt page 3",)), "reported"),
        (Seen(started=True, logged=("[ERROR] recover from a backup",)), "reported"),
        (Seen(started=True, logged=("[Warning] Recovering table: './t'",)), "repaired"),
        (Seen(started=True, wrong=True, logged=("[Warning] Recovering table",)), "reported"),
        (Seen(started=True, wrong=True), "silently wrong"),
        (Seen(started=True), "harmless"),
    ],
)
def test_what_was_seen_has_one_outcome(seen: Seen, outcome: str) -> None:
    assert outcome_of(seen) == outcome


def test_lines_that_a_sound_start_writes_too_tell_nothing() -> None:
    usual = {shape("2026-01-02 03:04:05 0 [Warning] no such file /x/1")}
    lines = [
        "2026-01-02 03:04:09 0 [Warning] no such file /x/2",
        "2026-01-02 03:04:09 0 [Note] ready",
        "FATAL:  the database system is starting up",
        "2026-01-02 03:04:09 0 [ERROR] page 7 is corrupt",
    ]

    assert unusual(lines, usual) == (lines[3],)


def test_shares_are_of_all_outcomes() -> None:
    found = told({"harmless": 3, "silently wrong": 1}, wrong=2, window_s=1.0)

    assert found.events == 4
    assert list(found.outcomes) == list(OUTCOMES)
    assert found.figures["silently_wrong_share"] == 0.25
    assert found.figures["refused_share"] == 0.0
    assert found.figures["wrong_share"] == 0.5


def test_a_folder_is_put_back_as_it_was(tmp_path: Path) -> None:
    pristine, folder = tmp_path / "pristine", tmp_path / "folder"
    for root in (pristine, folder):
        (root / "sub").mkdir(parents=True)
        for name in ("same", "changed", "sub/gone"):
            (root / name).write_text("old")
            os.utime(root / name, ns=(1, 1))
    (folder / "changed").write_text("new")
    (folder / "sub/gone").unlink()
    (folder / "more").mkdir()
    (folder / "more/file").write_text("new")
    untouched = (folder / "same").stat().st_ino

    put_back(pristine, folder)

    assert {str(p.relative_to(folder)) for p in folder.rglob("*")} == {
        "same",
        "changed",
        "sub",
        "sub/gone",
    }
    assert (folder / "changed").read_text() == (folder / "sub/gone").read_text() == "old"
    assert (folder / "same").stat().st_ino == untouched


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"place": "heap"}, "rows, table, anywhere"),
        ({"damage": "word"}, "bit, byte, sector"),
        ({"rows": 10}, "from 100"),
        ({"trials": 10}, "`trials`"),
    ],
)
def test_wrong_options_are_told(options: Mapping[str, Option], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GENERATOR.read(options)


def job(folder: Path, **more: object) -> Job:
    scratch = folder / "scratch"
    scratch.mkdir()
    usual = {"options": {"rows": 200}, "clients": 1, "events": 3, "kind": "sqlite", "seed": 5}
    return replace(STEP, **{"scratch": scratch, **usual, **more})  # type: ignore[arg-type]


def test_a_folder_of_files_can_not_be_damaged(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't damage files"):
        GENERATOR.run(job(tmp_path, kind="files"))


@pytest.mark.parametrize(
    ("kind", "settings", "rows", "head"),
    [
        ("sqlite", {}, "silently wrong", "refused"),
        pytest.param(
            "sqlite",
            {"checksum_verification": "on"},
            "reported",
            "refused",
            marks=pytest.mark.slow,  # Its extension is downloaded.
        ),
        pytest.param("duckdb", {}, "reported", "refused", marks=pytest.mark.slow),
    ],
)
def test_a_known_flip_has_a_known_outcome(
    tmp_path: Path, kind: str, settings: dict[str, str], rows: str, head: str
) -> None:
    table = Table(kind, rows=200, seed=3)
    with nothing_left(), open_server(kind, settings, tmp_path / "run") as server:
        server.start()
        table.fill(server)
        server.stop()  # What DuckDB has in its log goes into the file.
        server.node.restart(LIMIT_S)
        (file,) = server.database.table_files("known_rows")
        folder = file.parent
        pristine = tmp_path / "pristine"
        pristine.mkdir()
        put_back(folder, pristine)
        bench = Bench(server, table, folder, pristine)
        at = file.read_bytes().index(table.texts()[17].encode())

        assert bench.control() == frozenset()
        in_a_row = bench.trial(Flip(file.name, at + 9, b"", b"z"), frozenset())
        in_the_head = bench.trial(Flip(file.name, 3, b"", b"z"), frozenset())
        again = bench.trial(None, frozenset())

    assert outcome_of(in_a_row) == rows
    assert outcome_of(in_the_head) == head
    assert outcome_of(again) == "harmless"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provision", "settings", "outcome"),
    [
        ("postgresql:18.4", {"data_checksums": "on"}, "reported"),
        ("postgresql:18.4", {"data_checksums": "off"}, "silently wrong"),
        ("mariadb@system", {"default_storage_engine": "Aria"}, "reported"),
        ("mariadb@system", {"default_storage_engine": "MyISAM"}, "silently wrong"),
    ],
)
def test_a_real_server_with_checksums_reports_and_without_is_wrong(
    tmp_path: Path, provision: str, settings: dict[str, str], outcome: str
) -> None:
    began = time.monotonic()
    with nothing_left(), open_server(provision, settings, tmp_path / "run") as server:
        server.start()
        found = GENERATOR.run(
            job(
                tmp_path,
                kind=provision.partition(":")[0].partition("@")[0],
                data_folder=server.node.data_folder(),
                server=server,
                options={"place": "rows", "damage": "byte", "rows": 200},
            )
        )
        server.check()

    assert found.outcomes[outcome] == found.events == 3
    assert found.window_s <= time.monotonic() - began
    assert len((tmp_path / "scratch/trials.jsonl").read_text().splitlines()) == 3
